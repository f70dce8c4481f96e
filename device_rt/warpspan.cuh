/* SPDX-License-Identifier: Apache-2.0
 *
 * warpspan.cuh - the header a kernel includes. The host program needs nothing: no argument, no call, no library.
 *
 *   #include <warpspan.cuh>
 *
 *   __global__ void kernel(...)
 *   {
 *           WS_OPEN(ws);                          // once per warp; closes itself on every way out of its scope
 *           {
 *                   WS_SCOPE(ws, "load");         // a region: until the end of the C++ scope
 *                   ...
 *           }
 *           WS_BEGIN(ws, "multiply");             // the same with two statements, paired by name
 *           ...
 *           WS_END(ws, "multiply");
 *           WS_MARK(ws, "flushed");               // a point in time
 *           WS_VALUE(ws, "tile", tile);           // a point in time with a number: unsigned, int or float
 *   }
 *
 * Names are string literals. `ws` may be handed to any __device__ function as `warpspan::recorder &`.
 *
 * What is recorded. WS_OPEN is executed by a warp, and from then on its lowest active lane records for it. A region
 * that this lane does not enter (a branch only other lanes take) leaves no record; WS_OPEN inside that branch shows it.
 * WS_OPEN takes one atomic add, one fence and a 96-byte header; closing one fence and one atomic add. A record is one
 * timer read, one compare and one predicated 8-byte store into the warp's own segment: no atomic, no fence, and never a
 * byte outside the segment. Records that find no room are not written but counted, exactly.
 *
 * Off means off. -DWARPSPAN_DISABLE compiles the macros to nothing: the machine code is that of a kernel without them.
 * Compiled in but not run under libwarpspan.so, a record is the timer read and a predicate that is false.
 *
 * Needs sm_75 or later, C++14 or later; nvcc 12 and 13, clang, NVRTC.
 */
#ifndef WARPSPAN_CUH
#define WARPSPAN_CUH

#ifdef WARPSPAN_DISABLE

namespace warpspan
{
struct recorder {
};
} // namespace warpspan

#define WS_OPEN(ws)            \
	warpspan::recorder ws; \
	(void)ws
#define WS_SCOPE(ws, name)        ((void)0)
#define WS_BEGIN(ws, name)        ((void)0)
#define WS_END(ws, name)          ((void)0)
#define WS_MARK(ws, name)         ((void)0)
#define WS_VALUE(ws, name, value) ((void)0)

#else

#include "warpspan_format.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 750
#error "warpspan needs sm_75 or later: compile with -arch=sm_75 or higher, or with -DWARPSPAN_DISABLE"
#endif

/* The one variable the preloaded library looks for. A module compiled as a whole has its own; under relocatable device
 * code the copies of all objects merge into one: nvcc makes only inline variables weak, and takes them in C++14, too.
 * Its name is the plain one in the image either way (nvcc 13.0). */
#if defined(__CUDACC_RDC__) || defined(__CLANG_RDC__)
#define WARPSPAN_CTX_LINKAGE inline __device__
#else
#define WARPSPAN_CTX_LINKAGE static __device__
#endif
#ifdef __NVCC__ /* "inline variables are a C++17 feature": the device's compiler, then the host's */
#pragma nv_diagnostic push
#pragma nv_diag_suppress 3033
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wc++17-extensions"
#endif
WARPSPAN_CTX_LINKAGE struct warpspan_ctx warpspan_ctx = {
	WARPSPAN_CTX_MAGIC, WARPSPAN_ABI_VERSION, sizeof(struct warpspan_ctx), 0, 0, 0
};
#ifdef __NVCC__
#pragma GCC diagnostic pop
#pragma nv_diagnostic pop
#endif

