/* SPDX-License-Identifier: Apache-2.0
 *
 * support.h - what every test includes: cmocka with the headers it wants first, in its order.
 */
#ifndef TESTS_SUPPORT_H
#define TESTS_SUPPORT_H

#undef NDEBUG

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#endif
