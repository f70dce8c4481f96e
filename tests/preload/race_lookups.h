/* SPDX-License-Identifier: Apache-2.0
 *
 * race_lookups.h - for programs built of the library's own sources under the thread sanitizer.
 */
#ifndef TESTS_RACE_LOOKUPS_H
#define TESTS_RACE_LOOKUPS_H

#include <stdbool.h>

/* Opens the driver that the lookups are made in; false: there is none. Once, before anything else. */
bool race_open_driver(void);

#endif
