/* SPDX-License-Identifier: Apache-2.0
 *
 * warpspan_format.h - every byte that crosses a border, written down once.
 *
 * Three sides share this file: kernels write segments into an arena on the GPU (warpspan.cuh), the preloaded library
 * moves them into a raw capture (shim/), the decoder reads the capture (decoder/). It compiles as C11, as C++14 and
 * later, with nvcc, clang and NVRTC, and includes nothing but <stdint.h> (NVRTC: nothing).
 *
 *      module                 one per CUDA context                 two per CUDA context
 *   +--------------+        +--------------------+              +------------------------------------------+
 *   | warpspan_ctx |------->| warpspan_control   |------------->| warpspan_arena: tickets, closed          |
 *   +--------------+        | loss table         |   arena      | segment | records... | segment | recor.. |
 *   | site, site.. |        +--------------------+   in use     +------------------------------------------+
 *   +--------------+             ^ written by the host, read by every warp that opens a segment
 *
 * Everything is little-endian, as every CUDA platform is. Sizes and offsets are asserted below: whoever changes one
 * raises WARPSPAN_ABI_VERSION (device side) or WARPSPAN_FORMAT_VERSION (capture) and adds a golden capture.
 */
#ifndef WARPSPAN_FORMAT_H
#define WARPSPAN_FORMAT_H

#ifdef __CUDACC_RTC__
typedef unsigned char warpspan_u8;
typedef unsigned short warpspan_u16;
typedef unsigned int warpspan_u32;
typedef int warpspan_i32;
typedef unsigned long long warpspan_u64;
#else
#include <stdint.h>
typedef uint8_t warpspan_u8;
typedef uint16_t warpspan_u16;
typedef uint32_t warpspan_u32;
typedef int32_t warpspan_i32;
typedef uint64_t warpspan_u64;
#endif

#ifdef __cplusplus
#define WARPSPAN_ASSERT(condition) static_assert(condition, #condition)
#else
#define WARPSPAN_ASSERT(condition) _Static_assert(condition, #condition)
#endif
#ifdef __CUDACC_RTC__ /* has no offsetof; the other compilers have checked */
#define WARPSPAN_ASSERT_OFFSET(type, field, offset) WARPSPAN_ASSERT(true)
#else
#define WARPSPAN_ASSERT_OFFSET(type, field, offset) WARPSPAN_ASSERT(__builtin_offsetof(struct type, field) == (offset))
#endif

/* --- records ---------------------------------------------------------------------------------------------------------
 *
 * A record is 8 bytes: {tag, low word of the SM's cycle counter}. The tag is the low word of the address of the site
 * plus the record kind: sites are 16-byte aligned, so the low four bits are free for the kind; BEGIN is 0, which saves
 * an instruction. A VALUE record is followed by one payload word of 8 bytes: {value, 0}. Arenas are zeroed before use,
 * so in a segment that is still open the first record whose tag is 0 is the end of what was written.
 */
#define WARPSPAN_WORD_BYTES     8u
#define WARPSPAN_SITE_ALIGNMENT 16u
#define WARPSPAN_KIND_MASK      (WARPSPAN_SITE_ALIGNMENT - 1u)

/* X(NAME, number, payload words, text) */
#define WARPSPAN_RECORD_KINDS(X)        \
	X(BEGIN, 0, 0, "begin")         \
	X(END, 1, 0, "end")             \
	X(MARK, 2, 0, "mark")           \
	X(VALUE_U32, 3, 1, "value u32") \
	X(VALUE_I32, 4, 1, "value i32") \
	X(VALUE_F32, 5, 1, "value f32")

enum warpspan_record_kind {
#define WARPSPAN_X(name, number, payload, text) WARPSPAN_KIND_##name = number,
	WARPSPAN_RECORD_KINDS(WARPSPAN_X)
#undef WARPSPAN_X
};

