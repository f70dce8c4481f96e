/* SPDX-License-Identifier: Apache-2.0
 *
 * driver.h - the objects behind libcuda.so.1's handles, shared by the driver's own files and nobody else.
 *
 * A handle is the address of its object and is looked up in one table (handle.c) before it is followed, so a stale or
 * invented handle is an error code, never a crash. Entry points live in entry.c (made from driver.def); each calls
 * its impl_ function after the gate. impl_ functions never call an exported name.
 *
 * Locks, in the order they may be taken: driver.lock (contexts, modules, allocations, primary state), then
 * stream_lock (every queue, every operation). Neither is held while PTX runs or a host function is called.
 */
#ifndef SIMGPU_DRIVER_H
#define SIMGPU_DRIVER_H

/* Declares every versioned and per-thread entry point under its exported name. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaProfiler.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine.h"

#define SIMGPU_DRIVER_VERSION 13000
#define MAX_DEVICES           16
#define MAX_CONTEXT_DEPTH     128

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* --- handles (handle.c) ----------------------------------------------------------------------- */

enum handle_kind {
	HANDLE_CONTEXT = 1,
	HANDLE_MODULE,
	HANDLE_FUNCTION,
	HANDLE_LIBRARY,
	HANDLE_KERNEL,
	HANDLE_STREAM,
	HANDLE_EVENT,
	HANDLE_GRAPH,
	HANDLE_GRAPH_NODE,
	HANDLE_GRAPH_EXEC,
	HANDLE_USER_OBJECT,
	HANDLE_POOL,
	HANDLE_LINK,
};

/* Callable from any thread. */
CUresult handle_add(enum handle_kind kind, const void *object);
void handle_remove(const void *object);
bool handle_is(enum handle_kind kind, const void *object);

/* --- devices and contexts (device.c, context.c) ----------------------------------------------- */

struct stream;
struct module;
struct library;
struct graph_run;
struct pool;

struct context {
	struct device *device;
	bool is_primary;
	bool is_live; /* a primary context's memory outlives the context */
	unsigned int flags;
	uint64_t id;            /* unique in the process, a new one after each reset */
	_Atomic CUresult fault; /* CUDA_SUCCESS or the sticky error */
	CUfunc_cache cache_config;
	size_t limits[CU_LIMIT_MAX];

	/* Guarded by stream_lock. */
	struct stream *streams;
	struct stream *legacy;
	uint64_t retired_blocking_end_ns; /* when the last of the blocking streams that are gone ended */
	uint64_t retired_end_ns;          /* the same for all that count, see moves_time() in stream.c */

	/* Guarded by driver.lock. */
	struct module *modules;
	bool reaches[MAX_DEVICES]; /* peer access is enabled */
};

struct device {
	int ordinal;
	struct sim_device *sim;
	struct sim_config config;
	_Atomic uint64_t last_grid_id;
	/* Guarded by driver.lock. */
	struct context primary;
	unsigned int primary_refs;
	unsigned int primary_flags;
	struct pool *pool, *current_pool;     /* the default one, and the one in use */
	unsigned int n_reaching[MAX_DEVICES]; /* see device_reach() */
};

enum grid_ids {
	GRID_IDS_UNIQUE,    /* on the device, growing */
	GRID_IDS_CONSTANT,  /* always 1 */
	GRID_IDS_PER_GRAPH, /* as unique, but a graph's kernels count from 1 at each of its launches */
};

struct driver {
	pthread_mutex_t lock;
	_Atomic bool is_initialized;
	_Atomic bool is_dead;   /* process exit: every call answers CUDA_ERROR_DEINITIALIZED */
	_Atomic bool is_forked; /* in a child of the process that initialised */
	enum grid_ids grid_ids;
	bool follows_host;      /* SIMGPU_TIME=host: simulated time never runs behind the host's clock, see stream.c */
	uint64_t host_begin_ns; /* CLOCK_MONOTONIC at simulated time 0 */
	bool is_quiet;
	int n_devices;
	struct device devices[MAX_DEVICES];
	_Atomic uint64_t last_id; /* contexts, streams */
};

extern struct driver driver;

/* What a host thread is to the driver. */
struct host_thread {
	uint64_t id;                       /* 1, 2, ...; 0 = not yet given */
	uint64_t now_ns;                   /* virtual host time, see stream.c */
	bool default_stream_is_per_thread; /* set at the entry of each call */
	bool is_in_callback;
	CUstreamCaptureMode capture_mode; /* which calls are refused while something is captured */
	unsigned int n_contexts;
	struct context *contexts[MAX_CONTEXT_DEPTH];
};

