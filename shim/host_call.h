/* SPDX-License-Identifier: Apache-2.0
 *
 * host_call.h - what happens around calls that are not launches of kernels but belong on the host's timeline. Any
 * thread; only while a session is active; no allocation, no lock, no waiting.
 */
#ifndef WARPSPAN_HOST_CALL_H
#define WARPSPAN_HOST_CALL_H

#include "cuda_names.h"
#include "hooks.h"
#include "host_log.h"
#include "warpspan_format.h"

/* Before the real call. 0: it is not recorded. `stream` as the program passed it, `amount` as in the format. */
warpspan_ticket warpspan_host_call_begin(enum warpspan_hook hook, enum warpspan_host_call_kind kind, CUstream stream,
					 uint64_t amount);
/* After it. Does nothing for 0. */
void warpspan_host_call_end(warpspan_ticket ticket, CUresult result);

#endif