struct warpspan_record {
	warpspan_u32 tag;   /* low word of the site's address | enum warpspan_record_kind */
	warpspan_u32 clock; /* low word of %clock64 of the SM, cycles */
};
WARPSPAN_ASSERT(sizeof(struct warpspan_record) == WARPSPAN_WORD_BYTES);

/* --- sites -----------------------------------------------------------------------------------------------------------
 *
 * One per macro in the source (and per instantiation): a constant in the module's global memory. `name_bytes` and
 * `file_bytes` characters follow, each with its terminating NUL included.
 */
#define WARPSPAN_SITE_MAGIC 0x54495357u /* "WSIT" */

/* X(NAME, number, text) */
#define WARPSPAN_SITE_KINDS(X)  \
	X(OPEN, 1, "WS_OPEN")   \
	X(SCOPE, 2, "WS_SCOPE") \
	X(BEGIN, 3, "WS_BEGIN") \
	X(END, 4, "WS_END")     \
	X(MARK, 5, "WS_MARK")   \
	X(VALUE, 6, "WS_VALUE")

enum warpspan_site_kind {
#define WARPSPAN_X(name, number, text) WARPSPAN_SITE_##name = number,
	WARPSPAN_SITE_KINDS(WARPSPAN_X)
#undef WARPSPAN_X
};

struct warpspan_site {
	warpspan_u32 magic;      /* WARPSPAN_SITE_MAGIC */
	warpspan_u16 kind;       /* enum warpspan_site_kind */
	warpspan_u16 reserved;   /* 0 */
	warpspan_u32 line;       /* source line, from 1 */
	warpspan_u16 name_bytes; /* 1..65535, the NUL included; WS_OPEN: the name of the recorder */
	warpspan_u16 file_bytes; /* 1..65535, the NUL included */
};
WARPSPAN_ASSERT(sizeof(struct warpspan_site) == 16);

/* --- segments --------------------------------------------------------------------------------------------------------
 *
 * What one warp wrote between WS_OPEN and the end of its scope: this header, then records up to `segment_bytes`.
 * The header identifies the launch, the place and the time; nothing else is needed to decode the records.
 */
#define WARPSPAN_SEGMENT_MAGIC     0x47455357u /* "WSEG" */
#define WARPSPAN_SEGMENT_ALIGNMENT 16u

enum warpspan_segment_state {
	WARPSPAN_SEGMENT_OPEN = 1,   /* the warp is still in its scope, or hangs there, or died there */
	WARPSPAN_SEGMENT_CLOSED = 2, /* all fields and records are final */
	WARPSPAN_SEGMENT_VOID = 3,   /* reserved while the host took the arena away; holds nothing */
};

struct warpspan_segment {
	warpspan_u32 magic;         /* WARPSPAN_SEGMENT_MAGIC */
	warpspan_u32 state;         /* enum warpspan_segment_state */
	warpspan_u32 segment_bytes; /* this header and the room for records, a multiple of 16 */
	warpspan_u32 site;          /* low word of the address of the WS_OPEN site */
	warpspan_u64 grid_id;       /* %gridid */
	warpspan_u32 grid_x;        /* grid dimensions in blocks */
	warpspan_u16 grid_y;
	warpspan_u16 grid_z;
	warpspan_u32 block_x; /* block coordinates within the grid */
	warpspan_u16 block_y;
	warpspan_u16 block_z;
	warpspan_u16 threads_x; /* block dimensions in threads */
	warpspan_u16 threads_y;
	warpspan_u16 threads_z;
	warpspan_u8 warp;           /* warp within the block: linear thread index / 32 */
	warpspan_u8 lane;           /* the lane that records: the lowest one active at WS_OPEN */
	warpspan_u32 module;        /* number the host gave the module, from 1 */
	warpspan_u16 sm;            /* %smid at open */
	warpspan_u8 cluster_rank;   /* block within its cluster; 0 without clusters */
	warpspan_u8 cluster_blocks; /* blocks in a cluster; 1 without clusters (0: not known, before sm_90) */
	warpspan_u32 records; /* once closed: records made, those that found no room included; payloads not counted */
	warpspan_u32 words;   /* once closed: 8-byte words those records take, payloads included */
	warpspan_u64 open_timer;  /* %globaltimer at open, ns */
	warpspan_u64 open_clock;  /* %clock64 at open, cycles */
	warpspan_u64 close_timer; /* once closed: %globaltimer at close, ns; before: address of the arena */
	warpspan_u64 close_clock; /* once closed: %clock64 at close, cycles; before: 0 */
};
WARPSPAN_ASSERT(sizeof(struct warpspan_segment) == 96);
WARPSPAN_ASSERT_OFFSET(warpspan_segment, grid_id, 16);
WARPSPAN_ASSERT_OFFSET(warpspan_segment, threads_x, 40);
WARPSPAN_ASSERT_OFFSET(warpspan_segment, records, 56);
WARPSPAN_ASSERT_OFFSET(warpspan_segment, open_timer, 64);

