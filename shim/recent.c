/* SPDX-License-Identifier: Apache-2.0
 *
 * recent.c - the latest launches made without a session. See recent.h.
 */
#include "recent.h"

#include "filter.h"
#include "hooks.h"
#include "host_log.h"
#include "meta.h"
#include "output.h"
#include "registry.h"
#include "util.h"

#include <stdlib.h>
#include <string.h>

/* More than a device takes in before launching blocks. */
#define MOST 1024u
/* How long to wait for launches that are still in their calls. */
#define PATIENCE_NS (20 * WARPSPAN_NS_PER_MS)

static struct warpspan_launch launches[MOST]; /* by number */
static unsigned n_launches;

static void keep(const struct warpspan_launch *launch)
{
	if (n_launches == MOST) {
		n_launches -= MOST / 4;
		memmove(launches, launches + MOST / 4, n_launches * sizeof(launches[0]));
	}
	launches[n_launches++] = *launch;
}

enum wait {
	WAIT_OTHER, /* not known for what */
	WAIT_CONTEXT,
	WAIT_STREAM,
};

static enum wait kind_of_wait(const struct warpspan_host_call *call)
{
	const char *name = call->api != 0 ? warpspan_hook_name((enum warpspan_hook)(call->api - 1)) : "";

	if (strncmp(name, "cuCtxSynchronize", strlen("cuCtxSynchronize")) == 0)
		return WAIT_CONTEXT;
	return strncmp(name, "cuStreamSynchronize", strlen("cuStreamSynchronize")) == 0 ? WAIT_STREAM : WAIT_OTHER;
}

/* Of default streams only the calling thread's own launches are certain. */
static bool is_over(const struct warpspan_launch *launch, const struct warpspan_host_call *call, enum wait wait)
{
	if (launch->context != call->context || launch->begin_ns >= call->begin_ns)
		return false;
	return wait == WAIT_CONTEXT ||
	       (launch->stream == call->stream &&
		(launch->thread == call->thread || call->stream > (uint64_t)(uintptr_t)CU_STREAM_PER_THREAD));
}

static void forget_over(const struct warpspan_host_call *call)
{
	const enum wait wait = kind_of_wait(call);
	unsigned n = 0;

	if (call->kind != WARPSPAN_HOST_SYNCHRONIZE || call->result != 0 || call->context == 0 || wait == WAIT_OTHER)
		return;
	for (unsigned i = 0; i < n_launches; i++)
		if (!is_over(&launches[i], call, wait))
			launches[n++] = launches[i];
	n_launches = n;
}

void warpspan_recent_take(uint64_t until_ns)
{
	static struct warpspan_host_batch batch;
	bool more = true;

	while (more) {
		more = warpspan_host_log_take(until_ns, &batch, PATIENCE_NS);
		for (unsigned i = 0; i < batch.n_launches; i++)
			keep(&batch.launches[i]);
		for (unsigned i = 0; i < batch.n_calls; i++)
			forget_over(&batch.calls[i]);
	}
}

/* For each number whether the session's capture has the kernel; NULL: no memory. The caller frees it. */
static bool *find_written(size_t *ret_n)
{
	size_t n = 0;
	bool *written;

	for (struct warpspan_kernel *kernel = NULL; (kernel = warpspan_registry_next_kernel(kernel)) != NULL;)
		n = kernel->number + 1u;
	written = calloc(n + 1, sizeof(*written));
	for (struct warpspan_kernel *kernel = NULL;
	     written != NULL && (kernel = warpspan_registry_next_kernel(kernel)) != NULL && kernel->number < n;)
		written[kernel->number] = warpspan_meta_has(kernel);
	*ret_n = n;
	return written;
}

void warpspan_recent_write(void)
{
	size_t n_kernels;
	unsigned n = 0;
	bool *written;

	warpspan_meta_announce();
	written = n_launches > 0 ? find_written(&n_kernels) : NULL;
	for (unsigned i = 0; written != NULL && i < n_launches; i++)
		if (launches[i].kernel < n_kernels && written[launches[i].kernel])
			launches[n++] = launches[i];
	if (n > 0) {
		const struct iovec part = { .iov_base = launches, .iov_len = n * sizeof(launches[0]) };

		warpspan_filter_note(launches, n);
		(void)warpspan_output_append(WARPSPAN_CHUNK_LAUNCHES, &part, 1);
	}
	n_launches = 0;
	free(written);
}
