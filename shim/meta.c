/* SPDX-License-Identifier: Apache-2.0
 *
 * meta.c - the JSON objects of the capture. See meta.h, and warpspan_format.h for the rules.
 *
 * An object whose fields did not all fit into memory is not written half: the session ends with "out of memory".
 */
#include "meta.h"

#include "arena.h"
#include "contents.h"
#include "counters.h"
#include "driver.h"
#include "hooks.h"
#include "output.h"
#include "rank.h"
#include "registry.h"
#include "util.h"

#include <cJSON.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef WARPSPAN_RELEASE
#error "the build defines WARPSPAN_RELEASE"
#endif

/* Whose capture is written. */
static unsigned current_session;

/* An object being filled; `bad` once something did not fit into memory. */
struct object {
	cJSON *json;
	bool bad;
};

static struct object begin(void)
{
	struct object object = { .json = cJSON_CreateObject() };

	object.bad = object.json == NULL;
	return object;
}

static void put_text(struct object *object, const char *key, const char *text)
{
	object->bad = object->bad || cJSON_AddStringToObject(object->json, key, text) == NULL;
}

static void put_number(struct object *object, const char *key, double number)
{
	object->bad = object->bad || cJSON_AddNumberToObject(object->json, key, number) == NULL;
}

/* 64 bits: JSON's numbers hold 53. */
static void put_u64(struct object *object, const char *key, uint64_t number)
{
	char digits[24];

	(void)snprintf(digits, sizeof(digits), "%" PRIu64, number);
	put_text(object, key, digits);
}

static void put_item(struct object *object, const char *key, cJSON *item)
{
	if (!object->bad && item != NULL && cJSON_AddItemToObject(object->json, key, item))
		return;
	object->bad = true;
	cJSON_Delete(item);
}

static void end(struct object *object, const char *key)
{
	if (object->bad) {
		cJSON_Delete(object->json);
		object->json = NULL;
	}
	warpspan_output_meta(key, object->json);
}

/* --- session ---------------------------------------------------------------------------------- */

/* As much of a command line as is worth keeping. */
#define COMMAND_BYTES 8192

static cJSON *command_line(void)
{
	char bytes[COMMAND_BYTES];
	cJSON *words = cJSON_CreateArray();
	const int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = 0;

	if (file >= 0) {
		n = read(file, bytes, sizeof(bytes) - 1);
		(void)close(file);
	}
	for (ssize_t at = 0; words != NULL && at < n; at += (ssize_t)strlen(bytes + at) + 1) {
		cJSON *word;

		bytes[n] = '\0';
		word = cJSON_CreateString(bytes + at);
		if (word == NULL || !cJSON_AddItemToArray(words, word)) {
			cJSON_Delete(word);
			cJSON_Delete(words);
			return NULL;
		}
	}
	return words;
}

/* What holds, wherever it comes from: environment, file, default. */
static cJSON *settings_object(const struct warpspan_settings *settings)
{
	struct object object = begin();
	char text[WARPSPAN_TEXT_BYTES];

	for (unsigned i = 0; i < WARPSPAN_N_SETTINGS; i++)
		if (warpspan_setting_text(settings, i, text, sizeof(text)))
			put_text(&object, warpspan_setting_infos[i].name, text);
	if (object.bad) {
		cJSON_Delete(object.json);
		return NULL;
	}
	return object.json;
}

/* "rank" is null without a launcher; what is not known besides is left out. */
static void put_rank(struct object *object)
{
	struct warpspan_rank rank;
	char digits[16];

	if (!warpspan_rank_find(&rank)) {
		put_item(object, "rank", cJSON_CreateNull());
		return;
	}
	(void)snprintf(digits, sizeof(digits), "%" PRIu32, rank.rank);
	put_text(object, "rank", digits);
	put_text(object, "launcher", rank.launcher);
	if (rank.world != 0)
		put_number(object, "world", rank.world);
	if (rank.local != WARPSPAN_RANK_UNKNOWN)
		put_number(object, "local_rank", rank.local);
}

static uint64_t arena_bytes_asked(const struct warpspan_settings *settings)
{
	return settings->buffer / WARPSPAN_N_ARENAS;
}

void warpspan_meta_session(const struct warpspan_settings *settings, unsigned session, int driver_version,
			   const struct warpspan_origin *by, uint64_t begin_ns)
{
	struct object object = begin();
	char host[HOST_NAME_MAX + 1] = "";

	(void)gethostname(host, sizeof(host) - 1);
	put_text(&object, "version", WARPSPAN_RELEASE);
	put_number(&object, "number", session);
	put_number(&object, "pid", getpid());
	put_text(&object, "host", host);
	put_rank(&object);
	put_item(&object, "command", command_line());
	put_text(&object, "started_by", by->who);
	put_number(&object, "started_in_thread", by->thread);
	put_u64(&object, "start_realtime_ns", warpspan_clock_ns(CLOCK_REALTIME) - (warpspan_now_ns() - begin_ns));
	put_u64(&object, "start_monotonic_ns", begin_ns);
	put_number(&object, "driver", driver_version);
	put_u64(&object, "arena_bytes", arena_bytes_asked(settings));
	put_number(&object, "words_asked", settings->events_per_warp);
	put_number(&object, "words_least", WARPSPAN_WORDS_LEAST);
	put_number(&object, "words_enough", WARPSPAN_WORDS_ENOUGH);
	put_number(&object, "words_most", WARPSPAN_WORDS_MOST);
	put_item(&object, "settings", settings_object(settings));
	end(&object, "session");
	warpspan_contents_begin();
}

