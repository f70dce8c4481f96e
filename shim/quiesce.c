/* SPDX-License-Identifier: Apache-2.0
 *
 * quiesce.c - waiting for kernels. See quiesce.h.
 */
#include "quiesce.h"

#include "driver.h"
#include "guard.h"
#include "lock.h"
#include "thread.h"
#include "util.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Shared with the thread that waits, which may outlive the one that asked. */
struct warpspan_quiesce {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	CUcontext contexts[WARPSPAN_QUIESCE_MOST];
	unsigned n;
	void (*when_done)(void);
	bool done;
	unsigned references;
};

static void unref(struct warpspan_quiesce *quiesce)
{
	bool last;

	warpspan_lock(&quiesce->lock);
	last = --quiesce->references == 0;
	warpspan_unlock(&quiesce->lock);
	if (!last)
		return;
	(void)pthread_cond_destroy(&quiesce->changed);
	(void)pthread_mutex_destroy(&quiesce->lock);
	free(quiesce);
}

static void *wait_for_device(void *argument)
{
	struct warpspan_quiesce *quiesce = argument;
	void (*when_done)(void) = quiesce->when_done;
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	(void)warpspan_driver.cuThreadExchangeStreamCaptureMode(&mode);
	for (unsigned i = 0; i < quiesce->n; i++)
		if (warpspan_driver.cuCtxSetCurrent(quiesce->contexts[i]) == CUDA_SUCCESS)
			(void)warpspan_driver.cuCtxSynchronize();
	(void)warpspan_driver.cuCtxSetCurrent(NULL);
	warpspan_lock(&quiesce->lock);
	quiesce->done = true;
	pthread_cond_broadcast(&quiesce->changed);
	warpspan_unlock(&quiesce->lock);
	unref(quiesce);
	if (when_done != NULL)
		when_done();
	return NULL;
}

struct warpspan_quiesce *warpspan_quiesce_begin(const CUcontext *contexts, unsigned n, void (*done)(void))
{
	struct warpspan_quiesce *quiesce = calloc(1, sizeof(*quiesce));

	if (quiesce == NULL)
		return NULL;
	(void)pthread_mutex_init(&quiesce->lock, NULL);
	(void)pthread_cond_init(&quiesce->changed, NULL);
	quiesce->n = n < WARPSPAN_QUIESCE_MOST ? n : WARPSPAN_QUIESCE_MOST;
	memcpy(quiesce->contexts, contexts, quiesce->n * sizeof(contexts[0]));
	quiesce->when_done = done;
	quiesce->references = 2;
	if (!warpspan_thread_start("warpspan-wait", wait_for_device, quiesce, NULL)) {
		unref(quiesce);
		unref(quiesce);
		return NULL;
	}
	return quiesce;
}

bool warpspan_quiesce_done(struct warpspan_quiesce *quiesce)
{
	bool done;

	warpspan_lock(&quiesce->lock);
	done = quiesce->done;
	warpspan_unlock(&quiesce->lock);
	return done;
}

bool warpspan_quiesce_wait(struct warpspan_quiesce *quiesce, uint64_t patience_ns)
{
	const struct timespec deadline = warpspan_deadline(patience_ns);
	bool done;

	warpspan_lock(&quiesce->lock);
	while (!quiesce->done && warpspan_wait(&quiesce->changed, &quiesce->lock, &deadline) != ETIMEDOUT)
		;
	done = quiesce->done;
	warpspan_unlock(&quiesce->lock);
	return done;
}

struct warpspan_quiesce *warpspan_quiesce_end(struct warpspan_quiesce *quiesce)
{
	if (quiesce != NULL)
		unref(quiesce);
	return NULL;
}
