/* SPDX-License-Identifier: Apache-2.0
 *
 * folder.h - a folder of its own for each end-to-end test, and how these tests look for text. One test runs at a time.
 */
#ifndef TESTS_FOLDER_H
#define TESTS_FOLDER_H

extern char folder[64]; /* of the running test */

/* Setup and teardown of a cmocka test: the folder is new, and gone afterwards with all that is in it. */
int make_folder(void **state);
int remove_folder(void **state);
/* The path of `name` in it; the last four results hold. */
const char *in_folder(const char *name);
/* Fails the test, printing both, unless `wanted` is part of `text`. */
void assert_holds(const char *text, const char *wanted);

#endif
