/* SPDX-License-Identifier: Apache-2.0
 *
 * model.h - what a capture says, in the form every writer and analysis reads.
 *
 * Built by the stages in order, each a file: capture (validate chunks) -> segments (index, unwrap cycle counters) ->
 * clock (fit cycles to nanoseconds) -> launches (group segments, join with the host's log) -> spans (pair, nest,
 * classify), losses -> this. Invariants once warpspan_model_load() has returned:
 *   - times are nanoseconds of the device's %globaltimer, 64 bits, and every slice has end >= start;
 *   - the slices of a track are sorted by start (among equal ones in the order they began, so one that holds another
 *     comes first) and nest: of two slices either one holds the other or they do not overlap; touching is not
 *     overlapping. `depth` says which of the two it is where a slice has no length;
 *   - host times are nanoseconds of CLOCK_MONOTONIC as the host's log has them; host_clock.h puts them on the axis of
 *     the devices; the slices of a host thread are sorted and nest like those of a track;
 *   - nothing is lost silently: records made = records in slices and marks + those counted in `lost` and `unpaired`.
 * Arrays are owned by the model; indices refer to the arrays of the same model; UINT32_MAX is "none".
 */
#ifndef WARPSPAN_MODEL_H
#define WARPSPAN_MODEL_H

#include "decoder.h"

#define WARPSPAN_NONE UINT32_MAX

struct warpspan_device {
	uint32_t ordinal;
	char *name, *uuid, *compute; /* "NVIDIA H100", "GPU-...", "9.0"; never NULL */
	uint32_t n_sms;
	uint32_t clock_khz; /* as the driver states it; 0: not known */
};

struct warpspan_kernel {
	uint32_t number; /* in the capture; 0: not known to the host's log */
	uint32_t module; /* number of its module */
	char *name;      /* as the driver calls it; of an unknown kernel "kernel at FILE:LINE" */
	char *demangled; /* for people; equals name where it is not a C++ name */
	uint32_t
		same; /* index of the one that stands for it in grids, regions and losses: itself, or the first of the
		       * same name, place of WS_OPEN and device, which another module (or the same, loaded again) has */
};

/* An entry point that host calls name by its number. */
struct warpspan_hook {
	uint32_t number;
	char *name; /* "cuStreamSynchronize"; never NULL */
};

/* What one thread of the program did, one call after another, and the marks it set. */
struct warpspan_host_thread {
	uint32_t id; /* gettid() */
	uint32_t first_slice, n_slices;
	uint32_t first_mark, n_marks; /* of host_marks; one of the two is not 0 */
};

/* A text that the program put on its timeline: warpspan_mark(). */
struct warpspan_host_mark {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t thread;  /* index */
	char *text;       /* never NULL */
};

#define HOST_DEPTH_MAX 64 /* calls inside calls, far more than any library makes */

struct warpspan_host_slice {
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC; end >= begin */
	uint32_t thread;           /* index */
	uint32_t launch, call;     /* index of the one it is; the other is NONE */
	uint16_t depth;
	bool open; /* the call had not returned when it was written down */
};

/* How a launch was told apart from others. */
enum warpspan_match {
	WARPSPAN_MATCH_GRID_ID, /* its %gridid is its own */
	WARPSPAN_MATCH_REPEAT,  /* %gridid is constant on this device: split where a warp of a block came a second time
				 */
	WARPSPAN_MATCH_UNSURE,  /* several launches may be mixed; said in the report */
};

/* How a grid was joined with the call that launched it. */
enum warpspan_join {
	WARPSPAN_JOIN_NONE,      /* no call fits */
	WARPSPAN_JOIN_ID,        /* %gridid told the grids apart and gave their order */
	WARPSPAN_JOIN_ORDER,     /* by the order of starts, in which launches of one stream come */
	WARPSPAN_JOIN_AMBIGUOUS, /* several calls fit */
};

/* Whose a launch is. Grids of the early ones may have been running when the session started, those of the late ones
 * when recording ended: of both, a part may be recorded. */
enum warpspan_phase {
	WARPSPAN_OWN,   /* made in the session */
	WARPSPAN_EARLY, /* before it */
	WARPSPAN_LATE,  /* after its stop; neither these nor their grids are in the model, but for their number */
};

struct warpspan_grid {
	uint32_t kernel;  /* index */
	uint32_t device;  /* index */
	uint32_t context; /* number */
	uint64_t grid_id;
	uint32_t host; /* index into launches; NONE: no launch of the host's log fits, or a graph launched it */
	uint32_t call; /* index into calls: the graph launch that launched it; NONE */
	enum warpspan_match match;
	enum warpspan_join join;
	enum warpspan_phase phase; /* of its launch; OWN where that is not certain */
	uint32_t grid[3], threads[3], cluster[3];
	uint64_t start_ns, end_ns; /* first open; last close, or the latest time seen on the device where n_open > 0 */
	uint32_t n_warps;          /* segments */
	uint32_t n_open;           /* of them still open */
	uint64_t n_records;        /* decoded */
	uint64_t n_lost;           /* records made that found no room in their segments */
	uint32_t first_track, n_tracks;
};

