/* SPDX-License-Identifier: Apache-2.0
 *
 * host.h - what the program asked of the driver, and its calls thread by thread.
 */
#ifndef WARPSPAN_HOST_H
#define WARPSPAN_HOST_H

#include "capture.h"
#include "model.h"

struct host {
	ARRAY(struct warpspan_host_call) calls;     /* by number once arranged */
	ARRAY(struct warpspan_host_thread) threads; /* by host_arrange() */
	ARRAY(struct warpspan_host_slice) slices;
	ARRAY(struct warpspan_host_mark) marks; /* thread: the id, an index once arranged */
};

/* Adds what a HOST chunk holds. */
int host_add_chunk(struct host *host, const struct capture_chunk *chunk, const char *path, struct damage *damage);
/* After the last chunk: sorts the calls by number. */
void host_sort(struct host *host);
/* Lays the calls and the launches (both sorted by number) out by thread, so that they nest, and the marks beside them.
 */
int host_arrange(struct host *host, const struct warpspan_launch *log, uint32_t n_log);
void host_finish(struct host *host);

#endif
