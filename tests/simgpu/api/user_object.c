/* SPDX-License-Identifier: Apache-2.0
 *
 * user_object.c - counted objects of the program that graphs keep alive.
 *
 * The last reference's end calls the program's function, on the thread that gave the reference up; as documented, that
 * function may not call the driver. graph_lock guards the counts.
 */
#include "user_object.h"

#include "graph.h"

#include <stdlib.h>

struct user_object {
	unsigned int refs;
	void *pointer;
	CUhostFn destroy;
};

struct user_object_ref {
	struct user_object *object;
	unsigned int count;
	struct user_object_ref *next;
};

static CUresult object_check(CUuserObject handle, struct user_object **ret_object)
{
	if (!handle_is(HANDLE_USER_OBJECT, handle))
		return CUDA_ERROR_INVALID_VALUE;
	*ret_object = (struct user_object *)handle;
	return CUDA_SUCCESS;
}

/* graph_lock is held. */
static CUresult object_release(struct user_object *object, unsigned int count)
{
	struct host_thread *thread = host_thread();
	bool was_in_callback = thread->is_in_callback;

	if (count > object->refs)
		return CUDA_ERROR_INVALID_VALUE;
	object->refs -= count;
	if (object->refs)
		return CUDA_SUCCESS;
	handle_remove(object);
	thread->is_in_callback = true;
	object->destroy(object->pointer);
	thread->is_in_callback = was_in_callback;
	free(object);
	return CUDA_SUCCESS;
}

static CUresult refs_add(struct user_object_ref **refs, struct user_object *object, unsigned int count)
{
	struct user_object_ref *ref;

	for (ref = *refs; ref && ref->object != object; ref = ref->next)
		;
	if (!ref) {
		ref = calloc(1, sizeof(*ref));
		if (!ref)
			return CUDA_ERROR_OUT_OF_MEMORY;
		ref->object = object;
		ref->next = *refs;
		*refs = ref;
	}
	ref->count += count;
	return CUDA_SUCCESS;
}

CUresult user_objects_share(const struct user_object_ref *refs, struct user_object_ref **ret_refs)
{
	for (; refs; refs = refs->next) {
		CUresult result = refs_add(ret_refs, refs->object, refs->count);

		if (result != CUDA_SUCCESS)
			return result;
		refs->object->refs += refs->count;
	}
	return CUDA_SUCCESS;
}

void user_objects_drop(struct user_object_ref *refs)
{
	while (refs) {
		struct user_object_ref *ref = refs;

		refs = ref->next;
		object_release(ref->object, ref->count);
		free(ref);
	}
}

CUresult impl_cuUserObjectCreate(CUuserObject *object_out, void *ptr, CUhostFn destroy, unsigned int initialRefcount,
				 unsigned int flags)
{
	struct user_object *object;

	if (!object_out || !destroy || initialRefcount == 0 || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
		return CUDA_ERROR_INVALID_VALUE;
	object = calloc(1, sizeof(*object));
	if (!object)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*object = (struct user_object){ .refs = initialRefcount, .pointer = ptr, .destroy = destroy };
	if (handle_add(HANDLE_USER_OBJECT, object) != CUDA_SUCCESS) {
		free(object);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*object_out = (CUuserObject)object;
	return CUDA_SUCCESS;
}

CUresult impl_cuUserObjectRetain(CUuserObject object, unsigned int count)
{
	struct user_object *known;
	CUresult result = object_check(object, &known);

	if (result != CUDA_SUCCESS || count == 0)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&graph_lock);
	known->refs += count;
	pthread_mutex_unlock(&graph_lock);
	return CUDA_SUCCESS;
}

CUresult impl_cuUserObjectRelease(CUuserObject object, unsigned int count)
{
	struct user_object *known;
	CUresult result = object_check(object, &known);

	if (result != CUDA_SUCCESS || count == 0)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&graph_lock);
	result = object_release(known, count);
	pthread_mutex_unlock(&graph_lock);
	return result;
}

/* With CU_GRAPH_USER_OBJECT_MOVE the caller's references become the graph's. */
CUresult impl_cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count, unsigned int flags)
{
	struct user_object *known;
	CUresult result = object_check(object, &known);

	if (!handle_is(HANDLE_GRAPH, graph) || result != CUDA_SUCCESS || count == 0 ||
	    flags & ~(unsigned int)CU_GRAPH_USER_OBJECT_MOVE)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&graph_lock);
	result = refs_add(&((struct graph *)graph)->user_objects, known, count);
	if (result == CUDA_SUCCESS && !(flags & CU_GRAPH_USER_OBJECT_MOVE))
		known->refs += count;
	pthread_mutex_unlock(&graph_lock);
	return result;
}

CUresult impl_cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count)
{
	struct user_object *known;
	CUresult result = object_check(object, &known);

	if (!handle_is(HANDLE_GRAPH, graph) || result != CUDA_SUCCESS || count == 0)
		return CUDA_ERROR_INVALID_VALUE;
	result = CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&graph_lock);
	for (struct user_object_ref **at = &((struct graph *)graph)->user_objects; *at; at = &(*at)->next) {
		struct user_object_ref *ref = *at;

		if (ref->object != known || ref->count < count)
			continue;
		ref->count -= count;
		if (ref->count == 0) {
			*at = ref->next;
			free(ref);
		}
		result = object_release(known, count);
		break;
	}
	pthread_mutex_unlock(&graph_lock);
	return result;
}
