/* SPDX-License-Identifier: Apache-2.0
 *
 * lifetime.h - what happens before and after the program ends a context, a module or a library.
 *
 * Before: their work is waited for, not for ever, and their records are drained while they can be. During: the
 * collector keeps out. After: if the real call succeeded they are forgotten, else all is as before.
 */
#ifndef WARPSPAN_LIFETIME_H
#define WARPSPAN_LIFETIME_H

#include "cuda_names.h"

#include <stdbool.h>

void warpspan_lifetime_before_context(CUcontext handle);
void warpspan_lifetime_after_context(CUcontext handle, bool ended);

/* The primary context of a device. `certain`: the call ends it whoever else uses it. */
void warpspan_lifetime_before_primary(CUdevice device, bool certain);
/* `ended`: the call succeeded. */
void warpspan_lifetime_after_primary(CUdevice device, bool certain, bool ended);

void warpspan_lifetime_before_module(CUmodule handle);
void warpspan_lifetime_after_module(CUmodule handle, bool ended);
void warpspan_lifetime_before_library(CUlibrary handle);
void warpspan_lifetime_after_library(CUlibrary handle, bool ended);

#endif
