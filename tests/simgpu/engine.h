/* SPDX-License-Identifier: Apache-2.0
 *
 * engine.h - the boundary between simgpu's API surfaces and its hardware.
 *
 * Above it (driver.c, runtime.c, stream.c, fatbin.c): handles, contexts, streams, events, error codes; no PTX.
 * Below it (ptx_*.c, exec*.c, memory.c, sm.c): PTX, warps, SMs, clocks, device memory; no CUDA type.
 *
 * Time. The engine knows one true time per device, in nanoseconds since the device was created. A launch is given
 * the time its first block may start and answers with the time its last warp ended; nothing else advances time.
 * %clock64 of an SM and %globaltimer are pure functions of true time (see struct sim_config), and an instruction's
 * cost is a fixed number of cycles of its SM, so a launch with the same inputs always yields the same timestamps,
 * whatever else runs on the machine. Launches that overlap in time do not contend for SMs: simgpu models what
 * a program can observe, not how fast a GPU is.
 *
 * Threads. Everything here may be called from any thread. sim_launch() runs the grid on the calling thread, joined by
 * others of its own when the kernel allows it (SIMGPU_THREADS), and returns when it ended, so concurrent launches are
 * concurrent threads; PTX atomics are atomic between them.
 */
#ifndef SIMGPU_ENGINE_H
#define SIMGPU_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_device;
struct sim_module;
struct sim_function;
struct sim_profile;

/* What a device is. Filled by sim_config_from_env(); every field has an environment variable, listed in README.md. */
struct sim_config {
	uint32_t n_sms;              /* SIMGPU_SMS, 1..1024 */
	uint32_t cc_major, cc_minor; /* compute capability, decides which PTX is acceptable: SIMGPU_CC, "9.0" */
	uint32_t clock_mhz;          /* nominal SM clock: SIMGPU_CLOCK_MHZ */
	uint32_t clock_spread_ppm;   /* each SM's rate differs from nominal by a seeded amount within +-this:
					SIMGPU_CLOCK_SPREAD_PPM, 0 */
	uint32_t timer_tick_ns;      /* %globaltimer advances in steps of this: SIMGPU_TIMER_TICK_NS */
	uint64_t timer_base_ns;      /* %globaltimer at true time 0: SIMGPU_TIMER_BASE_NS */
	uint64_t seed;               /* SIMGPU_SEED: per-SM %clock64 offsets (0..2^40 cycles) and rates */
	uint64_t memory_bytes;       /* device memory: SIMGPU_MEMORY, e.g. "4G" */
	uint64_t malloc_heap_bytes;  /* what malloc() on the device may give out: SIMGPU_MALLOC_HEAP */
	uint32_t max_blocks_per_sm;  /* resident blocks */
	uint32_t max_warps_per_sm;
	uint32_t shared_bytes_per_sm;
	uint32_t shared_bytes_per_block;       /* without opt-in: 48 KiB */
	uint32_t shared_bytes_per_block_optin; /* with it */
	uint32_t n_threads;                    /* that run grids: SIMGPU_THREADS, 0 = as many as cores */
	const struct sim_profile *profile;     /* the device it passes for, SIMGPU_DEVICE; NULL = none in particular */
};

/* A device that exists. The engine takes its config from there; the rest is only told. */
struct sim_profile {
	const char *setting, *name;
	uint32_t l2_bytes, memory_clock_khz, memory_bus_bits;
	struct sim_config config; /* 0 where nothing is said */
};

enum sim_status {
	SIM_OK = 0,
	SIM_NO_MEMORY, /* device or host memory exhausted */
	SIM_INVALID_VALUE,
	SIM_INVALID_PTX,     /* malformed PTX; the log says where */
	SIM_UNSUPPORTED_PTX, /* well-formed, not implemented; the log names the instruction, line and kernel */
	SIM_ILLEGAL_ADDRESS,
	SIM_MISALIGNED_ADDRESS,
	SIM_ILLEGAL_INSTRUCTION,
	SIM_TRAP,
	SIM_ASSERT, /* a failed device-side assertion */
	SIM_LAUNCH_OUT_OF_RESOURCES,
	SIM_STOPPED, /* sim_device_stop() ended a running grid */
};

/* Reads every SIMGPU_* setting. A bad value is reported once on stderr and the default used. */
void sim_config_from_env(struct sim_config *ret_config);

enum sim_status sim_device_create(const struct sim_config *config, struct sim_device **ret_device);
/* Waits for nothing: the caller has ended its launches. NULL is fine. */
void sim_device_destroy(struct sim_device *device);
const struct sim_config *sim_device_config(const struct sim_device *device);
/* What malloc() on the device may give out from now on; no launch runs meanwhile. */
void sim_device_set_malloc_heap(struct sim_device *device, uint64_t bytes);
/* Makes every running and future sim_launch() on the device return SIM_STOPPED soon (process exit, context reset). */
void sim_device_stop(struct sim_device *device);

/* --- memory -------------------------------------------------------------------------------------------------
 * A device address is a number the program may also do arithmetic on; it lies in a window that never overlaps host
 * memory, allocations are separated by guard gaps, and an access outside a live allocation fails the launch or copy.
 * Host memory made visible with sim_host_register() has the same address on host and device. */