struct host_thread *host_thread(void);

/* One line on stderr, prefixed. For what a device would leave unexplained and a simulator must explain. */
__attribute__((format(printf, 1, 2))) void driver_note(const char *format, ...);

/* Kernels of the device may reach the peer's memory; counted. Callable from any thread. */
CUresult device_reach(struct device *device, struct device *peer, bool is_reaching);
/* A device's own pool, which lasts as long as it. */
struct pool *pool_create_default(struct device *device);

/* The whole of a call that asks one thing of what a handle names: `check` finds it, and `answer` says it of `subject`.
 */
#define ANSWER(subject_type, check, handle, ret_answer, answer) \
	subject_type *subject;                                  \
	CUresult result = check(handle, &subject);              \
                                                                \
	if (result != CUDA_SUCCESS)                             \
		return result;                                  \
	if (!(ret_answer))                                      \
		return CUDA_ERROR_INVALID_VALUE;                \
	*(ret_answer) = answer;                                 \
	return CUDA_SUCCESS

/* The driver's code for the engine's outcome. */
CUresult result_of(enum sim_status status);

/* The current context: CUDA_ERROR_INVALID_CONTEXT without one, CUDA_ERROR_CONTEXT_IS_DESTROYED, or its sticky error. */
CUresult context_current(struct context **ret_context);
/* What a cuCtx argument names; NULL and dead ones give CUDA_ERROR_INVALID_CONTEXT. */
CUresult context_check(CUcontext handle, struct context **ret_context);
struct device *device_of(CUdevice handle);
/* Context of a call whose gate is CONTEXT: never NULL. */
struct context *context_gated(void);

/* --- modules (module.c) ----------------------------------------------------------------------- */

struct function {
	struct module *module;
	struct kernel *kernel; /* NULL unless the module belongs to a library */
	struct sim_function *sim;
	struct sim_function_info info;
	uint32_t max_dynamic_shared_bytes; /* opted in by the program; 0 = default */
	bool allows_nonportable_cluster;
};

struct module {
	struct context *context;
	struct library *library; /* NULL for one loaded by cuModuleLoad*() */
	struct sim_module *sim;
	size_t n_functions;
	struct function *functions;
	struct module *next;            /* in the context */
	struct module *next_in_library; /* the same library elsewhere */
};

/* Code without a context: loaded into each context that asks for it. Kernel i is function i of every module. */
struct library {
	char *ptx; /* owned */
	size_t ptx_bytes;
	size_t n_kernels;
	struct kernel *kernels;
	/* Guarded by driver.lock. */
	struct module *modules;
	struct sim_module *probe; /* compiled on device 0, in no context yet: answers questions; may be NULL */
};

struct kernel {
	struct library *library;
	char *name; /* owned */
	uint32_t max_dynamic_shared_bytes;
	bool allows_nonportable_cluster;
};

/* What a launch names: a CUfunction, or a CUkernel resolved in `context`. */
CUresult function_resolve(CUfunction handle, struct context *context, struct function **ret_function);
/* Dynamic shared memory a launch may ask for. */
uint32_t function_max_dynamic_shared(const struct function *function);
bool function_allows_nonportable_cluster(const struct function *function);
/* Unloads every module of a context that has no work left. driver.lock is held. */
void modules_drop(struct context *context);

/* --- memory (memory.c) ------------------------------------------------------------------------ */

/* Frees everything a context allocated. driver.lock is held. */
void allocations_drop(struct context *context);
/* The device that can reach `address`, or NULL: then it is pageable host memory. */
struct device *address_device(CUdeviceptr address, CUdeviceptr *ret_start, size_t *ret_bytes);

/* Memory of the device itself, as opposed to host memory it can reach. */
bool address_is_on_device(CUdeviceptr address);

/* --- launches (launch.c) ---------------------------------------------------------------------- */

/* A launch as asked for, whatever the entry point. */
struct launch_request {
	unsigned int grid[3], block[3], cluster[3];
	bool has_cluster, is_cooperative, may_start_early;
	struct event *trigger_event, *begun_event; /* recorded by the launch itself; NULL = none */
	int priority;
	unsigned int shared_bytes;
	void **params, **extra;
};

