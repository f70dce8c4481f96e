/* SPDX-License-Identifier: Apache-2.0
 *
 * attach.h - first sight of a function: what is it, and does its module record?
 */
#ifndef WARPSPAN_ATTACH_H
#define WARPSPAN_ATTACH_H

#include "registry.h"

/* Finds out what `function`, about to be launched in the calling thread's current context on `stream`, is; attaches
 * its module when WARPSPAN_KERNEL selects it; and remembers it. NULL: not known; the reason was counted.
 * `current` is the current context, not NULL. `stream` is as the real cuStreamIsCapturing() of the launch's kind wants
 * it. Slow: asks the driver, may allocate and copy. */
struct warpspan_kernel *warpspan_attach(CUfunction function, CUcontext current, CUstream stream);
/* The same for a function that is not launched now but will run from a graph. */
struct warpspan_kernel *warpspan_attach_for_later(CUfunction function, CUcontext current);

/* A session begins: attaches a module that was seen before, if one of its kernels is named. By the collector, with the
 * module's context current. */
void warpspan_attach_known(struct warpspan_module *module);

#endif
