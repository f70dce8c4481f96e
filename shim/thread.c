/* SPDX-License-Identifier: Apache-2.0
 *
 * thread.c - threads of ours. See thread.h.
 */
#include "thread.h"

#include "guard.h"

#include <signal.h>
#include <stdlib.h>

struct beginning {
	const char *name; /* static */
	void *(*run)(void *);
	void *argument;
};

static void *begin(void *argument)
{
	const struct beginning beginning = *(struct beginning *)argument;

	free(argument);
	warpspan_thread.depth = 1;
	(void)pthread_setname_np(pthread_self(), beginning.name);
	return beginning.run(beginning.argument);
}

bool warpspan_thread_start(const char *name, void *(*run)(void *), void *argument, pthread_t *ret_thread)
{
	struct beginning *beginning = malloc(sizeof(*beginning));
	sigset_t all, before;
	pthread_t thread;
	bool started;

	if (beginning == NULL)
		return false;
	*beginning = (struct beginning){ .name = name, .run = run, .argument = argument };
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	started = pthread_create(&thread, NULL, begin, beginning) == 0;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!started)
		free(beginning);
	else if (ret_thread != NULL)
		*ret_thread = thread;
	else
		(void)pthread_detach(thread);
	return started;
}