/* Record offsets are 32-bit byte counts, so a warp makes fewer than this many words in one segment; the count of a
 * warp that goes on longer (half a billion records) starts again at 0. */
#define WARPSPAN_SEGMENT_WORDS_LIMIT (1u << 29)

/* --- arena -----------------------------------------------------------------------------------------------------------
 *
 *   0            256                                          arena_bytes
 *   | header      | segment | segment | ...      | free          |
 *                                                ^ 256 + 16 * units(tickets)
 *
 * A warp opens a segment with one atomic add to `tickets`; closing adds 1 to `closed`. The arena is quiet when
 * opened(tickets) == closed. Two counters, two cache lines: openers and closers do not get in each other's way.
 */
#define WARPSPAN_TICKET_UNIT_BYTES WARPSPAN_SEGMENT_ALIGNMENT
#define WARPSPAN_TICKET_UNIT_BITS  36 /* 1 TiB of 16-byte units */
#define WARPSPAN_TICKET_OPENED_ONE (1ull << WARPSPAN_TICKET_UNIT_BITS)
#define WARPSPAN_TICKET_UNIT_MASK  (WARPSPAN_TICKET_OPENED_ONE - 1ull)

struct warpspan_arena {
	warpspan_u64 tickets; /* segments opened << WARPSPAN_TICKET_UNIT_BITS | units handed out */
	warpspan_u64 reserved_0[15];
	warpspan_u64 closed; /* segments closed, voided or refused for want of room */
	warpspan_u64 reserved_1[15];
};
WARPSPAN_ASSERT(sizeof(struct warpspan_arena) == 256);

/* --- control block and module context --------------------------------------------------------------------------------
 *
 * Written by the host, once per CUDA context and session; the loss table is written by warps and read by the host.
 */
#define WARPSPAN_N_LOSSES                                                                          \
	64u /* kernels told apart among those that lost whole warps; the last entry takes the rest \
	     */
#define WARPSPAN_LOSS_REST_KEY 0xffffffffffffffffull

struct warpspan_loss {
	warpspan_u64 key;   /* module << 32 | low word of the WS_OPEN site; 0: free; WARPSPAN_LOSS_REST_KEY: the rest */
	warpspan_u64 warps; /* warps that found no room for a segment */
	warpspan_u64 records;      /* records those warps made */
	warpspan_u32 most_records; /* the most records one of those warps made */
	warpspan_u32 most_words;   /* the most words one of those warps made */
};
WARPSPAN_ASSERT(sizeof(struct warpspan_loss) == 32);

/* What warps made before tells how much room the next ones need: per WS_OPEN site, which shares its entry with the few
 * others of the same (low word / 16) % N. */
#define WARPSPAN_N_HINTS          256u
#define WARPSPAN_HINT_INDEX(site) ((site) / WARPSPAN_SITE_ALIGNMENT % WARPSPAN_N_HINTS)
#define WARPSPAN_HINT_WORDS(hint) ((hint) + (hint) / 2u + 16u) /* room for a warp where others made `hint` words */
#define WARPSPAN_GENEROUS_PART    8u /* while less than 1/8 of the arena is used, hints do not matter */