/* --- what launches refer to ------------------------------------------------------------------- */

static int attribute(CUdevice device, CUdevice_attribute which)
{
	int value = 0;

	(void)warpspan_driver.cuDeviceGetAttribute(&value, which, device);
	return value;
}

static void announce_device(CUdevice device)
{
	struct object object = begin();
	char name[256] = "";
	char uuid_text[64];
	char compute[32];
	CUuuid uuid = { { 0 } };
	size_t memory = 0;
	const unsigned char *u = (const unsigned char *)uuid.bytes;

	(void)warpspan_driver.cuDeviceGetName(name, sizeof(name) - 1, device);
	(void)warpspan_driver.cuDeviceGetUuid_v2(&uuid, device);
	(void)warpspan_driver.cuDeviceTotalMem_v2(&memory, device);
	(void)snprintf(uuid_text, sizeof(uuid_text),
		       "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1], u[2],
		       u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
	(void)snprintf(compute, sizeof(compute), "%d.%d",
		       attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
		       attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
	put_number(&object, "ordinal", device);
	put_text(&object, "name", name);
	put_text(&object, "uuid", uuid_text);
	put_text(&object, "compute", compute);
	put_number(&object, "sms", attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
	put_number(&object, "clock_khz", attribute(device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE));
	put_u64(&object, "memory_bytes", memory);
	end(&object, "device");
}

static void announce_context(const struct warpspan_context *context)
{
	struct object object = begin();
	bool known = false;

	for (struct warpspan_context *other = NULL; (other = warpspan_registry_next_context(other)) != NULL;)
		known = known || (other->announced_in == current_session && other->device == context->device);
	if (!known)
		announce_device(context->device);
	put_number(&object, "number", context->number);
	put_number(&object, "device", context->device);
	put_u64(&object, "arena_bytes", context->arena_bytes);
	end(&object, "context");
}

static void announce_module(const struct warpspan_module *module)
{
	struct object object = begin();

	put_number(&object, "number", module->number);
	put_number(&object, "context", module->context->number);
	put_number(&object, "abi", module->abi);
	end(&object, "module");
}

static void announce_kernel(const struct warpspan_kernel *kernel)
{
	struct object object = begin();

	put_number(&object, "number", kernel->number);
	put_number(&object, "module", kernel->module->number);
	put_text(&object, "name", kernel->name);
	put_text(&object, "demangled", kernel->demangled);
	end(&object, "kernel");
}

/* It is gone and was not attached before: nothing refers to it. In this order, since it is attached first. */
static bool never_attached(const struct warpspan_module *module)
{
	return atomic_load_explicit(&module->gone, memory_order_acquire) &&
	       !atomic_load_explicit(&module->attached, memory_order_acquire);
}

/* --- graphs ----------------------------------------------------------------------------------- */

static int by_what_it_launches(const void *left, const void *right)
{
	const struct warpspan_content *a = left, *b = right;
	const uint32_t pairs[][2] = {
		{ a->module, b->module },         { a->kernel, b->kernel },         { a->grid[0], b->grid[0] },
		{ a->grid[1], b->grid[1] },       { a->grid[2], b->grid[2] },       { a->threads[0], b->threads[0] },
		{ a->threads[1], b->threads[1] }, { a->threads[2], b->threads[2] },
	};

	for (unsigned i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (pairs[i][0] != pairs[i][1])
			return pairs[i][0] > pairs[i][1] ? 1 : -1;
	return 0;
}

/* [module, kernel, grid x, y, z, threads x, y, z, how many]; NULL: no memory. */
static cJSON *row_of_kernels(const struct warpspan_content *content, size_t n)
{
	const double numbers[] = { content->module,     content->kernel,     content->grid[0],
				   content->grid[1],    content->grid[2],    content->threads[0],
				   content->threads[1], content->threads[2], (double)n };

	return cJSON_CreateDoubleArray(numbers, sizeof(numbers) / sizeof(numbers[0]));
}

static void put_kernels(struct object *object, struct warpspan_snapshot *snapshot)
{
	cJSON *rows = cJSON_CreateArray();
	size_t end;

	if (snapshot->n > 1)
		qsort(snapshot->items, snapshot->n, sizeof(snapshot->items[0]), by_what_it_launches);
	for (size_t i = 0; i < snapshot->n && rows != NULL; i = end) {
		cJSON *row;

		for (end = i + 1; end < snapshot->n; end++)
			if (by_what_it_launches(&snapshot->items[i], &snapshot->items[end]) != 0)
				break;
		row = row_of_kernels(&snapshot->items[i], end - i);
		if (row == NULL || !cJSON_AddItemToArray(rows, row)) {
			cJSON_Delete(row);
			cJSON_Delete(rows);
			rows = NULL;
		}
	}
	put_item(object, "kernels", rows);
}

/* What executable graphs hold, where that changed since the last call. */
static void announce_graphs(void)
{
	struct warpspan_snapshot *snapshot = warpspan_contents_take();

	while (snapshot != NULL) {
		struct warpspan_snapshot *next = snapshot->next;
		struct object object = begin();

		put_u64(&object, "exec", snapshot->exec);
		put_u64(&object, "since_ns", snapshot->since_ns);
		put_number(&object, "certain", !snapshot->uncertain);
		put_kernels(&object, snapshot);
		end(&object, "graph");
		free(snapshot);
		snapshot = next;
	}
}

/* --- what is new ------------------------------------------------------------------------------ */

/* What the current session's capture has so far. */
static struct {
	uint32_t changes_seen;
	bool any_seen;
	/* Up to these nothing is left to announce, now or later. */
	struct warpspan_module *last_settled_module;
	struct warpspan_kernel *last_settled_kernel;
	bool hooks[WARPSPAN_N_HOOKS + 1];
	uint64_t counters[WARPSPAN_N_COUNTERS];
} written;

void warpspan_meta_begin(unsigned session)
{
	memset(&written, 0, sizeof(written));
	current_session = session;
}

void warpspan_meta_announce(void)
{
	const uint32_t changes = warpspan_registry_changes();
	bool settled = true;

	announce_graphs();
	if (written.any_seen && changes == written.changes_seen)
		return;
	written.changes_seen = changes;
	written.any_seen = true;
	for (struct warpspan_context *context = NULL; (context = warpspan_registry_next_context(context)) != NULL;) {
		/* Also one that is gone already: its launches are in the log. */
		if (context->announced_in == current_session ||
		    atomic_load_explicit(&context->state, memory_order_acquire) == WARPSPAN_CONTEXT_NEW ||
		    context->arena_bytes == 0)
			continue;
		announce_context(context);
		context->announced_in = current_session;
	}
	for (struct warpspan_module *module = written.last_settled_module;
	     (module = warpspan_registry_next_module(module)) != NULL;) {
		const bool never = never_attached(module);

		if (module->announced_in != current_session &&
		    atomic_load_explicit(&module->attached, memory_order_acquire)) {
			announce_module(module);
			module->announced_in = current_session;
		}
		settled = settled && (module->announced_in == current_session || never);
		if (settled)
			written.last_settled_module = module;
	}
	settled = true;
	for (struct warpspan_kernel *kernel = written.last_settled_kernel;
	     (kernel = warpspan_registry_next_kernel(kernel)) != NULL;) {
		const bool selected = atomic_load_explicit(&kernel->selected, memory_order_relaxed);

		if (!warpspan_meta_has(kernel) && selected && kernel->module->announced_in == current_session) {
			announce_kernel(kernel);
			kernel->announced_in = current_session;
		}
		settled = settled && (warpspan_meta_has(kernel) || never_attached(kernel->module));
		if (settled)
			written.last_settled_kernel = kernel;
	}
}

bool warpspan_meta_has(const struct warpspan_kernel *kernel)
{
	return kernel->announced_in == current_session;
}

void warpspan_meta_mark(uint64_t time_ns, uint32_t thread, const char *text)
{
	struct object object = begin();

	put_u64(&object, "monotonic_ns", time_ns);
	put_number(&object, "thread", thread);
	put_text(&object, "text", text);
	end(&object, "mark");
}

void warpspan_meta_end(const struct warpspan_origin *by, uint64_t end_ns, bool quiet)
{
	struct object object = begin();

	put_u64(&object, "monotonic_ns", end_ns);
	put_text(&object, "stopped_by", by->who);
	put_number(&object, "stopped_in_thread", by->thread);
	put_item(&object, "quiet", cJSON_CreateBool(quiet));
	end(&object, "stop");
	warpspan_contents_end();
}

/* --- the rest --------------------------------------------------------------------------------- */

void warpspan_meta_hook(uint32_t number)
{
	struct object object;

	if (number == 0 || number > WARPSPAN_N_HOOKS || written.hooks[number])
		return;
	written.hooks[number] = true;
	object = begin();
	put_number(&object, "number", number);
	put_text(&object, "name", warpspan_hook_name((enum warpspan_hook)(number - 1)));
	end(&object, "hook");
}

void warpspan_meta_counters(void)
{
	uint64_t now[WARPSPAN_N_COUNTERS];
	struct object object;

	for (unsigned i = 0; i < WARPSPAN_N_COUNTERS; i++)
		now[i] = warpspan_counted((enum warpspan_counter)i);
	if (memcmp(now, written.counters, sizeof(now)) == 0)
		return;
	memcpy(written.counters, now, sizeof(now));
	object = begin();
	for (unsigned i = 0; i < WARPSPAN_N_COUNTERS; i++)
		put_number(&object, warpspan_counter_name((enum warpspan_counter)i), (double)now[i]);
	end(&object, "counters");
}