/* A warp of a launch, or an overflow lane beside one. */
struct warpspan_track {
	uint32_t grid; /* index */
	uint32_t sm;
	uint32_t block[3];
	uint32_t warp, lane;
	uint32_t cluster_rank, cluster_blocks;
	uint32_t repeat; /* 0; n: the n-th further segment (or overflow lane) of the same warp */
	bool open;       /* the segment was never closed */
	uint64_t start_ns, end_ns;
	uint64_t first_slice, n_slices;
	uint64_t first_mark, n_marks;
};

/* A named place in the source. Instantiations and the END of a BEGIN are one region. */
struct warpspan_region {
	char *name, *file;
	uint32_t line;      /* of the begin */
	uint32_t kernel;    /* index: the same source in another kernel is another region */
	uint32_t site_kind; /* enum warpspan_site_kind */
};

enum warpspan_slice_end {
	WARPSPAN_END_RECORDED, /* both ends were recorded */
	WARPSPAN_END_LOST,     /* the end found no room: closed where the segment closed, or where its parent ended */
	WARPSPAN_END_OPEN,     /* still open when the capture ended */
	WARPSPAN_END_CORRUPT,  /* the end is missing though nothing was lost: closed where its parent ended */
};

struct warpspan_slice {
	uint64_t start_ns, end_ns;
	uint32_t track, region;
	uint16_t depth; /* 0: outermost */
	uint8_t end;    /* enum warpspan_slice_end; only RECORDED ones enter statistics */
};

struct warpspan_mark {
	uint64_t time_ns;
	uint32_t track, region;
	uint32_t kind; /* enum warpspan_record_kind: MARK or VALUE_* */
	uint32_t bits; /* the value; 0 for MARK */
};

/* Records that found no partner, by cause and site; none of them in `slices` except begins (with their end kind). */
enum warpspan_unpaired_cause {
	WARPSPAN_UNPAIRED_LOST,       /* begin whose end was lost for want of room */
	WARPSPAN_UNPAIRED_OPEN,       /* begin still open at the end of the capture */
	WARPSPAN_UNPAIRED_BEGIN,      /* begin without end though nothing was lost */
	WARPSPAN_UNPAIRED_END,        /* end without begin */
	WARPSPAN_UNPAIRED_TOO_DEEP,   /* begin, or end, nested deeper than slices can be */
	WARPSPAN_UNPAIRED_BAD_RECORD, /* a record that names no known site or kind */
	WARPSPAN_N_UNPAIRED_CAUSES
};

struct warpspan_unpaired {
	enum warpspan_unpaired_cause cause;
	uint32_t region; /* index; NONE for BAD_RECORD */
	uint64_t n;
};

/* Insufficient space, by kernel. */
struct warpspan_lost {
	uint32_t kernel; /* index; NONE: kernels beyond the device's table */
	uint64_t n_records;
	uint64_t n_warps_cut;     /* warps whose segment was too small */
	uint64_t n_warps_unheard; /* warps that found no segment at all */
	uint32_t most_words;      /* the most words one of those warps made: WARPSPAN_EVENTS_PER_WARP that suffices */
	char first[96];           /* one of the warps, "block (3,0,0) warp 2", or "" */
};

/* The clock of one device. */
struct warpspan_clock_fit {
	uint32_t device;
	uint32_t tick_ns;        /* detected step of %globaltimer */
	bool tick_at_most;       /* too few readings: it may be a part of tick_ns */
	double rate_hz;          /* SM cycles per second, over all SMs */
	double error_ns;         /* bound on how far a time may be from the truth: the widest half interval over SMs */
	double typical_error_ns; /* the same bound for the middle SM */
	uint32_t n_sms, n_pairs;
	uint32_t n_epochs; /* stretches of time with a rate of their own; 1: the rate was constant */
	bool fitted;       /* false: too few pairs; rate from the driver's stated clock, error_ns is a tick and more */
};

/* Device time less host time (CLOCK_MONOTONIC) at a moment of the host; linear between two of them. */
struct warpspan_clock_knot {
	uint64_t host_ns;
	int64_t offset_ns;
};

/* How the host's clock and that of one device lie to each other. */
struct warpspan_host_clock {
	uint32_t device;   /* index */
	bool agrees;       /* one offset, or one that drifts slowly, explains all launches and synchronisations; if not,
			    * the offset only puts the first launch at the start of its grid and means nothing else */
	bool bounded;      /* synchronisations bound it from the other side: error_ns holds. Otherwise host events may
			    * have been earlier, by an unknown time */
	int64_t offset_ns; /* at the first knot */
	double error_ns;   /* bound on the offset's error wherever a launch or a synchronisation was; 0: not bounded */
	double drift;      /* the rates were let differ by so much (0.00001: 10 ppm); 0: no need to */
	uint64_t n_upper, n_lower;    /* launches and synchronisations it rests on */
	uint32_t first_knot, n_knots; /* at least one, ascending */
};

