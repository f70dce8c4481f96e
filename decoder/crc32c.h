/* SPDX-License-Identifier: Apache-2.0
 *
 * crc32c.h - the checksum of captures: CRC-32C (Castagnoli), as iSCSI and ext4 use it.
 */
#ifndef WARPSPAN_CRC32C_H
#define WARPSPAN_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of `bytes` more bytes after those that gave `crc` (0 at the start). Callable from any thread. */
uint32_t crc32c(uint32_t crc, const void *data, size_t bytes);

#endif