namespace warpspan
{

/* A site and its text, as the host reads them: struct warpspan_site, name, file. */
template <unsigned NameBytes, unsigned FileBytes> struct alignas(WARPSPAN_SITE_ALIGNMENT) site {
	static_assert(NameBytes <= 65535 && FileBytes <= 65535, "a warpspan name is at most 65534 characters long");
	struct warpspan_site head;
	char name[NameBytes];
	char file[FileBytes];
};

namespace detail
{

/* Host compilers see the code of kernels too; only device compilers take the assembly. */
#if defined(__CUDA_ARCH__)
#define WARPSPAN_PTX(...) asm volatile(__VA_ARGS__)
#else
#define WARPSPAN_PTX(...) ((void)0)
#endif

__device__ __forceinline__ warpspan_u32 read_clock()
{
	warpspan_u32 clock = 0;
	WARPSPAN_PTX("mov.u32 %0, %%clock;" : "=r"(clock)::"memory");
	return clock;
}

__device__ __forceinline__ warpspan_u64 read_clock64()
{
	warpspan_u64 clock = 0;
	WARPSPAN_PTX("mov.u64 %0, %%clock64;" : "=l"(clock)::"memory");
	return clock;
}

__device__ __forceinline__ warpspan_u64 read_timer()
{
	warpspan_u64 timer = 0;
	WARPSPAN_PTX("mov.u64 %0, %%globaltimer;" : "=l"(timer)::"memory");
	return timer;
}

__device__ __forceinline__ warpspan_u64 read_grid_id()
{
	warpspan_u64 id = 0;
	WARPSPAN_PTX("mov.u64 %0, %%gridid;" : "=l"(id));
	return id;
}

__device__ __forceinline__ warpspan_u32 read_sm()
{
	warpspan_u32 sm = 0;
	WARPSPAN_PTX("mov.u32 %0, %%smid;" : "=r"(sm));
	return sm;
}

__device__ __forceinline__ warpspan_u32 read_lane()
{
	warpspan_u32 lane = 0;
	WARPSPAN_PTX("mov.u32 %0, %%laneid;" : "=r"(lane));
	return lane;
}

/* Clusters came with sm_90; before, a block is its own cluster. */
__device__ __forceinline__ void read_cluster(warpspan_u32 &rank, warpspan_u32 &blocks)
{
	rank = 0;
	blocks = 1;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
	asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
	asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
#endif
}

/* Names a place in the module's global memory in 32 bits; the host finds the rest from where the module lies. */
__device__ __forceinline__ warpspan_u32 low_word(const char *address)
{
	return static_cast<warpspan_u32>(reinterpret_cast<unsigned long long>(address));
}

__device__ __forceinline__ warpspan_u64 add(warpspan_u64 *counter, warpspan_u64 n)
{
	return atomicAdd(reinterpret_cast<unsigned long long *>(counter), n);
}

/* Reads of what the host or other warps write: from the cache all SMs share, never from this SM's. */
template <class T> __device__ __forceinline__ T load(const T &value)
{
	return *static_cast<const volatile T *>(&value);
}

template <class T> __device__ __forceinline__ void store(T &value, T now)
{
	*static_cast<volatile T *>(&value) = now;
}

/* Room for records this warp asks for, in words. A grid may fill a quarter of the arena, so that the next ones find
 * room before the host has swapped arenas; unless that leaves a warp fewer than `words_enough`, in which case the grid
 * may have it all. Once the arena fills up (not `generous`), a warp gets what its like have been seen to need and half
 * as much again: many small launches then fit where each would have taken a thousand words and used a few. Floating
 * point keeps two 64-bit divisions out of the kernel; the margin keeps the rounding on the safe side. */
__device__ __forceinline__ warpspan_u32 segment_words(const struct warpspan_control *control, warpspan_u32 open_site,
						      bool generous)
{
	const warpspan_u32 asked = control->words_asked;
	if (asked != 0)
		return asked;
	const warpspan_u32 warps_per_block = (blockDim.x * blockDim.y * blockDim.z + 31u) / 32u;
	const float warps = static_cast<float>(gridDim.x) * static_cast<float>(gridDim.y * gridDim.z) *
			    static_cast<float>(warps_per_block);
	const float share = __fdividef(static_cast<float>(control->arena_bytes) * 0.9999f, warps);
	const float head = static_cast<float>(sizeof(struct warpspan_segment));
	const float word = 1.0f / static_cast<float>(WARPSPAN_WORD_BYTES);
	float words = fminf((share - head) * word, static_cast<float>(control->words_enough));
	words = fmaxf(words, (share * 0.25f - head) * word);
	const warpspan_u32 hint = generous ? 0 : load(control->hints[WARPSPAN_HINT_INDEX(open_site)]);
	if (hint != 0)
		words = fminf(words, static_cast<float>(WARPSPAN_HINT_WORDS(hint)));
	words = fmaxf(words, static_cast<float>(control->words_least));
	words = fminf(words, static_cast<float>(control->words_most));
	return static_cast<warpspan_u32>(words) & ~1u; /* segments stay 16-byte aligned */
}

/* Remembers how much a warp made, for the next ones. */
__device__ __forceinline__ void leave_hint(warpspan_u32 open_site, warpspan_u32 words)
{
	struct warpspan_control *control = reinterpret_cast<struct warpspan_control *>(load(warpspan_ctx.control));
	if (control == nullptr)
		return;
	warpspan_u32 *hint = &control->hints[WARPSPAN_HINT_INDEX(open_site)];
	if (load(*hint) < words)
		atomicMax(hint, words);
}

/* A segment pointer that says: this lane records, but the arena was full. */
__device__ __forceinline__ struct warpspan_segment *refused()
{
	return reinterpret_cast<struct warpspan_segment *>(1);
}

/* Takes room in the arena in use, *ret_bytes of it, header included. Null when the host pauses recording, refused()
 * when there is no room. */
__device__ __forceinline__ struct warpspan_segment *reserve_segment(const struct warpspan_control *control,
								    warpspan_u32 open_site, warpspan_u32 *ret_bytes)
{
	const warpspan_u64 arena_units =
		(control->arena_bytes - sizeof(struct warpspan_arena)) / WARPSPAN_TICKET_UNIT_BYTES;
	for (;;) {
		const warpspan_u64 address = load(control->arena);
		struct warpspan_arena *arena = reinterpret_cast<struct warpspan_arena *>(address);
		if (arena == nullptr)
			return nullptr;
		const warpspan_u64 used = load(arena->tickets) & WARPSPAN_TICKET_UNIT_MASK;
		const warpspan_u32 bytes =
			static_cast<warpspan_u32>(sizeof(struct warpspan_segment)) +
			segment_words(control, open_site, used * WARPSPAN_GENEROUS_PART < arena_units) *
				WARPSPAN_WORD_BYTES;
		const warpspan_u32 units = bytes / WARPSPAN_TICKET_UNIT_BYTES;
		/* A full arena is not written to, so its counters cannot run over. */
		if (used + units > arena_units)
			return refused();
		const warpspan_u64 first =
			add(&arena->tickets, WARPSPAN_TICKET_OPENED_ONE | units) & WARPSPAN_TICKET_UNIT_MASK;
		const bool fits = first + units <= arena_units;
		struct warpspan_segment *segment = reinterpret_cast<struct warpspan_segment *>(
			reinterpret_cast<char *>(arena + 1) + first * WARPSPAN_TICKET_UNIT_BYTES);
		/* The host may have put another arena into use between our look and our ticket, and may now find this
		 * one quiet. It writes the new arena's address before it reads the counters; we take the ticket before
		 * we read the address again: with the fence between, one of the two sees the other. */
		__threadfence();
		const bool current = load(control->arena) == address;
		if (fits && current) {
			segment->close_timer = address; /* kept here rather than in two registers */
			*ret_bytes = bytes;
			return segment;
		}
		if (fits) {
			*reinterpret_cast<uint4 *>(segment) =
				make_uint4(WARPSPAN_SEGMENT_MAGIC, WARPSPAN_SEGMENT_VOID, bytes, open_site);
			__threadfence();
		}
		add(&arena->closed, 1);
		if (current)
			return refused();
	}
}

/* Writes the header, as far as it is known at open, in vector stores. */
__device__ __forceinline__ void fill_segment(struct warpspan_segment *segment, warpspan_u32 bytes,
					     warpspan_u32 open_site)
{
	const warpspan_u64 grid_id = read_grid_id();
	const warpspan_u32 warp = (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) / 32u;
	warpspan_u32 cluster_rank, cluster_blocks;
	read_cluster(cluster_rank, cluster_blocks);
	uint4 *part = reinterpret_cast<uint4 *>(segment);
	part[1] = make_uint4(static_cast<warpspan_u32>(grid_id), static_cast<warpspan_u32>(grid_id >> 32), gridDim.x,
			     gridDim.y | gridDim.z << 16);
	part[2] = make_uint4(blockIdx.x, blockIdx.y | blockIdx.z << 16, blockDim.x | blockDim.y << 16,
			     blockDim.z | warp << 16 | read_lane() << 24);
	part[3] = make_uint4(load(warpspan_ctx.module), read_sm() | cluster_rank << 16 | cluster_blocks << 24, 0, 0);
	const warpspan_u64 timer = read_timer();
	const warpspan_u64 clock = read_clock64();
	part[4] = make_uint4(static_cast<warpspan_u32>(timer), static_cast<warpspan_u32>(timer >> 32),
			     static_cast<warpspan_u32>(clock), static_cast<warpspan_u32>(clock >> 32));
	part[0] = make_uint4(WARPSPAN_SEGMENT_MAGIC, WARPSPAN_SEGMENT_OPEN, bytes, open_site);
}

/* Publishes a segment: what it holds, then that it is closed, then the arena's counter. */
__device__ __forceinline__ void close_segment(struct warpspan_segment *segment, warpspan_u32 words, warpspan_u32 values)
{
	struct warpspan_arena *arena = reinterpret_cast<struct warpspan_arena *>(segment->close_timer);
	segment->close_timer = read_timer();
	segment->close_clock = read_clock64();
	segment->words = words;
	segment->records = words - values;
	__threadfence();
	store(segment->state, static_cast<warpspan_u32>(WARPSPAN_SEGMENT_CLOSED));
	add(&arena->closed, 1);
}

/* Counts what a warp without a segment made, by kernel as far as the table reaches. */
__device__ __forceinline__ void count_loss(warpspan_u32 open_site, warpspan_u32 words, warpspan_u32 values)
{
	struct warpspan_control *control = reinterpret_cast<struct warpspan_control *>(load(warpspan_ctx.control));
	if (control == nullptr)
		return;
	const unsigned long long key = static_cast<unsigned long long>(load(warpspan_ctx.module)) << 32 | open_site;
	struct warpspan_loss *loss = control->losses;
	struct warpspan_loss *rest = loss + (WARPSPAN_N_LOSSES - 1u);
#pragma unroll 1
	for (;;) {
		const unsigned long long mine = loss == rest ? WARPSPAN_LOSS_REST_KEY : key;
		const unsigned long long found =
			atomicCAS(reinterpret_cast<unsigned long long *>(&loss->key), 0ull, mine);
		if (found == 0 || found == mine || loss == rest)
			break;
		loss++;
	}
	add(&loss->warps, 1);
	add(&loss->records, words - values);
	atomicMax(&loss->most_records, words - values);
	atomicMax(&loss->most_words, words);
}

} // namespace detail

/* Lives in registers. Everything is inlined: a call in a kernel makes ptxas serialise its wgmma instructions and costs
 * it the freedom to set register counts, and kernels that use those are the ones looked at. In the recording lane
 * `base` is the first record of the segment and `limit` its room in bytes; in every other lane `limit` is 0, so the
 * bounds check elects the lane as well. */
class recorder
{
public:
	__device__ __forceinline__ explicit recorder(const char *open_site)
	    : base_(nullptr), offset_(0), limit_(0), values_(0), open_site_(detail::low_word(open_site))
	{
		const struct warpspan_control *control =
			reinterpret_cast<const struct warpspan_control *>(detail::load(warpspan_ctx.control));
		if (control == nullptr || detail::read_lane() != static_cast<warpspan_u32>(__ffs(__activemask()) - 1))
			return;
		warpspan_u32 bytes = 0;
		struct warpspan_segment *segment = detail::reserve_segment(control, open_site_, &bytes);
		if (segment == nullptr)
			return;
		base_ = reinterpret_cast<char *>(segment + 1);
		if (segment == detail::refused())
			return;
		limit_ = bytes - static_cast<warpspan_u32>(sizeof(struct warpspan_segment));
		detail::fill_segment(segment, bytes, open_site_);
	}

