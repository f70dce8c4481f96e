/* SPDX-License-Identifier: Apache-2.0
 *
 * read_json.c - a strict reader of gzip-compressed Chrome traces. See events.h.
 *
 * Times are read as text, so that they are exact, and must have three decimals. Checks what viewers rely on: valid
 * JSON, ids within 1 to 2^32-1, slices of a thread that nest, names for every process and thread.
 */
#include "support.h"

#include "events.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define MOST_THREADS 4096u
#define MOST_DEPTH   80u

/* A slice's beginning, where arrows bind. */
struct place {
	uint64_t pid, tid, start;
	char *name;
};

struct binding {
	struct place *places;
	size_t n;
	struct arrows arrows;
};

struct thread {
	uint64_t pid, tid;
	int named, has_events;
	uint64_t ends[MOST_DEPTH];
	unsigned depth;
};

static char *gunzip(const char *path)
{
	size_t bytes = 0, capacity = 1 << 16;
	gzFile file = gzopen(path, "r");
	char *text = malloc(capacity + 1);
	int n;

	assert_true(file && text);
	while ((n = gzread(file, text + bytes, (unsigned)(capacity - bytes))) > 0) {
		bytes += (size_t)n;
		if (bytes == capacity) {
			capacity *= 2;
			text = realloc(text, capacity + 1);
			assert_non_null(text);
		}
	}
	assert_int_equal(n, 0);
	assert_int_equal(gzdirect(file), 0);
	assert_int_equal(gzclose(file), Z_OK);
	text[bytes] = '\0';
	return text;
}

/* cJSON keeps numbers as doubles. So that times stay exact, they become strings before it sees them. */
static char *quote_times(const char *text)
{
	static const char *const keys[] = { ",\"ts\":", ",\"dur\":" };
	char *quoted = malloc(2 * strlen(text) + 1), *to = quoted;

	assert_non_null(quoted);
	while (*text) {
		size_t n = 0;

		for (size_t i = 0; i < 2 && n == 0; i++)
			if (strncmp(text, keys[i], strlen(keys[i])) == 0)
				n = strlen(keys[i]);
		if (n == 0) {
			*to++ = *text++;
			continue;
		}
		const size_t digits = strspn(text + n, "0123456789.");
		to += sprintf(to, "%.*s\"%.*s\"", (int)n, text, (int)digits, text + n);
		text += n + digits;
	}
	*to = '\0';
	return quoted;
}

/* Microseconds with exactly three decimals. */
static uint64_t time_ns(const cJSON *event, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(event, key);
	uint64_t us;
	unsigned ns;
	int n = 0;

	assert_true(cJSON_IsString(item));
	assert_int_equal(sscanf(item->valuestring, "%" SCNu64 ".%3u%n", &us, &ns, &n), 2);
	assert_int_equal(n, strlen(item->valuestring));
	assert_int_equal(strlen(strchr(item->valuestring, '.')), 4);
	return us * 1000 + ns;
}

static uint64_t id(const cJSON *event, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(event, key);

	assert_true(cJSON_IsNumber(item));
	assert_true(item->valuedouble >= 1 && item->valuedouble < 4294967296.0);
	return (uint64_t)item->valuedouble;
}

static struct thread *find_thread(struct thread *threads, unsigned *n, uint64_t pid, uint64_t tid)
{
	for (unsigned i = 0; i < *n; i++)
		if (threads[i].pid == pid && threads[i].tid == tid)
			return &threads[i];
	assert_true(*n < MOST_THREADS);
	threads[*n] = (struct thread){ .pid = pid, .tid = tid };
	return &threads[(*n)++];
}

/* The same text as read_pftrace() makes. */
static void make_text(const cJSON *event, char *text, size_t bytes)
{
	static const char *const order[] = { "file",  "line", "grid",   "block", "sm",     "end",  "value",
					     "warps", "lost", "number", "bytes", "result", "grids" };
	const cJSON *arguments = cJSON_GetObjectItemCaseSensitive(event, "args");
	const cJSON *name = cJSON_GetObjectItemCaseSensitive(event, "name");

	char number[40];

	assert_true(cJSON_IsString(name) && cJSON_IsObject(arguments));
	int n = snprintf(text, bytes, "%s", name->valuestring);
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		const cJSON *item = cJSON_GetObjectItemCaseSensitive(arguments, order[i]);

		if (cJSON_IsString(item))
			n += snprintf(text + n, bytes - (size_t)n, "|%s", item->valuestring);
		else if (cJSON_IsNumber(item))
			n += snprintf(text + n, bytes - (size_t)n, "|%s", event_number(number, item->valuedouble));
		else
			n += snprintf(text + n, bytes - (size_t)n, "|");
	}
}

