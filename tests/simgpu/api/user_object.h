/* SPDX-License-Identifier: Apache-2.0
 *
 * user_object.h - counted objects of the program that graphs keep alive.
 */
#ifndef SIMGPU_USER_OBJECT_H
#define SIMGPU_USER_OBJECT_H

#include "driver.h"

struct user_object_ref;

/* A graph's references. graph_lock is held. */
CUresult user_objects_share(const struct user_object_ref *refs, struct user_object_ref **ret_refs);
void user_objects_drop(struct user_object_ref *refs);

#endif
