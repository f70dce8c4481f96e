/* SPDX-License-Identifier: Apache-2.0
 *
 * lz4.h - decoder for one LZ4 block (no frame), as fat binaries hold it.
 */
#ifndef SIMGPU_LZ4_H
#define SIMGPU_LZ4_H

#include <stdbool.h>
#include <stddef.h>

/* True when the block is well formed and gives exactly `to_bytes`. Neither reads nor writes outside the two ranges.
 * Callable from any thread; allocates nothing. */
bool lz4_decode(const void *from, size_t from_bytes, void *to, size_t to_bytes);

#endif
