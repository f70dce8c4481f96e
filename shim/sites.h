/* SPDX-License-Identifier: Apache-2.0
 *
 * sites.h - which sites the records of a module name, and what those are. Collector only.
 */
#ifndef WARPSPAN_SITES_H
#define WARPSPAN_SITES_H

#include "registry.h"

/* A session begins: its capture has no sites yet. */
void warpspan_sites_begin(unsigned session);

/* A record of the module names this site (low word of its address). Without memory the site is left out: the reader
 * shows its address instead of its name. */
void warpspan_sites_note(struct warpspan_module *module, uint32_t site);

/* Reads the descriptors of sites noted since the last call from the device and appends them to the capture. The
 * module's context is current. `again`: they are to be written once more at the next call, to another file. */
void warpspan_sites_write(struct warpspan_module *module, CUstream stream, bool again);
/* The same for all modules of the context. */
void warpspan_sites_write_all(const struct warpspan_context *context, CUstream stream, bool again);

#endif
