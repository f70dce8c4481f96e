/* SPDX-License-Identifier: Apache-2.0
 *
 * recent.c - the latest launches made without a session. See recent.h.
 */
#include "recent.h"

#include "filter.h"
#include "host_log.h"
#include "meta.h"
#include "output.h"
#include "registry.h"
#include "util.h"

#include <stdlib.h>

/* More than a device takes in before launching blocks. A power of two. */
#define MOST 1024u
/* How long to wait for launches that are still in their calls. */
#define PATIENCE_NS (20 * WARPSPAN_NS_PER_MS)

static struct warpspan_launch launches[MOST];
static uint64_t n_taken; /* the latest is at (n_taken - 1) % MOST */

void warpspan_recent_take(uint64_t until_ns)
{
	static struct warpspan_host_batch batch;
	bool more = true;

	while (more) {
		more = warpspan_host_log_take(until_ns, &batch, PATIENCE_NS);
		for (unsigned i = 0; i < batch.n_launches; i++)
			launches[n_taken++ % MOST] = batch.launches[i];
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
	static struct warpspan_launch chosen[MOST];
	const uint64_t first = n_taken > MOST ? n_taken - MOST : 0;
	size_t n_kernels, n = 0;
	bool *written;

	warpspan_meta_announce();
	written = n_taken > 0 ? find_written(&n_kernels) : NULL;
	for (uint64_t i = first; written != NULL && i < n_taken; i++)
		if (launches[i % MOST].kernel < n_kernels && written[launches[i % MOST].kernel])
			chosen[n++] = launches[i % MOST];
	if (n > 0) {
		const struct iovec part = { .iov_base = chosen, .iov_len = n * sizeof(chosen[0]) };

		warpspan_filter_note(chosen, n);
		(void)warpspan_output_append(WARPSPAN_CHUNK_LAUNCHES, &part, 1);
	}
	n_taken = 0;
	free(written);
}
