/* SPDX-License-Identifier: Apache-2.0
 *
 * poor.c - preloaded before the library: the POOR_AT-th time that the library asks for memory or for a thread, from
 * any thread, it gets none; "POOR_AT=5+": nor ever after.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);

static atomic_int n_asked;
static int at;
static bool from_there_on;
static char *first_byte, *last_byte; /* of the library's code */

static int look(struct dl_phdr_info *object, size_t bytes, void *unused)
{
	(void)bytes;
	(void)unused;
	if (strstr(object->dlpi_name, "libwarpspan.so") == NULL)
		return 0;
	for (unsigned i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_LOAD && (object->dlpi_phdr[i].p_flags & PF_X) != 0) {
			first_byte = (char *)object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
			last_byte = first_byte + object->dlpi_phdr[i].p_memsz;
		}
	return 1;
}

__attribute__((constructor)) static void begin(void)
{
	const char *text = getenv("POOR_AT");

	at = text != NULL ? atoi(text) : 0;
	from_there_on = text != NULL && strchr(text, '+') != NULL;
	(void)dl_iterate_phdr(look, NULL);
}

static bool is_refused(const void *caller)
{
	const int n = (const char *)caller >= first_byte && (const char *)caller < last_byte ? ++n_asked : 0;

	return at != 0 && n != 0 && (n == at || (from_there_on && n > at));
}

void *malloc(size_t bytes)
{
	if (is_refused(__builtin_return_address(0))) {
		errno = ENOMEM;
		return NULL;
	}
	return __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
	if (is_refused(__builtin_return_address(0))) {
		errno = ENOMEM;
		return NULL;
	}
	return __libc_calloc(n, bytes);
}

void *realloc(void *memory, size_t bytes)
{
	if (is_refused(__builtin_return_address(0))) {
		errno = ENOMEM;
		return NULL;
	}
	return __libc_realloc(memory, bytes);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
	static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	if (is_refused(__builtin_return_address(0)))
		return EAGAIN;
	if (real == NULL)
		real = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT,
												      "pthread_create");
	return real(thread, attributes, run, argument);
}