/* Zero bytes is SIM_INVALID_VALUE. `align` is a power of two; contents are unspecified (filled with a pattern). */
enum sim_status sim_mem_alloc(struct sim_device *device, size_t bytes, size_t align, uint64_t *ret_address);
/* SIM_INVALID_VALUE unless `address` is the start of a live allocation. */
enum sim_status sim_mem_free(struct sim_device *device, uint64_t address);
void sim_mem_usage(const struct sim_device *device, uint64_t *ret_free_bytes, uint64_t *ret_total_bytes);
/* The live allocation (or registered host range) that holds `address`; false when there is none. */
bool sim_mem_range(const struct sim_device *device, uint64_t address, uint64_t *ret_start, uint64_t *ret_bytes);
enum sim_status sim_host_register(struct sim_device *device, void *host, size_t bytes);
enum sim_status sim_host_unregister(struct sim_device *device, void *host);
/* Kernels of `device` reach the memory of `peer`, which must outlive it; as often as enabled, it has to be disabled. */
enum sim_status sim_peer_enable(struct sim_device *device, struct sim_device *peer);
void sim_peer_disable(struct sim_device *device, struct sim_device *peer);
/* Copies check that the whole device range lies in one live allocation. Safe beside running launches: 8-byte aligned
 * words are copied whole, so a counter that a kernel updates is never read torn. */
enum sim_status sim_mem_write(struct sim_device *device, uint64_t to_address, const void *from, size_t bytes);
enum sim_status sim_mem_read(struct sim_device *device, void *to, uint64_t from_address, size_t bytes);
enum sim_status sim_mem_copy(struct sim_device *device, uint64_t to_address, uint64_t from_address, size_t bytes);
/* `unit_bytes` is 1, 2 or 4; the low bits of `value` are repeated `count` times. */
enum sim_status sim_mem_set(struct sim_device *device, uint64_t address, uint32_t value, uint32_t unit_bytes,
			    size_t count);

/* --- modules ---------------------------------------------------------------------------------- */

/* Compiles PTX text (`bytes` long, a trailing NUL is allowed) and gives its globals addresses and initial values.
 * On failure `log` (may be NULL) receives one line per error: "line 12: kernel k: instruction 'foo.bar' is not
 * supported". */
enum sim_status sim_module_load(struct sim_device *device, const char *ptx, size_t bytes, char *log, size_t log_bytes,
				struct sim_module **ret_module);
/* Frees the module's globals. The caller has ended its launches. NULL is fine. */
void sim_module_unload(struct sim_module *module);
/* NULL when the module has no such entry / global. Names are the PTX names. */
struct sim_function *sim_module_function(struct sim_module *module, const char *name);
size_t sim_module_n_functions(const struct sim_module *module);
struct sim_function *sim_module_function_at(struct sim_module *module, size_t index);
bool sim_module_global(struct sim_module *module, const char *name, uint64_t *ret_address, uint64_t *ret_bytes);

struct sim_function_info {
	const char *name; /* owned by the module */
	uint32_t n_params;
	uint32_t params_bytes; /* size of the whole parameter block */
	uint32_t static_shared_bytes;
	uint32_t local_bytes; /* per thread */
	uint32_t const_bytes;
	uint32_t n_registers;           /* a plausible number, 16..255 */
	uint32_t max_threads_per_block; /* .maxntid or 1024 */
	uint32_t required_cluster[3];   /* .reqnctapercluster or 0 */
	uint32_t ptx_version;           /* 90 = 9.0 */
	uint32_t target_sm;             /* 80, 90, 100 */
};
void sim_function_info(const struct sim_function *function, struct sim_function_info *ret_info);
/* Offset and size of parameter `index` in the block; false past the end. */
bool sim_function_param(const struct sim_function *function, uint32_t index, uint32_t *ret_offset, uint32_t *ret_bytes);
/* How many blocks of this shape fit on one SM at once; 0 when none does. */
uint32_t sim_function_occupancy(const struct sim_function *function, uint32_t threads, uint32_t dynamic_shared_bytes);

/* --- launches --------------------------------------------------------------------------------- */

struct sim_launch {
	const struct sim_function *function;
	uint32_t grid[3], block[3];
	uint32_t cluster[3]; /* all 1 (or 0) = no cluster */
	uint32_t dynamic_shared_bytes;
	bool is_cooperative; /* gives the grid the workspace that a barrier across it needs; the caller has checked that
				all blocks can be resident at once */
	/* 0 = no limit: else a grid that needs more steps, of at most 64 instructions of a warp, or that hangs, ends
	 * with SIM_STOPPED. For tests with programs nobody has read. */
	uint64_t max_steps;
	const void *params;           /* the parameter block, params_bytes long */
	uint64_t grid_id;             /* %gridid */
	uint64_t start_ns;            /* true time at which the first block may start */
	uint64_t dependencies_end_ns; /* of a grid that starts before its predecessors end: when they do, which
					 griddepcontrol.wait waits for; else 0 */
};

struct sim_result {
	enum sim_status status;
	uint64_t end_ns;              /* true time at which the last warp ended */
	uint64_t n_warp_instructions; /* executed by its warps, whatever the number of lanes */
	uint64_t trigger_ns;          /* true time from which a dependent grid may start, at most end_ns */
	char message[256]; /* for a fault: what, where (kernel, PTX line, block, thread, address); else empty */
};

/* Runs the grid to its end (see Threads above). Shape and resources are checked first. */
void sim_launch(struct sim_device *device, const struct sim_launch *launch, struct sim_result *ret_result);

#endif
