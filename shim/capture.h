/* SPDX-License-Identifier: Apache-2.0
 *
 * capture.h - whether streams are being captured into graphs. Any thread.
 *
 * While a stream is being captured, nothing but the question and the program's own calls may reach the driver on behalf
 * of it; and a captured launch does not run now.
 */
#ifndef WARPSPAN_CAPTURE_H
#define WARPSPAN_CAPTURE_H

#include "cuda_names.h"

#include <stdbool.h>

/* The stream by a name that means the same whichever default stream 0 stands for. `per_thread`: 0 is the thread's. */
CUstream warpspan_capture_stream(CUstream stream, bool per_thread);

/* Asks the driver. Anything but a clear no counts as yes. `stream` as warpspan_capture_stream() gives it. */
bool warpspan_capture_holds(CUstream stream);

/* The same, without a question as long as no capture is under way in the process. */
bool warpspan_capture_may_hold(CUstream stream);

/* Whether any stream is being captured, by any thread. */
bool warpspan_capture_any(void);

/* The program began a capture; ended one. */
void warpspan_capture_begun(void);
void warpspan_capture_ended(void);

#endif