/* Takes one attribute into the request; those that add work are refused. */
CUresult launch_attribute(struct launch_request *request, const CUlaunchAttribute *attribute);
/* Checks everything and copies the parameters; the grid id is still to be given. */
struct work;
CUresult launch_prepare(CUfunction handle, struct context *context, const struct launch_request *asked,
			struct work *ret_work);
/* The first of `n` grid ids in a row. */
uint64_t grid_ids_take(struct device *device, uint64_t n);

/* --- streams and operations (stream.c) -------------------------------------------------------- */

uint64_t monotonic_ns(void);

enum {
	QUEUE_DEPTH = 1024, /* operations a stream holds before an enqueue waits, as on a device */

	/* Virtual host time a call takes. */
	COST_LAUNCH_NS = 2000,
	COST_COPY_NS = 1500,
	COST_SMALL_NS = 500,

	/* Simulated device time. */
	DURATION_TRANSFER_NS = 1500,
	DURATION_CALLBACK_NS = 5000,
	TRANSFER_BYTES_PER_NS = 20,
	DEVICE_BYTES_PER_NS = 1000,
};

/* --- work: what a stream or a graph has done (launch.c, copy.c, memory.c, graph_run.c) -------- */

enum work_kind { WORK_NOTHING, WORK_LAUNCH, WORK_COPY, WORK_FILL, WORK_CALLBACK, WORK_FREE, WORK_GRAPH };

struct work_launch {
	struct function *function;
	struct sim_launch launch;
	void *params; /* the parameter block, owned */
	size_t params_bytes;
	bool may_start_early; /* programmatic stream serialization: once its predecessor lets it */
	uint64_t trigger_ns;  /* when it let its successor, known once it ran */
	/* Operations of no stream, counted; completed when its successors may start and when all its blocks have begun.
	 */
	struct op *trigger_op, *begun_op;
};

/* A box of bytes: `depth` slices of `height` rows of `width` bytes; steps do not matter where there is one. */
struct work_copy {
	CUdeviceptr to, from;
	size_t width, height, depth;
	size_t to_pitch, from_pitch; /* from row to row */
	size_t to_slice, from_slice; /* from slice to slice */
	void *staged;                /* copy of a pageable source, owned */
};

struct work_fill {
	CUdeviceptr to;
	uint32_t value, unit_bytes;
	size_t width, height, pitch; /* `height` rows of `width` units */
};

struct work_callback {
	CUhostFn function;
	CUstreamCallback with_status;
	void *argument;
};

struct work {
	enum work_kind kind;
	union {
		struct work_launch launch;
		struct work_copy copy;
		struct work_fill fill;
		struct work_callback callback;
		CUdeviceptr free_address;
		struct graph_run *run; /* owned */
	};
};

/* Does it count for who waits for everything? */
bool work_has_kernels(const struct work *work);
/* Does it, on a worker, and tells when it ended in simulated time. */
CUresult work_run(struct work *work, uint64_t start_ns, uint64_t *ret_end_ns);
/* Frees what the work owns. */
void work_finish(struct work *work);
/* A copy that owns its own; only for what a graph holds. */
CUresult work_clone(const struct work *work, struct work *ret_work);

CUresult launch_run(struct work_launch *work, uint64_t start_ns, uint64_t *ret_end_ns);
/* The launch does not take place: whoever waits for an event it records goes on. Without a lock. */
void launch_abandon(struct work_launch *work, CUresult reason, uint64_t at_ns);
CUresult copy_run(const struct work_copy *work, uint64_t start_ns, uint64_t *ret_end_ns);
CUresult fill_run(const struct work_fill *work, uint64_t start_ns, uint64_t *ret_end_ns);
void free_run(CUdeviceptr address);

/* Is what the work touches there, whole? For what is not enqueued at once. */
CUresult copy_check(const struct work_copy *copy);
CUresult fill_check(const struct work_fill *fill);
/* From the form the API has for everything. */
CUresult copy_from_box(const CUDA_MEMCPY3D *box, struct work_copy *ret_copy);

/* Nodes that something depends on. */
struct graph_nodes {
	size_t n;
	struct graph_node **nodes; /* owned array */
};

struct waiter {
	struct stream *stream;
	struct waiter *next;
};

