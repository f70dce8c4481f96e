/* SPDX-License-Identifier: Apache-2.0
 *
 * race_lookups.c - in place of loader.c: the sanitizer stands in front of dlsym() itself.
 */
#include "race_lookups.h"

#include "loader.h"

#include <dlfcn.h>
#include <stddef.h>

static void *driver;

bool race_open_driver(void)
{
	driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
	return driver != NULL;
}

void *warpspan_loader_find_in_driver(const char *name)
{
	return dlsym(driver, name);
}

const char *warpspan_loader_exported_as(const void *address, const char *name)
{
	return dlsym(driver, name) == address ? name : NULL;
}

void *warpspan_loader_find_driver(const char *name)
{
	return dlsym(driver, name);
}

bool warpspan_loader_stays(const void *address, const char **ret_name)
{
	return true;
}

bool warpspan_loader_keep(const char *name)
{
	return true;
}

bool warpspan_loader_has_driver(void)
{
	return true;
}

bool warpspan_loader_in_front(void)
{
	return true;
}

const char *warpspan_loader_other_hooker(void)
{
	return NULL;
}