struct warpspan_control {
	warpspan_u64 arena;       /* device address of the arena in use; 0: record nothing */
	warpspan_u64 arena_bytes; /* size of each arena, a multiple of 16 */
	warpspan_u32
		words_asked; /* words each warp gets, even; 0: derived from arena, grid and hints, within the bounds */
	warpspan_u32 words_least;  /* a derived segment has at least this many words ... */
	warpspan_u32 words_most;   /* ... and at most this many */
	warpspan_u32 words_enough; /* up to this many a grid may fill the whole arena; beyond, a quarter of it */
	warpspan_u64 reserved[12];
	struct warpspan_loss losses[WARPSPAN_N_LOSSES];
	warpspan_u32 hints[WARPSPAN_N_HINTS]; /* the most words a warp made; 0: none has ended yet */
};
WARPSPAN_ASSERT_OFFSET(warpspan_control, losses, 128);
WARPSPAN_ASSERT(sizeof(struct warpspan_control) == 128 + 32 * WARPSPAN_N_LOSSES + 4 * WARPSPAN_N_HINTS);

#define WARPSPAN_CTX_SYMBOL  "warpspan_ctx"
#define WARPSPAN_CTX_MAGIC   0x4e41505350524157ull /* "WARPSPAN" */
#define WARPSPAN_ABI_VERSION 1u

struct warpspan_ctx {
	warpspan_u64 magic;     /* WARPSPAN_CTX_MAGIC */
	warpspan_u32 abi;       /* WARPSPAN_ABI_VERSION of the header the module was compiled with */
	warpspan_u32 ctx_bytes; /* sizeof(struct warpspan_ctx) there */
	warpspan_u64 control;   /* device address of the control block; 0: not attached. Written by the host ... */
	warpspan_u32 module;    /* ... together with the number of the module, from 1 */
	warpspan_u32 reserved;
};
WARPSPAN_ASSERT(sizeof(struct warpspan_ctx) == 32);
WARPSPAN_ASSERT_OFFSET(warpspan_ctx, control, 16);

/* --- raw capture (.wspan) --------------------------------------------------------------------------------------------
 *
 *   | file header | chunk | chunk | ... | END chunk |
 *
 * Append-only. A chunk is a header and `payload_bytes` of payload, padded with zeros to a multiple of 8. A reader that
 * meets a damaged chunk finds the next by its mark. A file without an END chunk was cut short; all chunks before hold.
 */
#define WARPSPAN_FORMAT_VERSION 1u
#define WARPSPAN_BYTE_ORDER     0x01020304u

struct warpspan_file_header {
	warpspan_u64 magic;         /* WARPSPAN_CTX_MAGIC: the characters "WARPSPAN" */
	warpspan_u32 version;       /* WARPSPAN_FORMAT_VERSION */
	warpspan_u32 byte_order;    /* WARPSPAN_BYTE_ORDER as the writer stores it */
	warpspan_u32 header_bytes;  /* sizeof(struct warpspan_file_header): where the first chunk starts */
	warpspan_u32 segment_bytes; /* sizeof(struct warpspan_segment) */
	warpspan_u32 launch_bytes;  /* sizeof(struct warpspan_launch) */
	warpspan_u32 crc32c;        /* of the bytes before this field */
};
WARPSPAN_ASSERT(sizeof(struct warpspan_file_header) == 32);

#define WARPSPAN_CHUNK_MARK      0x4b435357u /* "WSCK" */
#define WARPSPAN_CHUNK_ALIGNMENT 8u
#define WARPSPAN_CHUNK_MAX_BYTES (64u << 20) /* a longer payload is refused: no reader has to trust a length */