	__device__ __forceinline__ ~recorder()
	{
		if (base_ == nullptr)
			return;
		detail::leave_hint(open_site_, offset_ / WARPSPAN_WORD_BYTES);
		struct warpspan_segment *segment = reinterpret_cast<struct warpspan_segment *>(base_) - 1;
		if (segment != detail::refused())
			detail::close_segment(segment, offset_ / WARPSPAN_WORD_BYTES, values_);
		else
			detail::count_loss(open_site_, offset_ / WARPSPAN_WORD_BYTES, values_);
	}

	recorder(const recorder &) = delete;
	recorder &operator=(const recorder &) = delete;

	/* `tag`: address of the site + record kind. */
	__device__ __forceinline__ void record(const char *tag)
	{
		put(detail::low_word(tag), detail::read_clock());
	}

	__device__ __forceinline__ void value(const char *site, unsigned int value)
	{
		put_value(site + WARPSPAN_KIND_VALUE_U32, value);
	}

	__device__ __forceinline__ void value(const char *site, int value)
	{
		put_value(site + WARPSPAN_KIND_VALUE_I32, static_cast<warpspan_u32>(value));
	}

	__device__ __forceinline__ void value(const char *site, float value)
	{
		put_value(site + WARPSPAN_KIND_VALUE_F32, __float_as_uint(value));
	}

