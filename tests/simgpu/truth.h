/* SPDX-License-Identifier: Apache-2.0
 *
 * truth.h - SIMGPU_TRUTH: when each read of a clock really happened.
 *
 * A program under test sees clocks as a device shows them: cycles of its own SM, a timer in coarse steps. The simulator
 * knows better, and this file is what it knows: a header, then a record for each %clock, %clock64 and %globaltimer that
 * a warp read and for its start and end, 56 bytes in the byte order of the machine. The records of a warp are in its
 * order. A launch's reads are written when it ends, or earlier when there are very many; a process writes one file.
 */
#ifndef SIMGPU_TRUTH_H
#define SIMGPU_TRUTH_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#define SIM_TRUTH_MAGIC   "simtruth"
#define SIM_TRUTH_VERSION 1

struct sim_truth_header {
	char magic[8];
	uint32_t version;
	uint32_t read_bytes; /* sizeof(struct sim_truth_read) */
};

enum sim_truth_register {
	SIM_TRUTH_CLOCK,
	SIM_TRUTH_CLOCK_HI,
	SIM_TRUTH_CLOCK64,
	SIM_TRUTH_GLOBALTIMER,
	SIM_TRUTH_GLOBALTIMER_LO,
	SIM_TRUTH_GLOBALTIMER_HI,
	SIM_TRUTH_WARP_START, /* not a read: the warp issues its first instruction; `value` is that of %clock64 */
	SIM_TRUTH_WARP_END,   /* its last one is done */
};

struct sim_truth_read {
	uint64_t grid_id; /* %gridid */
	uint64_t block;   /* x + grid.x * (y + grid.y * z) */
	uint64_t value;   /* what the program saw */
	uint64_t time_ns; /* the true time, on the scale of %globaltimer, rounded down */
	uint32_t time_ps; /* and the rest of it: 0 to 999 */
	uint32_t launch;  /* 1, 2, ... in the order in which the process's launches began to run */
	uint32_t lanes;   /* that read, a bit each */
	uint32_t device;  /* 0, 1, ... in the order in which the devices were made */
	uint16_t sm;
	uint16_t warp; /* in its block */
	uint16_t reg;  /* enum sim_truth_register */
	uint16_t reserved;
};

static_assert(sizeof(struct sim_truth_header) == 16, "a header is 16 bytes");
static_assert(sizeof(struct sim_truth_read) == 56, "a read is 56 bytes");

/* Reads that have not been written yet; belongs to one thread. */
struct sim_truth {
	struct sim_truth_read *reads;
	uint32_t n, capacity;
};

/* Whether SIMGPU_TRUTH asks for the file. The first call opens it; when that fails it says so and answers false. */
bool sim_truth_wanted(void);
/* Appends a read; writes what there is when it is a great deal. */
void sim_truth_add(struct sim_truth *truth, const struct sim_truth_read *read);
/* Writes what there is and frees the buffer. */
void sim_truth_finish(struct sim_truth *truth);

#endif