/* X(NAME, number, text). Payloads:
 *   META      one JSON object with one key, which says what it describes: "session", "device", "context",
 *             "module", "kernel", "hook" ({"number", "name"}: an entry point that host calls refer to),
 *             "graph" ({"exec", "since_ns", "certain", "kernels": [[module, kernel, grid x, y, z, threads x, y, z,
 *             how many], ...]}: what launches of the executable make from then on; "exec" 0: nothing is known of any),
 *             "stop" (when the session was stopped, by whom, and whether the device was "quiet": all that was launched
 *             before had ended), "mark" ({"monotonic_ns", "thread", "text"}: the program's own words on its timeline),
 *             "counters" (cumulative: the last one holds). 64-bit numbers are decimal strings. Launches that began
 *             before the session's "start_monotonic_ns" are logged because their grids may still have run then, those
 *             that began at the stop's "monotonic_ns" or later because they may have got in before recording ended:
 *             either may have left a grid, a part of one, or none. This holds where "session" has "started_by".
 *   SITES     struct warpspan_stored_site, each followed by its text, padded to a multiple of 8
 *   LAUNCHES  struct warpspan_launch, as many as fit the payload
 *   SEGMENTS  struct warpspan_stored_segment, each followed by stored_words words
 *   LOSSES    struct warpspan_stored_losses (cumulative: the last one of a context holds)
 *   END       struct warpspan_end: the writer closed the file
 *   HOST      struct warpspan_host_call, as many as fit the payload
 */
#define WARPSPAN_CHUNK_TYPES(X)    \
	X(META, 1, "meta")         \
	X(SITES, 2, "sites")       \
	X(LAUNCHES, 3, "launches") \
	X(SEGMENTS, 4, "segments") \
	X(LOSSES, 5, "losses")     \
	X(END, 6, "end")           \
	X(HOST, 7, "host calls")

enum warpspan_chunk_type {
#define WARPSPAN_X(name, number, text) WARPSPAN_CHUNK_##name = number,
	WARPSPAN_CHUNK_TYPES(WARPSPAN_X)
#undef WARPSPAN_X
};

struct warpspan_chunk {
	warpspan_u32 mark;          /* WARPSPAN_CHUNK_MARK */
	warpspan_u32 type;          /* enum warpspan_chunk_type; a reader skips types it does not know */
	warpspan_u32 payload_bytes; /* without padding; at most WARPSPAN_CHUNK_MAX_BYTES */
	warpspan_u32 sequence;      /* 0, 1, 2, ... */
	warpspan_u32 payload_crc;   /* CRC-32C of the payload */
	warpspan_u32 header_crc;    /* CRC-32C of the fields before this one */
};
WARPSPAN_ASSERT(sizeof(struct warpspan_chunk) == 24);

struct warpspan_stored_site {
	warpspan_u32 module;     /* the module whose image holds the site */
	warpspan_u32 site;       /* low word of its address; records of this module refer to it */
	warpspan_u32 kind;       /* enum warpspan_site_kind; 0: the descriptor could not be read, the text says why */
	warpspan_u32 line;       /* source line, from 1; 0 where kind is 0 */
	warpspan_u32 name_bytes; /* bytes of name that follow, no NUL */
	warpspan_u32 file_bytes; /* bytes of file name that follow the name, no NUL */
};
WARPSPAN_ASSERT(sizeof(struct warpspan_stored_site) == 24);

/* X(NAME, number, text): the entry point by which a launch came. */
#define WARPSPAN_LAUNCH_APIS(X)                                         \
	X(CU_LAUNCH_KERNEL, 1, "cuLaunchKernel")                        \
	X(CU_LAUNCH_KERNEL_EX, 2, "cuLaunchKernelEx")                   \
	X(CU_LAUNCH_COOPERATIVE_KERNEL, 3, "cuLaunchCooperativeKernel") \
	X(CUDA_LAUNCH, 4, "runtime only (driver entry not seen)")