	template <class T> void value(const char *site, T value) = delete; /* WS_VALUE takes unsigned, int or float */

private:
	__device__ __forceinline__ void put(warpspan_u32 low, warpspan_u32 high)
	{
		WARPSPAN_PTX("{\n\t"
			     ".reg .pred fits;\n\t"
			     "setp.lt.u32 fits, %0, %1;\n\t"
			     "@fits st.global.v2.u32 [%2], {%3, %4};\n\t"
			     "}" ::"r"(offset_),
			     "r"(limit_), "l"(base_ + offset_), "r"(low), "r"(high)
			     : "memory");
		offset_ += WARPSPAN_WORD_BYTES;
	}

	__device__ __forceinline__ void put_value(const char *tag, warpspan_u32 value)
	{
		record(tag);
		put(value, 0);
		values_++;
	}

	char *base_;             /* first record in global memory; null: does not record; of refused(): counts only */
	warpspan_u32 offset_;    /* bytes of all records so far; runs on past the limit */
	warpspan_u32 limit_;     /* bytes of room */
	warpspan_u32 values_;    /* payload words among them */
	warpspan_u32 open_site_; /* low word of the WS_OPEN site */
};

/* From its construction to the end of the C++ scope; the two tags are constants of the site. */
class scope
{
public:
	__device__ __forceinline__ scope(recorder &ws, const char *begin_tag, const char *end_tag)
	    : ws_(ws), end_tag_(end_tag)
	{
		ws_.record(begin_tag);
	}

