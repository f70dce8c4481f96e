/* SPDX-License-Identifier: Apache-2.0
 *
 * nvtx.h - WARPSPAN_START=nvtx:NAME: the library as the tool that NVTX loads (nvtx_abi.h).
 *
 * NVTX keeps what it looks up hidden in each program and library that was compiled with it: its environment variable
 * is the only way in, unless it was compiled with NVTX_SUPPORT_ALREADY_INJECTED_LIBRARY. That variable is the user's:
 * `warpspan run` sets it, the library does not. With any other WARPSPAN_START it refuses to be the tool, and the
 * program's ranges cost what they cost without one.
 */
#ifndef WARPSPAN_NVTX_H
#define WARPSPAN_NVTX_H

#include "settings.h"

#include <stdbool.h>

/* The library has woken: says if ranges are waited for, and NVTX was given to another tool. Once; any thread. */
void warpspan_nvtx_awake(const struct warpspan_settings *settings);

/* At the end of a program in which no session was started: says if ranges were waited for and none had the name, and
 * why that may be. False: it has said nothing. */
bool warpspan_nvtx_say_unmatched(const struct warpspan_settings *settings);

#endif