enum warpspan_launch_api {
#define WARPSPAN_X(name, number, text) WARPSPAN_API_##name = number,
	WARPSPAN_LAUNCH_APIS(WARPSPAN_X)
#undef WARPSPAN_X
};

struct warpspan_launch {
	warpspan_u64 number;       /* process-wide, from 1, in the order the calls began */
	warpspan_u64 begin_ns;     /* CLOCK_MONOTONIC just before the real call */
	warpspan_u64 end_ns;       /* and just after it */
	warpspan_u64 stream;       /* the handle the program passed; 0: the default stream; 2: the thread's own */
	warpspan_u32 kernel;       /* number in a "kernel" object */
	warpspan_u32 module;       /* number in a "module" object */
	warpspan_u32 context;      /* number in a "context" object */
	warpspan_u32 thread;       /* thread id of the caller (gettid) */
	warpspan_u32 grid[3];      /* blocks */
	warpspan_u32 threads[3];   /* threads of a block */
	warpspan_u32 cluster[3];   /* blocks of a cluster; 1,1,1 without */
	warpspan_u32 shared_bytes; /* dynamic shared memory of a block */
	warpspan_u32 api;          /* enum warpspan_launch_api */
	warpspan_i32 result;       /* CUresult (runtime only: cudaError_t) of the real call; 0: success */
};
WARPSPAN_ASSERT(sizeof(struct warpspan_launch) == 96);
WARPSPAN_ASSERT_OFFSET(warpspan_launch, grid, 48);

/* X(NAME, number, text): what the program asked of the driver, other than launches of single kernels. */
#define WARPSPAN_HOST_CALLS(X)             \
	X(GRAPH_LAUNCH, 1, "graph launch") \
	X(SYNCHRONIZE, 2, "synchronize")   \
	X(COPY, 3, "copy")

enum warpspan_host_call_kind {
#define WARPSPAN_X(name, number, text) WARPSPAN_HOST_##name = number,
	WARPSPAN_HOST_CALLS(WARPSPAN_X)
#undef WARPSPAN_X
};

struct warpspan_host_call {
	warpspan_u64 number;   /* process-wide, shared with warpspan_launch.number: the order in which calls began */
	warpspan_u64 begin_ns; /* CLOCK_MONOTONIC just before the real call */
	warpspan_u64 end_ns;   /* and just after it */
	warpspan_u64 stream;   /* the handle the program passed; 0: the default stream, or none; 2: the thread's own */
	warpspan_u64 amount;   /* COPY: bytes; GRAPH_LAUNCH: the executable graph's handle; else 0 */
	warpspan_u32 api;      /* number of the entry point in a "hook" object; 0: not known */
	warpspan_u32 kind;     /* enum warpspan_host_call_kind */
	warpspan_u32 context;  /* number in a "context" object; 0: not known to the library */
	warpspan_u32 thread;   /* thread id of the caller (gettid) */
	warpspan_i32 result;   /* CUresult of the real call; 0: success */
	warpspan_u32 reserved; /* 0 */
};
WARPSPAN_ASSERT(sizeof(struct warpspan_host_call) == 64);

struct warpspan_stored_segment {
	warpspan_u32 stored_words; /* words that follow: what was written, never more than the segment has room for */
	warpspan_u32 context;      /* number in a "context" object */
	struct warpspan_segment segment;
};
WARPSPAN_ASSERT(sizeof(struct warpspan_stored_segment) == 104);

struct warpspan_stored_losses {
	warpspan_u32 context;  /* number in a "context" object */
	warpspan_u32 n_losses; /* struct warpspan_loss that follow */
};
WARPSPAN_ASSERT(sizeof(struct warpspan_stored_losses) == 8);

struct warpspan_end {
	warpspan_u64 chunks;   /* chunks before this one */
	warpspan_u64 segments; /* segments in them */
	warpspan_u64 launches; /* launches in them */
	warpspan_u64 time_ns;  /* CLOCK_REALTIME */
};
WARPSPAN_ASSERT(sizeof(struct warpspan_end) == 32);

#endif