	__device__ __forceinline__ ~scope()
	{
		ws_.record(end_tag_);
	}

	scope(const scope &) = delete;
	scope &operator=(const scope &) = delete;

private:
	recorder &ws_;
	const char *end_tag_;
};

} // namespace warpspan

#define WARPSPAN_JOIN_(a, b) a##b
#define WARPSPAN_JOIN(a, b)  WARPSPAN_JOIN_(a, b)

/* The constant the host reads name, file and line from. */
#define WARPSPAN_SITE(id, site_kind, site_name)                                                       \
	static const __device__ warpspan::site<sizeof(site_name), sizeof(__FILE__)> id = {            \
		{ WARPSPAN_SITE_MAGIC, site_kind, 0, __LINE__, sizeof(site_name), sizeof(__FILE__) }, \
		site_name,                                                                            \
		__FILE__                                                                              \
	}

/* Address arithmetic on the symbol, not on a loaded value: site and kind then become one constant. */
#define WARPSPAN_TAG(id, kind) (reinterpret_cast<const char *>(&id) + (kind))

/* Makes the names of two scopes on one source line differ where the compiler can. */
#ifdef __CUDACC_RTC__
#define WARPSPAN_UNIQUE __LINE__
#else
#define WARPSPAN_UNIQUE __COUNTER__
#endif

