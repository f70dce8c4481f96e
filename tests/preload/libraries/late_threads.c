/* SPDX-License-Identifier: Apache-2.0
 *
 * late_threads.c - preloaded before the library: its threads begin a while after they were created, as on a machine
 * that has other things to do.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LATE_NS 100000000l

typedef int create_function(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

struct beginning {
	void *(*run)(void *);
	void *argument;
};

static void *begin_late(void *argument)
{
	const struct beginning beginning = *(struct beginning *)argument;

	free(argument);
	(void)nanosleep(&(struct timespec){ .tv_nsec = LATE_NS }, NULL);
	return beginning.run(beginning.argument);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
	create_function *real = (create_function *)dlsym(RTLD_NEXT, "pthread_create");
	struct beginning *beginning;
	Dl_info caller;

	if (dladdr(__builtin_return_address(0), &caller) == 0 || strstr(caller.dli_fname, "libwarpspan") == NULL)
		return real(thread, attributes, run, argument);
	beginning = malloc(sizeof(*beginning));
	if (beginning == NULL)
		return 11;
	*beginning = (struct beginning){ .run = run, .argument = argument };
	return real(thread, attributes, begin_late, beginning);
}
