/* SPDX-License-Identifier: Apache-2.0
 *
 * stream.c - streams: a queue and a worker thread each, and the simulated time of what they do.
 *
 * Simulated time. Every host thread has a virtual host time (host_thread.now_ns) that only its own calls move: an
 * enqueue adds a fixed cost, a wait moves it to the end of what was waited for. An operation starts at the latest of
 * the end of its predecessor in the stream, the ends of what it waits for, and the virtual time of its enqueue; its
 * duration follows from its inputs. A new thread starts at 0: what it was told by others it learns by waiting for
 * their work. Nothing reads a wall clock, so a program's timestamps do not depend on how the
 * machine schedules the workers, and a thread that only copies on a non-blocking stream of its own shifts nobody's.
 * With SIMGPU_TIME=host that is given up for one axis with the host, as on a device: an operation starts no earlier
 * than the wall clock at its enqueue, and is not done before the wall clock has reached its end.
 *
 * Order. A stream is a FIFO. Work on the legacy stream follows all earlier work of the context's blocking streams,
 * and theirs follows earlier legacy work. Edges only point to operations enqueued before (under stream_lock), so
 * workers cannot wait in a circle.
 *
 * Threads. Workers block every signal and start with the first operation of their stream. A grid that never ends
 * holds its own worker and nothing else. Everything here may be called from any thread; waits block.
 */
#include "capture.h"
#include "driver.h"
#include "graph.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t stream_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t op_done = PTHREAD_COND_INITIALIZER; /* for host threads; workers are woken one by one */
static unsigned int n_running;                            /* operations on their workers now */

uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t host_elapsed_ns(void)
{
	return monotonic_ns() - driver.host_begin_ns;
}

static bool is_dead(void)
{
	return atomic_load_explicit(&driver.is_dead, memory_order_acquire);
}

/* --- operations ------------------------------------------------------------------------------- */

struct op *op_new(enum work_kind kind)
{
	struct op *op = calloc(1, sizeof(*op));

	if (op) {
		atomic_init(&op->refs, 1);
		op->work.kind = kind;
	}
	return op;
}

struct op *op_ref(struct op *op)
{
	atomic_fetch_add_explicit(&op->refs, 1, memory_order_relaxed);
	return op;
}

/* What only the run needed; a finished operation may be referenced for long (events). */
static void op_strip(struct op *op)
{
	for (size_t i = 0; i < op->n_waits; i++)
		op_unref(op->waits[i]);
	free(op->waits);
	op->waits = NULL;
	op->n_waits = 0;
	work_finish(&op->work);
}

void op_unref(struct op *op)
{
	/* Acquire-release: the last owner frees what the others wrote. */
	if (!op || atomic_fetch_sub_explicit(&op->refs, 1, memory_order_acq_rel) != 1)
		return;
	op_strip(op);
	free(op);
}

/* `op` runs after `before`. stream_lock is held. */
static bool op_after(struct op *op, struct op *before)
{
	struct op **waits;

	if (!before)
		return true;
	if (before->is_done) {
		op->earliest_ns = MAX(op->earliest_ns, before->end_ns);
		return true;
	}
	waits = realloc(op->waits, (op->n_waits + 1) * sizeof(*waits));
	if (!waits)
		return false;
	op->waits = waits;
	op->waits[op->n_waits++] = op_ref(before);
	return true;
}

bool stream_is_blocking(const struct stream *stream)
{
	return !(stream->flags & CU_STREAM_NON_BLOCKING);
}

/* The order between the legacy stream and the blocking ones. stream_lock is held. */
static bool op_after_default_streams(struct op *op, struct stream *stream)
{
	struct context *context = stream->context;

	if (!stream_is_blocking(stream))
		return true;
	if (stream != context->legacy)
		return !context->legacy || op_after(op, context->legacy->last);
	op->earliest_ns = MAX(op->earliest_ns, context->retired_blocking_end_ns);
	for (struct stream *other = context->streams; other; other = other->next) {
		if (other != stream && stream_is_blocking(other) && !op_after(op, other->last))
			return false;
	}
	return true;
}

