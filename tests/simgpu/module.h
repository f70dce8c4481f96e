/* SPDX-License-Identifier: Apache-2.0
 *
 * module.h - loaded modules, for the engine's files.
 */
#ifndef SIMGPU_MODULE_H
#define SIMGPU_MODULE_H

#include "engine.h"
#include "ptx_ir.h"

const struct ptx_function *sim_function_code(const struct sim_function *function);
/* Where dynamic shared memory starts in a block of the kernel. */
uint32_t sim_dynamic_shared_offset(const struct ptx_function *function);
/* sm.c: blocks of this shape that fit on one SM of the device. */
uint32_t sim_function_occupancy_of(const struct sim_device *device, const struct ptx_function *function,
				   uint32_t threads, uint32_t dynamic_shared_bytes);
/* The functions that the engine itself provides, by PTX name; NULL when there is none. */
ptx_exec_fn *sim_builtin(const char *name);

#endif
