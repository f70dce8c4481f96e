/* SPDX-License-Identifier: Apache-2.0
 *
 * out.h - the timeline writers.
 *
 * Both write the same slices: every region slice of the model, one slice a launch from its first to its last record,
 * and one for each call of the host, with arrows from launches to their grids. Times are nanoseconds of one device's
 * %globaltimer, which CUDA keeps close to the host's CLOCK_REALTIME: both files present them as that clock; the host
 * and further devices are put on it (out_axis.c). Writers stream: memory grows with the launches and calls, not with
 * slices and marks.
 */
#ifndef WARPSPAN_OUT_H
#define WARPSPAN_OUT_H

#include "model.h"
#include "sink.h"

/* Perfetto TrackEvent, see out_pftrace.c. WARPSPAN_OK or WARPSPAN_NO_MEMORY; output errors stay in the sink. */
int warpspan_write_pftrace(const struct warpspan_model *model, struct sink *sink);
/* Chrome trace JSON, see out_json.c. The same results. */
int warpspan_write_json(const struct warpspan_model *model, struct sink *sink);

/* The one axis of a timeline. */
struct out_axis {
	const struct warpspan_model *model;
	const struct warpspan_host_clock
		*reference; /* of the device whose time the axis is; NULL: all stay as they are */
	const struct warpspan_host_clock **clocks; /* by device; NULL: it has none */
	uint32_t n_host_threads; /* that are drawn: all, or none where they could be anywhere beside the launches */
};
/* False: out of memory. out_axis_finish() in every case. */
bool out_axis_init(struct out_axis *axis, const struct warpspan_model *model);
void out_axis_finish(struct out_axis *axis);
uint64_t out_axis_of_host(const struct out_axis *axis, uint64_t host_ns);
uint64_t out_axis_of_device(const struct out_axis *axis, uint32_t device, uint64_t device_ns);
/* Are this device's times other than its own? */
bool out_axis_moves(const struct out_axis *axis, uint32_t device);
/* The earliest time in the model: both files count from here. */
uint64_t out_axis_start(const struct out_axis *axis);
/* Where the host's times and those of a device stand on the axis, and how well. A device: "" where it is the axis. */
#define OUT_AXIS_BYTES 320u
const char *out_axis_host_text(const struct out_axis *axis, char text[OUT_AXIS_BYTES]);
const char *out_axis_device_text(const struct out_axis *axis, uint32_t device, char text[OUT_AXIS_BYTES]);

/* What regions are called, as valid UTF-8; the same in both files. */
struct out_texts {
	char **names, **files; /* by region */
	uint32_t *file_ids;    /* by region: equal files have equal numbers, from 0 */
	uint32_t n_regions, n_files;
};
bool out_texts_init(struct out_texts *texts, const struct warpspan_model *model);
void out_texts_finish(struct out_texts *texts);

/* Walks the events of a track in the order the viewers want them: by time; an end before the begin that touches it; an
 * inner end before its outer one; a holding slice before what it holds. */
enum out_event_kind { OUT_BEGIN, OUT_END, OUT_MARK };
struct out_event {
	enum out_event_kind kind;
	uint64_t time_ns;
	const struct warpspan_slice *slice; /* of BEGIN and END */
	const struct warpspan_mark *mark;   /* of MARK */
};
struct out_walk {
	const struct warpspan_model *model;
	const struct warpspan_slice *slice, *slices_end;
	const struct warpspan_mark *mark, *marks_end;
	const struct warpspan_slice **open; /* by depth */
	uint32_t n_open;
};
/* `open` holds OUT_MOST_DEPTH pointers. */
#define OUT_MOST_DEPTH ((size_t)UINT16_MAX + 2)
void out_walk_init(struct out_walk *walk, const struct warpspan_model *model, const struct warpspan_track *track,
		   const struct warpspan_slice **open);
bool out_walk_next(struct out_walk *walk, struct out_event *ret_event);

/* Names of tracks, the same in both files. */
#define OUT_NAME_BYTES 320u
char *out_device_name(const struct warpspan_model *model, uint32_t device, char name[OUT_NAME_BYTES]);
/* "#12 matmul(float const*)": numbered in the order of start, so that no two are equal. */
char *out_launch_name(const struct warpspan_model *model, uint32_t grid, char name[OUT_NAME_BYTES]);
/* The demangled name, its middle left out when it is very long. */
#define OUT_KERNEL_BYTES 1024u
char *out_kernel_name(const struct warpspan_model *model, uint32_t kernel, char name[OUT_KERNEL_BYTES]);
/* "warp 3", "warp 3 (2)" for a further row of the same warp */
char *out_warp_name(const struct warpspan_track *track, char name[OUT_NAME_BYTES]);

/* Writes the formats (an OR of enum warpspan_export_format) to BASE plus their extensions, each complete or not at all.
 * A path longer than the system takes, a full disk and the like give WARPSPAN_IO with the errno. */
int out_export(const struct warpspan_model *model, unsigned formats, const char *base, struct warpspan_error *error);
/* The capture's path less ".wspan"; `base` holds `bytes`. False: too long. */
bool out_base_path(const char *capture_path, char *base, size_t bytes);

#endif