static CUresult op_run(struct op *op, CUresult fault, uint64_t start_ns, uint64_t *ret_end_ns)
{
	struct work *work = &op->work;

	*ret_end_ns = start_ns;
	if (work->kind == WORK_CALLBACK && work->callback.with_status) {
		work->callback.with_status((CUstream)op->stream, fault, work->callback.argument);
		*ret_end_ns = start_ns + DURATION_CALLBACK_NS;
		return fault;
	}
	if (fault != CUDA_SUCCESS && work->kind == WORK_GRAPH)
		graph_run_abandon(work->run, fault, start_ns);
	if (fault != CUDA_SUCCESS && work->kind == WORK_LAUNCH)
		launch_abandon(&work->launch, fault, start_ns);
	return fault == CUDA_SUCCESS ? work_run(work, start_ns, ret_end_ns) : fault;
}

/* --- workers ---------------------------------------------------------------------------------- */

/* stream_lock is held. */
static void op_end(struct op *op, CUresult result, uint64_t end_ns)
{
	op->result = result;
	op->end_ns = end_ns;
	op->is_done = true;
	for (struct waiter *waiter = op->waiters; waiter; waiter = waiter->next)
		pthread_cond_signal(&waiter->stream->has_work);
	op->waiters = NULL;
	pthread_cond_broadcast(&op_done);
}

void op_complete(struct op *op, CUresult result, uint64_t end_ns)
{
	pthread_mutex_lock(&stream_lock);
	op_end(op, result, end_ns);
	pthread_mutex_unlock(&stream_lock);
}

/* stream_lock is held. */
static void op_finish(struct stream *stream, struct op *op, CUresult result, uint64_t end_ns)
{
	CUresult none = CUDA_SUCCESS;

	if (result != CUDA_SUCCESS)
		atomic_compare_exchange_strong(&stream->context->fault, &none, result);
	op_end(op, result, end_ns);
	stream->ends_ns[stream->n_done++ % QUEUE_DEPTH] = end_ns;
	stream->end_ns = end_ns;
	stream->head = op->next;
	if (!stream->head)
		stream->tail = NULL;
	op_strip(op);
	op_unref(op);
}

/* The worker of `stream` waits for an operation of another one. With many streams, waking all for each end would be
 * most of the work. stream_lock is held. */
static void worker_await(struct stream *stream, struct op *before)
{
	struct waiter self = { .stream = stream, .next = before->waiters };

	if (before->is_done)
		return;
	before->waiters = &self;
	while (!before->is_done && !is_dead())
		pthread_cond_wait(&stream->has_work, &stream_lock);
	if (before->is_done)
		return;
	for (struct waiter **at = &before->waiters; *at; at = &(*at)->next) {
		if (*at == &self) {
			*at = self.next;
			break;
		}
	}
}

/* Until the wall clock has come to where simulated time is. */
static void catch_up(uint64_t end_ns)
{
	uint64_t now_ns;

	while (driver.follows_host && !is_dead() && (now_ns = host_elapsed_ns()) < end_ns) {
		const uint64_t left_ns = end_ns - now_ns < 10000000u ? end_ns - now_ns : 10000000u;

		(void)nanosleep(&(struct timespec){ .tv_nsec = (long)left_ns }, NULL);
	}
}

/* Runs the head of the queue once its predecessors have ended; false when the process exits. stream_lock is held. */
static bool worker_step(struct stream *stream)
{
	struct op *op = stream->head;
	bool is_launch = op->work.kind == WORK_LAUNCH;
	bool is_early = is_launch && op->work.launch.may_start_early;
	uint64_t start_ns = MAX(is_early ? stream->trigger_ns : stream->end_ns, op->earliest_ns), end_ns;
	CUresult result, fault;

	for (size_t i = 0; i < op->n_waits; i++) {
		worker_await(stream, op->waits[i]);
		start_ns = MAX(start_ns, op->waits[i]->end_ns);
	}
	if (is_dead())
		return false;
	if (is_early)
		op->work.launch.launch.dependencies_end_ns = stream->end_ns;
	fault = atomic_load(&stream->context->fault);
	n_running++;
	pthread_mutex_unlock(&stream_lock);
	result = op_run(op, fault, start_ns, &end_ns);
	catch_up(end_ns);
	pthread_mutex_lock(&stream_lock);
	n_running--;
	if (is_dead()) {
		pthread_cond_broadcast(&op_done);
		return false;
	}
	stream->trigger_ns = is_launch && result == CUDA_SUCCESS ? op->work.launch.trigger_ns : end_ns;
	op_finish(stream, op, result, end_ns);
	return true;
}