/* Slices come outermost first, so a stack of ends tells whether they nest. */
static void check_nesting(struct thread *thread, uint64_t start, uint64_t end)
{
	while (thread->depth > 0 && thread->ends[thread->depth - 1] < end)
		thread->depth--;
	/* what was popped must have ended before this one begins */
	for (unsigned i = thread->depth; i < MOST_DEPTH && thread->ends[i] != 0; i++)
		assert_true(thread->ends[i] <= start);
	assert_true(thread->depth < MOST_DEPTH - 1);
	thread->ends[thread->depth++] = end;
	memset(&thread->ends[thread->depth], 0, (MOST_DEPTH - thread->depth) * sizeof(thread->ends[0]));
}

/* The slice that begins then, the innermost of several; arrows follow the slices they bind to. */
static const char *slice_at(const struct binding *binding, const struct thread *thread, uint64_t start)
{
	for (size_t i = binding->n; i-- > 0;) {
		const struct place *place = &binding->places[i];

		if (place->pid == thread->pid && place->tid == thread->tid && place->start == start)
			return place->name;
	}
	fail_msg("an arrow binds to no slice");
	return NULL;
}

static void read_arrow(const cJSON *event, const char *phase, const struct thread *thread, uint64_t base,
		       struct binding *binding)
{
	const cJSON *bp = cJSON_GetObjectItemCaseSensitive(event, "bp");
	const uint64_t start = time_ns(event, "ts");

	assert_string_equal(cJSON_GetObjectItemCaseSensitive(event, "cat")->valuestring, "launch");
	assert_string_equal(cJSON_GetObjectItemCaseSensitive(event, "name")->valuestring, "launch");
	if (*phase == 'f')
		assert_string_equal(bp->valuestring, "e");
	arrows_add(&binding->arrows, id(event, "id"), base + start, slice_at(binding, thread, start), *phase == 'f');
}

static void read_event(const cJSON *event, struct thread *threads, unsigned *n_threads, uint64_t base,
		       struct events *events, struct binding *binding)
{
	const char *phase = cJSON_GetObjectItemCaseSensitive(event, "ph")->valuestring;
	const char *name = cJSON_GetObjectItemCaseSensitive(event, "name")->valuestring;
	struct thread *thread = find_thread(threads, n_threads, id(event, "pid"), id(event, "tid"));
	char text[2048];

	if (strcmp(phase, "M") == 0) {
		thread->named |= strcmp(name, "thread_name") == 0;
		return;
	}
	assert_true(thread->pid != thread->tid);
	thread->has_events = 1;
	if (strcmp(phase, "s") == 0 || strcmp(phase, "f") == 0) {
		read_arrow(event, phase, thread, base, binding);
		return;
	}
	make_text(event, text, sizeof(text));
	const uint64_t start = time_ns(event, "ts");
	if (strcmp(phase, "X") == 0) {
		const uint64_t duration = time_ns(event, "dur");

		check_nesting(thread, start + 1, start + duration + 1); /* 0 marks unused places */
		events_add(events, text, base + start, duration, 0);
		binding->places = realloc(binding->places, (binding->n + 1) * sizeof(*binding->places));
		assert_non_null(binding->places);
		binding->places[binding->n++] = (struct place){ thread->pid, thread->tid, start, strdup(name) };
	} else {
		assert_string_equal(phase, "i");
		assert_string_equal(cJSON_GetObjectItemCaseSensitive(event, "s")->valuestring, "t");
		events_add(events, text, base + start, 0, 1);
	}
}

void read_json_gz(const char *path, struct events *events)
{
	char *text = gunzip(path);
	char *quoted = quote_times(text);
	cJSON *root = cJSON_Parse(quoted);
	struct thread *threads = calloc(MOST_THREADS, sizeof(*threads));
	unsigned n_threads = 0;
	struct binding binding = { 0 };
	const cJSON *event;
	uint64_t base = 0;

	assert_true(root && threads);
	const char *at = strstr(text, "\"baseTimeNanoseconds\":"); /* beyond what a double holds */
	assert_non_null(at);
	assert_int_equal(sscanf(at, "\"baseTimeNanoseconds\":%" SCNu64, &base), 1);
	assert_string_equal(cJSON_GetObjectItemCaseSensitive(root, "displayTimeUnit")->valuestring, "ns");
	assert_true(cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(root, "metadata")));
	cJSON_ArrayForEach(event, cJSON_GetObjectItemCaseSensitive(root, "traceEvents"))
	{
		read_event(event, threads, &n_threads, base, events, &binding);
	}
	for (unsigned i = 0; i < n_threads; i++) {
		assert_true(threads[i].named);
		events->n_tracks += threads[i].has_events != 0;
	}
	arrows_finish(&binding.arrows, events);
	for (size_t i = 0; i < binding.n; i++)
		free(binding.places[i].name);
	free(binding.places);
	free(threads);
	cJSON_Delete(root);
	free(quoted);
	free(text);
}
