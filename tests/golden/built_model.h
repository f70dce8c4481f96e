/* SPDX-License-Identifier: Apache-2.0
 *
 * built_model.h - models made by hand, to test writers and report without a capture.
 *
 * Parts are appended in the order the model keeps them: a track goes to the last grid, slices and marks to the last
 * track. Nothing here fails: the process ends when memory does.
 */
#ifndef TESTS_BUILT_MODEL_H
#define TESTS_BUILT_MODEL_H

#include "model.h"

/* The caller ends it with warpspan_model_destroy(). */
struct warpspan_model *built_create(const char *command);

uint32_t built_device(struct warpspan_model *model, const char *name, uint32_t n_sms);
uint32_t built_kernel(struct warpspan_model *model, const char *demangled);
uint32_t built_region(struct warpspan_model *model, uint32_t kernel, const char *name, const char *file, uint32_t line);
/* `blocks` and `threads` are along x; the host's launch is made beside it. */
/* A launch in the host's log that left nothing on the device. */
void built_launch(struct warpspan_model *model, uint32_t kernel);
uint32_t built_grid(struct warpspan_model *model, uint32_t kernel, uint32_t device, uint32_t blocks, uint32_t threads,
		    uint64_t start_ns, uint64_t end_ns);
/* The launch of the last grid: when and where it was called. */
void built_launched(struct warpspan_model *model, uint64_t begin_ns, uint64_t end_ns, uint32_t thread, uint64_t stream);
/* Another call, by an entry point of that name; returns its index. */
uint32_t built_call(struct warpspan_model *model, uint32_t kind, const char *api, uint64_t begin_ns, uint64_t end_ns,
		    uint32_t thread, uint64_t amount);
/* A text of the program on its timeline. */
void built_host_mark(struct warpspan_model *model, uint32_t thread, uint64_t time_ns, const char *text);
/* After the last call and mark: lays them out by thread, as the decoder does. */
void built_host(struct warpspan_model *model);
/* The host's clock and that of a device: the offset is `offset_ns`, the error, 0: not bounded. */
void built_host_clock(struct warpspan_model *model, uint32_t device, int64_t offset_ns, double error_ns, bool agrees);
struct warpspan_track *built_track(struct warpspan_model *model, uint32_t sm, uint32_t block, uint32_t warp,
				   uint64_t start_ns, uint64_t end_ns);
void built_slice(struct warpspan_model *model, uint32_t region, uint64_t start_ns, uint64_t end_ns, uint16_t depth,
		 enum warpspan_slice_end end);
void built_mark(struct warpspan_model *model, uint32_t region, uint64_t time_ns, uint32_t kind, uint32_t bits);
void built_lost(struct warpspan_model *model, uint32_t kernel, uint64_t n_records, uint64_t n_cut, uint64_t n_unheard,
		uint32_t most_words, const char *first);
void built_unpaired(struct warpspan_model *model, enum warpspan_unpaired_cause cause, uint32_t region, uint64_t n);
void built_damage(struct warpspan_model *model, uint64_t offset, const char *text);
void built_counter(struct warpspan_model *model, const char *name, uint64_t value);

/* A warp-specialised kernel and a plain one, with a little of everything a report can say. `troubled`: with losses,
 * unpaired records, damage and the like. */
struct warpspan_model *built_example(bool troubled);

/* Random numbers that are the same everywhere. */
uint32_t built_random(uint64_t *state, uint32_t below);
/* A valid model: slices nest, tracks are sorted; some touch, some are empty, names need escapes. */
struct warpspan_model *built_at_random(uint64_t seed);

#endif
