/* SPDX-License-Identifier: Apache-2.0
 *
 * device.h - what a simulated device consists of, for the engine's files.
 */
#ifndef SIMGPU_DEVICE_H
#define SIMGPU_DEVICE_H

#include "clock.h"
#include "engine.h"
#include "memory.h"

struct sim_device {
	struct sim_config config;
	struct sim_memory memory;
	struct sim_sm_clock *clocks; /* config.n_sms */
	uint32_t number;             /* of the process's devices, from 0 */
	bool tells_truth;            /* SIMGPU_TRUTH */
	atomic_bool stopped;
};

#endif