struct warpspan_model {
	char *path;
	/* session */
	char *version, *host, *command; /* never NULL */
	char *rank, *launcher; /* what started several processes, and which this is; never NULL, "": nothing did */
	uint32_t world;        /* how many there are; 0: not known */
	uint32_t pid, session;
	char *started_by, *stopped_by; /* "signal RTMIN+7"; never NULL, "": not known */
	uint32_t started_in_thread, stopped_in_thread;
	uint64_t start_realtime_ns, start_monotonic_ns;
	uint64_t stop_monotonic_ns; /* 0: not known, or still to come */
	bool quiet;                 /* at the stop all kernels launched before had ended, as far as is known */
	uint64_t n_late_launches;   /* made after the stop; left out */
	uint64_t n_late_warps;      /* that they left */
	uint64_t arena_bytes;       /* of each of the two */
	uint32_t words_asked, words_least, words_enough, words_most;
	bool complete; /* the writer closed the file */

	struct warpspan_device *devices;
	uint32_t n_devices;
	struct warpspan_kernel *kernels;
	uint32_t n_kernels;
	struct warpspan_launch
		*launches; /* the host's log, by number; of those before the session only what left grids */
	uint32_t n_launches;
	struct warpspan_hook *hooks; /* by number */
	uint32_t n_hooks;
	struct warpspan_host_call *calls; /* what else the program asked of the driver, by number */
	uint32_t n_calls;
	struct warpspan_host_thread *host_threads; /* by id */
	uint32_t n_host_threads;
	struct warpspan_host_slice *host_slices; /* launches and calls, by thread, begin; outer before inner */
	uint32_t n_host_slices;
	struct warpspan_host_mark *host_marks; /* by thread, time */
	uint32_t n_host_marks;
	struct warpspan_grid *grids; /* by start_ns */
	uint32_t n_grids;
	struct warpspan_track *tracks; /* by grid, SM, block, warp, repeat */
	uint32_t n_tracks;
	struct warpspan_region *regions;
	uint32_t n_regions;
	struct warpspan_slice *slices; /* by track */
	uint64_t n_slices;
	struct warpspan_mark *marks; /* by track, time */
	uint64_t n_marks;
	struct warpspan_clock_fit *clocks; /* one per device that has segments */
	uint32_t n_clocks;
	struct warpspan_host_clock *host_clocks; /* one per device with a grid whose launch is known */
	uint32_t n_host_clocks;
	struct warpspan_clock_knot *knots;
	uint32_t n_knots;

	uint64_t n_segments, n_records; /* read; decoded */
	struct warpspan_lost *lost;
	uint32_t n_lost;
	uint32_t most_words;                   /* the most words any warp made, written or not */
	uint64_t n_lost_records, n_lost_warps; /* totals over `lost`; warps: cut + unheard */
	struct warpspan_unpaired *unpaired;
	uint32_t n_unpaired;
	uint64_t n_repairs; /* segments whose cycle counter ran backwards: such records were put at the one before */
	uint64_t n_wraps_unplaced; /* turns of 32-bit counters that passed between records, not known between which */
	struct {
		char *name;
		uint64_t value;
	} * counters; /* of the shim: why launches were not recorded, and the like */
	uint32_t n_counters;
	struct warpspan_error *damage; /* every damaged place, in file order, at most 1000 */
	uint32_t n_damage;
};

/* Reads and decodes a capture, also one that is still being written. WARPSPAN_OK or WARPSPAN_DAMAGED: the caller owns
 * *ret_model; on a negative result nothing is written there. Memory is bounded by a small multiple of the file. */
int warpspan_model_load(const char *path, struct warpspan_model **ret_model, struct warpspan_error *error);
/* The same from memory, which is copied; `name` is what messages call it. */
int warpspan_model_from_bytes(const char *name, const void *bytes, size_t n_bytes, struct warpspan_model **ret_model,
			      struct warpspan_error *error);
/* Frees the model, each array and each text on its own (so one put together by hand may be handed in, too). Returns
 * NULL; NULL is fine. */
struct warpspan_model *warpspan_model_destroy(struct warpspan_model *model);

/* The settings under which this capture would have lost nothing, 0 when nothing was lost. */
void warpspan_model_sufficient(const struct warpspan_model *model, uint64_t *ret_buffer_bytes,
			       uint32_t *ret_events_per_warp);
/* Which of the two a user would have to change; the other one is in force already, or the default does. Both false
 * only when nothing was lost. */
void warpspan_model_to_change(const struct warpspan_model *model, bool *ret_buffer, bool *ret_events);

#endif