#define WARPSPAN_OPEN_(ws, id)                      \
	WARPSPAN_SITE(id, WARPSPAN_SITE_OPEN, #ws); \
	warpspan::recorder ws(WARPSPAN_TAG(id, 0))
#define WARPSPAN_SCOPE_(ws, name, id, guard)          \
	WARPSPAN_SITE(id, WARPSPAN_SITE_SCOPE, name); \
	warpspan::scope guard(ws, WARPSPAN_TAG(id, WARPSPAN_KIND_BEGIN), WARPSPAN_TAG(id, WARPSPAN_KIND_END))
#define WARPSPAN_RECORD_(ws, name, site_kind, kind)                  \
	do {                                                         \
		WARPSPAN_SITE(warpspan_site_here, site_kind, name);  \
		(ws).record(WARPSPAN_TAG(warpspan_site_here, kind)); \
	} while (0)

/* Opens a recorder called `ws` for the executing warp. */
#define WS_OPEN(ws) WARPSPAN_OPEN_(ws, WARPSPAN_JOIN(warpspan_site_, WARPSPAN_UNIQUE))
/* A region from here to the end of the enclosing C++ scope. */
#define WS_SCOPE(ws, name)                                                        \
	WARPSPAN_SCOPE_(ws, name, WARPSPAN_JOIN(warpspan_site_, WARPSPAN_UNIQUE), \
			WARPSPAN_JOIN(warpspan_scope_, WARPSPAN_UNIQUE))
/* A region between two statements; the END with the same name closes it. Regions nest. */
#define WS_BEGIN(ws, name) WARPSPAN_RECORD_(ws, name, WARPSPAN_SITE_BEGIN, WARPSPAN_KIND_BEGIN)
#define WS_END(ws, name)   WARPSPAN_RECORD_(ws, name, WARPSPAN_SITE_END, WARPSPAN_KIND_END)
/* A point in time. */
#define WS_MARK(ws, name)  WARPSPAN_RECORD_(ws, name, WARPSPAN_SITE_MARK, WARPSPAN_KIND_MARK)
/* A point in time with a number: unsigned int, int or float (cast others). */
#define WS_VALUE(ws, name, v)                                                 \
	do {                                                                  \
		WARPSPAN_SITE(warpspan_site_here, WARPSPAN_SITE_VALUE, name); \
		(ws).value(WARPSPAN_TAG(warpspan_site_here, 0), v);           \
	} while (0)

#endif /* WARPSPAN_DISABLE */

#endif
