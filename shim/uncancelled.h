/* SPDX-License-Identifier: Apache-2.0
 *
 * uncancelled.h - threads of the program that are cancelled (pthread_cancel) do not end inside the library.
 *
 * A cancelled thread ends at its next call of a function that may wait, and without us a launch makes none: it would
 * end at another place, and leave a turn taken or a lock held. To be declared where a thread of the program waits or
 * writes; not on the path of every launch, where it would cost as much as the rest.
 */
#ifndef WARPSPAN_UNCANCELLED_H
#define WARPSPAN_UNCANCELLED_H

#include <pthread.h>

static inline int warpspan_cancel_hold(void)
{
	int before = PTHREAD_CANCEL_ENABLE;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

static inline void warpspan_cancel_release(const int *before)
{
	(void)pthread_setcancelstate(*before, NULL);
}

/* From here to the end of the block. */
#define WARPSPAN_UNCANCELLED \
	__attribute__((cleanup(warpspan_cancel_release), unused)) const int cancel_state_before = warpspan_cancel_hold()

#endif