/* stream_lock is held; its queue is empty and no worker runs, except the one that calls. */
static void stream_free(struct stream *stream)
{
	struct context *context = stream->context;

	for (struct stream **at = &context->streams; *at; at = &(*at)->next) {
		if (*at == stream) {
			*at = stream->next;
			break;
		}
	}
	if (stream_is_blocking(stream))
		context->retired_blocking_end_ns = MAX(context->retired_blocking_end_ns, stream->end_ns);
	if (stream_is_blocking(stream) || stream->has_kernels)
		context->retired_end_ns = MAX(context->retired_end_ns, stream->end_ns);
	if (context->legacy == stream)
		context->legacy = NULL;
	op_unref(stream->last);
	free(stream->captured.nodes);
	pthread_cond_destroy(&stream->has_work);
	free(stream);
}

static void *worker_main(void *argument)
{
	struct stream *stream = argument;
	bool is_retired;

	host_thread()->is_in_callback = true; /* a host function may not call the driver */
	pthread_mutex_lock(&stream_lock);
	for (;;) {
		while (!stream->head && !stream->is_closing && !stream->is_retired && !is_dead())
			pthread_cond_wait(&stream->has_work, &stream_lock);
		if (!stream->head || !worker_step(stream))
			break;
	}
	/* A retired stream is nobody's but its worker's; at exit everything stays where it is. */
	is_retired = stream->is_retired && !is_dead();
	if (is_retired) {
		pthread_detach(stream->worker);
		stream_free(stream);
		pthread_cond_broadcast(&op_done);
	}
	pthread_mutex_unlock(&stream_lock);
	return NULL;
}

/* stream_lock is held. */
static bool worker_start(struct stream *stream)
{
	sigset_t all, before;
	int error;

	if (stream->has_worker)
		return true;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&stream->worker, NULL, worker_main, stream);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	stream->has_worker = error == 0;
	return error == 0;
}

/* --- enqueueing and waiting ------------------------------------------------------------------- */