struct op {
	atomic_uint refs;
	struct work work;
	struct stream *stream;
	struct op *next;
	uint64_t by_thread;   /* who enqueued it */
	uint64_t earliest_ns; /* enqueue time and the ends of finished predecessors */
	struct op **waits;    /* unfinished predecessors on other streams, referenced */
	size_t n_waits;

	/* Guarded by stream_lock. */
	struct waiter *waiters; /* streams whose head waits for this operation */
	bool is_done;
	CUresult result;
	uint64_t end_ns;
};

struct stream {
	struct context *context;
	struct stream *next;
	uint64_t id;
	unsigned int flags;
	int priority;
	uint64_t owner_thread; /* of a per-thread default stream, else 0 */

	struct capture *_Atomic capture; /* that it takes part in, see capture.c */
	struct graph_nodes captured;     /* what its next captured work depends on */

	CUstreamAttrValue attributes[CU_LAUNCH_ATTRIBUTE_MAX]; /* as set; nothing here depends on them */

	/* Guarded by stream_lock. */
	pthread_t worker;
	bool has_kernels; /* ever had a kernel or a host function */
	bool has_worker;
	bool is_closing;         /* its context ends: the worker is joined */
	bool is_retired;         /* destroyed by the program: the worker frees it */
	pthread_cond_t has_work; /* or what its head waits for has ended */
	struct op *head, *tail;
	struct op *last; /* newest operation, finished or not; referenced */
	uint64_t n_enqueued, n_done;
	uint64_t end_ns;               /* of the newest finished operation */
	uint64_t trigger_ns;           /* from when on its successor may start early, at most end_ns */
	uint64_t ends_ns[QUEUE_DEPTH]; /* of operation i at i % QUEUE_DEPTH */
};

struct event {
	unsigned int flags;
	pthread_mutex_t lock;
	struct op *op; /* recorded last, NULL = never; referenced */

	/* Of a capture instead, see capture.c. Guarded by graph_lock. */
	struct capture *capture; /* counted */
	struct graph_nodes captured;
};

/* A reference to what the event stands for now, or NULL. */
struct op *event_op(struct event *event);
/* Takes the reference over. */
void event_set_op(struct event *event, struct op *op);

/* Which stream a handle means for this thread. */
CUresult stream_resolve(CUstream handle, struct context *context, struct stream **ret_stream);
CUresult stream_create(struct context *context, unsigned int flags, int priority, uint64_t owner_thread,
		       struct stream **ret_stream);
/* The stream ends when its work has; the handle is gone at once. */
void stream_retire(struct stream *stream);
/* Ends and frees every stream of a context; their work must have ended or the context be dead. */
void streams_drop(struct context *context);

/* An operation that does nothing yet. */
struct op *op_new(enum work_kind kind);
struct op *op_ref(struct op *op);
void op_unref(struct op *op);
/* Simulated time from the end of one to the end of the other; CUDA_ERROR_NOT_READY while either is pending. */
CUresult ops_between(struct op *first, struct op *last, float *ret_milliseconds);
/* Takes over the reference, also on failure. Blocks while the queue is full. `cost_ns` of host time passes first.
 * `also` (may be NULL) is one more operation to wait for. When `ret_op` is not NULL the caller receives a reference. */
CUresult op_enqueue(struct stream *stream, struct op *op, uint64_t cost_ns, struct op *also, struct op **ret_op);
/* An operation of no stream has ended. Without a lock held. */
void op_complete(struct op *op, CUresult result, uint64_t end_ns);
/* A worker waits for one operation; its end, or CUDA_ERROR_DEINITIALIZED. */
CUresult op_await_end(struct op *op, uint64_t *ret_end_ns);
bool stream_is_blocking(const struct stream *stream);
/* Waits for one operation and moves the caller's virtual time to its end. */
CUresult op_wait(struct op *op);
/* CUDA_SUCCESS, and the caller's virtual time moves to the end, or CUDA_ERROR_NOT_READY. */
CUresult op_query(struct op *op);
CUresult stream_wait(struct stream *stream);
CUresult stream_query(struct stream *stream);
CUresult context_wait(struct context *context);
/* Process exit: running grids are stopped, queued work is dropped; waits up to a second for workers to notice. */
void streams_abandon(void);

/* --- entry points, one list (driver.def) ------------------------------------------------------ */

#define DRIVER(symbol, since, gate, streams, params, args) CUresult impl_##symbol params;
#define UNSUPPORTED(symbol, since, streams)
#include "driver.def"
#undef DRIVER
#undef UNSUPPORTED

#endif
