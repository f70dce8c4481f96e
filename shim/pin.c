/* SPDX-License-Identifier: Apache-2.0
 *
 * pin.c - makes objects stay. See pin.h.
 *
 * Only dlopen() can do that, and it forgets the text that dlerror() has for the calling thread. So it is called on a
 * thread that lives for nothing else. It needs the loader's lock, which the calling thread holds if it runs a
 * constructor: the wait for it ends after a while, and then the object stays from the end of that constructor on.
 */
#include "pin.h"

#include "guard.h"
#include "loader.h"
#include "uncancelled.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PATIENCE_NS 100000000L

/* Owned by the caller and the thread, whoever is done last. */
struct request {
	sem_t done;
	_Atomic unsigned owners;
	char name[];
};

static void release(struct request *request)
{
	/* Both orders: the last one frees what the other has used. */
	if (atomic_fetch_sub_explicit(&request->owners, 1, memory_order_acq_rel) != 1)
		return;
	(void)sem_destroy(&request->done);
	free(request);
}

static void *run(void *argument)
{
	struct request *request = (struct request *)argument;

	warpspan_thread.depth = 1;
	(void)warpspan_loader_keep(request->name);
	(void)sem_post(&request->done);
	release(request);
	return NULL;
}

static bool start(struct request *request)
{
	sigset_t all, before;
	pthread_attr_t attributes;
	pthread_t thread;
	bool started;

	if (pthread_attr_init(&attributes) != 0)
		return false;
	(void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	started = pthread_create(&thread, &attributes, run, request) == 0;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)pthread_attr_destroy(&attributes);
	return started;
}

static void wait_for(struct request *request)
{
	struct timespec end;

	(void)clock_gettime(CLOCK_REALTIME, &end);
	end.tv_nsec += PATIENCE_NS;
	if (end.tv_nsec >= 1000000000L) {
		end.tv_nsec -= 1000000000L;
		end.tv_sec++;
	}
	while (sem_timedwait(&request->done, &end) != 0 && errno == EINTR)
		;
}

static void pin(const char *name)
{
	struct request *request = malloc(sizeof(*request) + strlen(name) + 1);

	if (request == NULL)
		return;
	strcpy(request->name, name);
	atomic_init(&request->owners, 2);
	(void)sem_init(&request->done, 0, 0);
	if (start(request))
		wait_for(request);
	else
		release(request); /* the thread's share */
	release(request);
}

void warpspan_pin(const void *address)
{
	const int saved_errno = errno;
	const char *name;
	WARPSPAN_UNCANCELLED;

	if (!warpspan_loader_stays(address, &name))
		pin(name);
	errno = saved_errno;
}