CUresult op_enqueue(struct stream *stream, struct op *op, uint64_t cost_ns, struct op *also, struct op **ret_op)
{
	struct host_thread *thread = host_thread();
	CUresult result;

	if (stream_is_captured(stream))
		return capture_op(stream, op);
	result = capture_refuse(stream);
	if (result != CUDA_SUCCESS) {
		op_unref(op);
		return result;
	}
	pthread_mutex_lock(&stream_lock);
	while (stream->n_enqueued - stream->n_done >= QUEUE_DEPTH && !is_dead())
		pthread_cond_wait(&op_done, &stream_lock);
	/* The slot of this operation still holds the end of the one QUEUE_DEPTH before, which made room for it. */
	if (stream->n_enqueued >= QUEUE_DEPTH)
		thread->now_ns = MAX(thread->now_ns, stream->ends_ns[stream->n_enqueued % QUEUE_DEPTH]);
	thread->now_ns += cost_ns;
	if (driver.follows_host)
		thread->now_ns = MAX(thread->now_ns, host_elapsed_ns());
	op->earliest_ns = thread->now_ns;
	op->stream = stream;
	op->by_thread = thread->id;
	if (is_dead() || !op_after_default_streams(op, stream) || !op_after(op, also) || !worker_start(stream)) {
		pthread_mutex_unlock(&stream_lock);
		op_unref(op);
		return is_dead() ? CUDA_ERROR_DEINITIALIZED : CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (stream->tail)
		stream->tail->next = op;
	else
		stream->head = op;
	stream->tail = op;
	stream->n_enqueued++;
	stream->has_kernels = stream->has_kernels || work_has_kernels(&op->work);
	op_unref(stream->last);
	stream->last = op_ref(op);
	if (ret_op)
		*ret_op = op_ref(op);
	pthread_cond_signal(&stream->has_work);
	pthread_mutex_unlock(&stream_lock);
	return CUDA_SUCCESS;
}

/* Waits, and moves the caller's virtual time unless told otherwise. stream_lock is held. */
static CUresult op_await(struct op *op, bool moves_time)
{
	struct host_thread *thread = host_thread();

	while (!op->is_done && !is_dead())
		pthread_cond_wait(&op_done, &stream_lock);
	if (!op->is_done)
		return CUDA_ERROR_DEINITIALIZED;
	if (moves_time)
		thread->now_ns = MAX(thread->now_ns, op->end_ns);
	return op->result;
}

CUresult op_wait(struct op *op)
{
	CUresult result;

	pthread_mutex_lock(&stream_lock);
	result = op_await(op, true);
	pthread_mutex_unlock(&stream_lock);
	return result;
}

CUresult op_await_end(struct op *op, uint64_t *ret_end_ns)
{
	CUresult result;

	pthread_mutex_lock(&stream_lock);
	result = op_await(op, false);
	*ret_end_ns = op->end_ns;
	pthread_mutex_unlock(&stream_lock);
	return result;
}

CUresult op_query(struct op *op)
{
	struct host_thread *thread = host_thread();
	CUresult result = CUDA_ERROR_NOT_READY;

	pthread_mutex_lock(&stream_lock);
	if (op->is_done) {
		thread->now_ns = MAX(thread->now_ns, op->end_ns);
		result = op->result;
	}
	pthread_mutex_unlock(&stream_lock);
	return result;
}

CUresult ops_between(struct op *first, struct op *last, float *ret_milliseconds)
{
	CUresult result = CUDA_ERROR_NOT_READY;

	pthread_mutex_lock(&stream_lock);
	if (first->is_done && last->is_done) {
		*ret_milliseconds = (float)((double)((int64_t)(last->end_ns - first->end_ns)) / 1e6);
		result = first->result != CUDA_SUCCESS ? first->result : last->result;
	}
	pthread_mutex_unlock(&stream_lock);
	return result;
}

/* Does waiting for `stream` include `other`? */
static bool is_included(const struct stream *stream, const struct stream *other)
{
	if (!stream || stream == other)
		return true;
	return stream == stream->context->legacy && stream_is_blocking(other);
}

/* A context-wide wait includes whatever other threads copy on non-blocking streams of their own, a profiler for one.
 * How far those are is a matter of the machine, so they are waited for but do not move the caller's time. */
static bool moves_time(const struct op *op)
{
	return stream_is_blocking(op->stream) || op->stream->has_kernels || op->by_thread == host_thread()->id;
}

struct awaited {
	struct op *op; /* referenced */
	bool moves_time;
};

/* References to the newest operation of each stream that waiting for `stream` (NULL = all) includes. stream_lock is
 * held: what is enqueued later is not waited for. */
static bool newest_ops(struct context *context, const struct stream *stream, struct awaited **ret_ops, size_t *ret_n)
{
	size_t n = 0;
	struct awaited *ops;

	for (const struct stream *other = context->streams; other; other = other->next)
		n++;
	ops = malloc((n + 1) * sizeof(*ops));
	if (!ops)
		return false;
	n = 0;
	for (const struct stream *other = context->streams; other; other = other->next) {
		if (other->last && is_included(stream, other))
			ops[n++] = (struct awaited){ op_ref(other->last), stream || moves_time(other->last) };
	}
	*ret_ops = ops;
	*ret_n = n;
	return true;
}

static CUresult wait_for(struct context *context, const struct stream *stream)
{
	struct host_thread *thread = host_thread();
	CUresult result = CUDA_SUCCESS;
	struct awaited *ops;
	size_t n;

	pthread_mutex_lock(&stream_lock);
	if (!newest_ops(context, stream, &ops, &n)) {
		pthread_mutex_unlock(&stream_lock);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	for (size_t i = 0; i < n; i++) {
		CUresult one = op_await(ops[i].op, ops[i].moves_time);

		if (result == CUDA_SUCCESS)
			result = one;
		op_unref(ops[i].op);
	}
	if (!stream)
		thread->now_ns = MAX(thread->now_ns, context->retired_end_ns);
	else if (stream == context->legacy)
		thread->now_ns = MAX(thread->now_ns, context->retired_blocking_end_ns);
	pthread_mutex_unlock(&stream_lock);
	free(ops);
	return result != CUDA_SUCCESS ? result : atomic_load(&context->fault);
}

CUresult stream_wait(struct stream *stream)
{
	return wait_for(stream->context, stream);
}

CUresult context_wait(struct context *context)
{
	return wait_for(context, NULL);
}

CUresult stream_query(struct stream *stream)
{
	struct host_thread *thread = host_thread();
	struct context *context = stream->context;
	CUresult result = CUDA_SUCCESS;
	uint64_t end_ns = 0;

	pthread_mutex_lock(&stream_lock);
	for (const struct stream *other = context->streams; other && result == CUDA_SUCCESS; other = other->next) {
		if (!other->last || !is_included(stream, other))
			continue;
		if (!other->last->is_done)
			result = CUDA_ERROR_NOT_READY;
		else
			end_ns = MAX(end_ns, other->last->end_ns);
	}
	/* Only a success moves virtual time: how often a program polls depends on the machine. */
	if (result == CUDA_SUCCESS)
		thread->now_ns = MAX(thread->now_ns, end_ns);
	pthread_mutex_unlock(&stream_lock);
	return result != CUDA_SUCCESS ? result : atomic_load(&context->fault);
}

/* --- streams ---------------------------------------------------------------------------------- */

CUresult stream_create(struct context *context, unsigned int flags, int priority, uint64_t owner_thread,
		       struct stream **ret_stream)
{
	struct stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return CUDA_ERROR_OUT_OF_MEMORY;
	stream->context = context;
	stream->id = atomic_fetch_add_explicit(&driver.last_id, 1, memory_order_relaxed) + 1;
	stream->flags = flags;
	stream->priority = priority;
	stream->owner_thread = owner_thread;
	pthread_cond_init(&stream->has_work, NULL);
	pthread_mutex_lock(&stream_lock);
	stream->next = context->streams;
	context->streams = stream;
	pthread_mutex_unlock(&stream_lock);
	*ret_stream = stream;
	return CUDA_SUCCESS;
}

static CUresult stream_legacy(struct context *context, struct stream **ret_stream)
{
	struct stream *stream;
	CUresult result;

	pthread_mutex_lock(&stream_lock);
	stream = context->legacy;
	pthread_mutex_unlock(&stream_lock);
	if (!stream) {
		result = stream_create(context, CU_STREAM_DEFAULT, 0, 0, &stream);
		if (result != CUDA_SUCCESS)
			return result;
		pthread_mutex_lock(&stream_lock);
		if (context->legacy) { /* another thread was faster */
			struct stream *mine = stream;

			stream = context->legacy;
			stream_free(mine);
		}
		context->legacy = stream;
		pthread_mutex_unlock(&stream_lock);
	}
	*ret_stream = stream;
	return CUDA_SUCCESS;
}

static CUresult stream_per_thread(struct context *context, struct stream **ret_stream)
{
	uint64_t owner = host_thread()->id;
	struct stream *stream;

	pthread_mutex_lock(&stream_lock);
	for (stream = context->streams; stream && stream->owner_thread != owner; stream = stream->next)
		;
	pthread_mutex_unlock(&stream_lock);
	if (!stream)
		return stream_create(context, CU_STREAM_DEFAULT, 0, owner, ret_stream);
	*ret_stream = stream;
	return CUDA_SUCCESS;
}

CUresult stream_resolve(CUstream handle, struct context *context, struct stream **ret_stream)
{
	bool per_thread = handle == CU_STREAM_PER_THREAD || (!handle && host_thread()->default_stream_is_per_thread);

	if (per_thread)
		return stream_per_thread(context, ret_stream);
	if (!handle || handle == CU_STREAM_LEGACY)
		return stream_legacy(context, ret_stream);
	if (!handle_is(HANDLE_STREAM, handle))
		return CUDA_ERROR_INVALID_HANDLE;
	*ret_stream = (struct stream *)handle;
	return CUDA_SUCCESS;
}

void stream_retire(struct stream *stream)
{
	handle_remove(stream);
	pthread_mutex_lock(&stream_lock);
	if (stream->has_worker) {
		stream->is_retired = true;
		pthread_cond_signal(&stream->has_work);
	} else {
		stream_free(stream);
	}
	pthread_mutex_unlock(&stream_lock);
}

void streams_drop(struct context *context)
{
	pthread_mutex_lock(&stream_lock);
	while (context->streams) {
		struct stream *stream = context->streams;
		pthread_t worker = stream->worker;

		if (stream->is_retired) { /* its worker frees it */
			pthread_cond_wait(&op_done, &stream_lock);
			continue;
		}
		handle_remove(stream);
		stream->is_closing = true;
		pthread_cond_signal(&stream->has_work);
		if (stream->has_worker) {
			pthread_mutex_unlock(&stream_lock);
			pthread_join(worker, NULL);
			pthread_mutex_lock(&stream_lock);
		}
		stream_free(stream);
	}
	pthread_mutex_unlock(&stream_lock);
}

void streams_abandon(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	/* exit() may have been called by a signal handler that interrupted a call of ours: then it is held for good,
	 * and whoever waits for it does so no longer than the process lives. */
	until.tv_nsec += 100000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	if (pthread_mutex_timedlock(&stream_lock, &until) != 0)
		return;
	until.tv_sec += 1;
	pthread_cond_broadcast(&op_done);
	while (n_running) {
		if (pthread_cond_timedwait(&op_done, &stream_lock, &until) == ETIMEDOUT)
			break;
	}
	pthread_mutex_unlock(&stream_lock);
}
