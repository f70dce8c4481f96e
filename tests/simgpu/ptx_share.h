/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx_share.h - can the blocks of a kernel see each other?
 */
#ifndef SIMGPU_PTX_SHARE_H
#define SIMGPU_PTX_SHARE_H

#include "engine.h"
#include "ptx_ir.h"

/* Looks at an entry and what it calls, once, when its module is linked. False when memory ran out. */
bool ptx_share_analyse(struct ptx_function *entry);
void ptx_share_destroy(struct ptx_sharing *sharing);
/* Why blocks of the entry may see each other however it is launched, and the PTX line, 0 = none; NULL when they need
 * not. */
const char *ptx_share_reason(const struct ptx_function *entry, uint32_t *ret_line);
/* Whether, launched with these parameters, no block can read what another one writes. */
bool ptx_blocks_independent(const struct ptx_function *entry, const struct sim_device *device, const uint8_t *params);

#endif
