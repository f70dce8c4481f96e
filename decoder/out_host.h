/* SPDX-License-Identifier: Apache-2.0
 *
 * out_host.h - what the two timeline writers share of the host: names of its slices, and arrows to the grids.
 */
#ifndef WARPSPAN_OUT_HOST_H
#define WARPSPAN_OUT_HOST_H

#include "map.h"
#include "out.h"

/* Arrows from one call that are drawn: a graph may launch more grids; they have no arrow, in neither format. */
#define OUT_MOST_ARROWS 4096u

struct out_host {
	const struct warpspan_model *model;
	struct map kernels; /* number -> index */
	uint32_t *grids;    /* by the call that launched them, in order of their start */
	uint32_t *first;    /* of each launch, then of each call; one more than there are */
	bool *has_arrow;    /* by grid */
};

/* False: out of memory. out_host_finish() in every case. */
bool out_host_init(struct out_host *host, const struct warpspan_model *model);
void out_host_finish(struct out_host *host);

/* "launch matmul(float*)", "cuStreamSynchronize". Slices of one key have one name; keys are small and start at 0. */
#define OUT_HOST_NAME_BYTES (OUT_KERNEL_BYTES + 8u)
const char *out_host_name(const struct out_host *host, const struct warpspan_host_slice *slice,
			  char name[OUT_HOST_NAME_BYTES], uint32_t *ret_key);
uint32_t out_host_n_keys(const struct out_host *host);

/* The grids that arrows lead to from this slice. */
const uint32_t *out_host_arrows(const struct out_host *host, const struct warpspan_host_slice *slice, uint32_t *ret_n);

/* "host 4242 ./app --size 3", "thread 4243" */
char *out_process_name(const struct warpspan_model *model, char name[OUT_NAME_BYTES]);
char *out_thread_name(const struct warpspan_model *model, uint32_t thread, char name[OUT_NAME_BYTES]);

/* What both timelines say of launches made before the session. */
#define OUT_EARLY "before the session"

/* The text of a mark, its middle left out when it is very long; "mark" where it is empty. */
char *out_mark_text(const struct warpspan_host_mark *mark, char text[OUT_KERNEL_BYTES]);

/* The arguments of a slice. */
struct out_host_arguments {
	uint64_t number, stream;
	uint32_t context;
	int32_t result;
	const char *api;           /* of a launch; NULL: the slice's name says it */
	bool has_bytes, has_graph; /* `amount` is the bytes of a copy, or the handle of a graph */
	uint64_t amount;
	bool early;       /* a launch made before the session */
	uint32_t n_grids; /* it launched, as far as they are known */
};
void out_host_arguments(const struct out_host *host, const struct warpspan_host_slice *slice,
			struct out_host_arguments *ret_arguments);

#endif
