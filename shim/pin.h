/* SPDX-License-Identifier: Apache-2.0
 *
 * pin.h - objects that must stay loaded because pointers into them are held.
 */
#ifndef WARPSPAN_PIN_H
#define WARPSPAN_PIN_H

/* The object that `address` lies in is not unloaded any more, whatever the program does with its handles. Cheap where
 * it stays anyway. Any thread; leaves the text of dlerror() alone. */
void warpspan_pin(const void *address);

#endif
