/* SPDX-License-Identifier: Apache-2.0
 *
 * rig.h - a small device and kernels from PTX text, for the engine's tests.
 */
#ifndef SIMGPU_RIG_H
#define SIMGPU_RIG_H

#include "engine.h"

#include <stddef.h>

/* What every text starts with. */
#define PTX_HEAD ".version 8.8\n.target sm_90\n.address_size 64\n"

/* A device of 4 SMs at 1 GHz, so that a cycle is a nanosecond; seed 1, 64 MiB. */
void rig_config(struct sim_config *ret_config);
struct sim_device *rig_device(const struct sim_config *config); /* NULL: rig_config()'s */
/* Fails the test, printing the log, when the text does not load. */
struct sim_module *rig_load(struct sim_device *device, const char *ptx);
uint64_t rig_alloc(struct sim_device *device, size_t bytes);
/* Allocates and fills. */
uint64_t rig_put(struct sim_device *device, const void *from, size_t bytes);
void rig_get(struct sim_device *device, void *to, uint64_t address, size_t bytes);

/* Runs the first kernel with up to four 64-bit parameters. */
struct sim_result rig_try(struct sim_device *device, struct sim_module *module, uint32_t blocks, uint32_t threads,
			  const uint64_t params[4]);
/* The same, and fails the test when the launch does. */
struct sim_result rig_run(struct sim_device *device, struct sim_module *module, uint32_t blocks, uint32_t threads,
			  const uint64_t params[4]);
/* Loads `ptx`, runs its first kernel once and copies `bytes` of its only buffer, zero before, into `ret`. */
void rig_once(const char *ptx, uint32_t blocks, uint32_t threads, void *ret, size_t bytes);

#endif
