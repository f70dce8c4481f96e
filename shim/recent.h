/* SPDX-License-Identifier: Apache-2.0
 *
 * recent.h - the latest launches made without a session. Collector only.
 *
 * A session may begin while kernels that were launched before still run, or have not begun: they record, too. With
 * their launches in its capture, which are told apart by their time, every grid has its launch. Those that the program
 * has waited for are left out.
 */
#ifndef WARPSPAN_RECENT_H
#define WARPSPAN_RECENT_H

#include <stdint.h>

/* Takes what the host has logged up to `until_ns` without writing it. */
void warpspan_recent_take(uint64_t until_ns);
/* Writes those of kernels that record to the session's capture, and forgets them all. */
void warpspan_recent_write(void);

#endif
