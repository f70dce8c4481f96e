/* SPDX-License-Identifier: Apache-2.0
 *
 * capture_builder.h - makes captures for tests, through the real writer, from warps whose true times are known.
 *
 *   struct builder *b = builder_create();            // session, device 0, context 1, module 1
 *   builder_kernel(b, 1, "_Z1kv", "k()");
 *   builder_site(b, SITE(1), WARPSPAN_SITE_SCOPE, "load", 10);
 *   struct warp warp = warp_open(b, &(struct warp_place){ .grid_id = 7 }, 1000);
 *   warp_begin(&warp, SITE(1), 1100);
 *   warp_end(&warp, SITE(1), 1200);
 *   warp_close(&warp, 1300);
 *   builder_segment(b, &warp);
 *   struct warpspan_model *model = builder_load(b, WARPSPAN_OK);
 *
 * Times are true nanoseconds since BUILDER_BASE_NS. Every step asserts.
 */
#ifndef TESTS_CAPTURE_BUILDER_H
#define TESTS_CAPTURE_BUILDER_H

#include "model.h"

#define BUILDER_BASE_NS 1700000000000000000ull
#define BUILDER_SMS     256
#define WARP_WORDS_MAX  4096

/* Addresses of sites: aligned, none 0. */
#define SITE(n) (0x1000u + 16u * (n))

struct builder {
	struct warpspan_writer *writer;
	char path[64];
	/* the truth: at time t ns an SM's counter stands at cycles_at_base + t / period */
	uint32_t tick_ns;
	double period[BUILDER_SMS];
	uint64_t cycles_at_base[BUILDER_SMS];
	uint64_t n_launches; /* and other calls: they share their numbers */
	uint64_t next_begin_ns, next_stream;
	uint32_t next_thread;
	bool finished;
};

/* Where a warp is; zeros become the simplest launch: one block of 32 threads in module 1, opened at SITE(0). */
struct warp_place {
	uint64_t grid_id;
	uint32_t grid[3], threads[3], block[3];
	uint32_t warp, sm, module, site, context;
	uint32_t room; /* words; 0: 64 */
};

struct warp {
	struct builder *builder;
	struct warpspan_segment head;
	uint32_t context;
	uint32_t room;
	uint32_t n_words, n_records; /* made, also those that found no room */
	uint64_t words[WARP_WORDS_MAX];
};

struct builder *builder_create(void);
/* The same without any metadata. */
struct builder *builder_create_bare(void);
void builder_meta(struct builder *builder, const char *format, ...) __attribute__((format(printf, 2, 3)));
void builder_session(struct builder *builder);
void builder_kernel(struct builder *builder, uint32_t number, const char *name, const char *demangled);
void builder_site(struct builder *builder, uint32_t address, uint32_t kind, const char *name, uint32_t line);
/* A launch of `kernel` that succeeded, of the shape of `place`; its number is the next one. */
void builder_launch(struct builder *builder, uint32_t kernel, const struct warp_place *place);
void builder_launch_result(struct builder *builder, uint32_t kernel, const struct warp_place *place, int result);
/* The next launch begins then and returns 3 us later, on that stream and thread; 0: as by default. Times are of the
 * host's clock. */
void builder_next_launch(struct builder *builder, uint64_t begin_ns, uint64_t stream, uint32_t thread);
/* Another call, its number the next one; `call` needs no number. An entry point is told with builder_hook(). */
void builder_call(struct builder *builder, const struct warpspan_host_call *call);
void builder_hook(struct builder *builder, uint32_t number, const char *name);
void builder_segment(struct builder *builder, const struct warp *warp);
void builder_losses(struct builder *builder, uint32_t context, const struct warpspan_loss *losses, uint32_t n);
void builder_chunk(struct builder *builder, enum warpspan_chunk_type type, const void *payload, size_t n_bytes);
/* Writes END. */
void builder_finish(struct builder *builder);
/* The capture so far; the caller frees it. */
uint8_t *builder_bytes(const struct builder *builder, size_t *ret_n_bytes);
/* Loads the capture so far and expects `result`. */
struct warpspan_model *builder_load(const struct builder *builder, int result);
/* Removes the file, too. */
void builder_destroy(struct builder *builder);

uint64_t builder_clock(const struct builder *builder, uint32_t sm, double time_ns);
uint64_t builder_timer(const struct builder *builder, double time_ns);

struct warp warp_open(struct builder *builder, const struct warp_place *place, double time_ns);
void warp_record(struct warp *warp, uint32_t tag, double time_ns);
void warp_begin(struct warp *warp, uint32_t site, double time_ns);
void warp_end(struct warp *warp, uint32_t site, double time_ns);
void warp_mark(struct warp *warp, uint32_t site, double time_ns);
void warp_value(struct warp *warp, uint32_t site, uint32_t value, double time_ns);
void warp_close(struct warp *warp, double time_ns);

#endif
