/* SPDX-License-Identifier: Apache-2.0
 *
 * meta.c - reads META chunks: one JSON object with one key each.
 *
 * Every object is described by a table of its fields, so reading, defaults and complaints exist once. A field that is
 * missing or of another type keeps its default (0, "") and is noted as damage; a field nobody asked for is skipped.
 */
#include "meta.h"

#include <cjson/cJSON.h>

enum field_type {
	FIELD_U32,
	FIELD_U64,   /* a number, or a decimal string */
	FIELD_BOOL,  /* true or false */
	FIELD_TEXT,  /* char *, owned */
	FIELD_RANK,  /* the same; null is "" */
	FIELD_WORDS, /* char *, owned: an array of strings as one command line */
};

struct field {
	const char *key;
	enum field_type type;
	size_t offset; /* in the struct it goes to */
	bool optional; /* the writer leaves it out where it does not apply */
};

#define FIELD(key, type, object, member)                                     \
	{                                                                    \
		key, FIELD_##type, __builtin_offsetof(struct object, member) \
	}

#define OPTIONAL_FIELD(key, type, object, member)                                  \
	{                                                                          \
		key, FIELD_##type, __builtin_offsetof(struct object, member), true \
	}

static const struct field session_fields[] = {
	FIELD("version", TEXT, meta_session, version),
	FIELD("host", TEXT, meta_session, host),
	FIELD("rank", RANK, meta_session, rank),
	OPTIONAL_FIELD("launcher", TEXT, meta_session, launcher),
	OPTIONAL_FIELD("world", U32, meta_session, world),
	FIELD("command", WORDS, meta_session, command),
	FIELD("pid", U32, meta_session, pid),
	FIELD("number", U32, meta_session, number),
	OPTIONAL_FIELD("started_by", TEXT, meta_session, started_by),
	OPTIONAL_FIELD("started_in_thread", U32, meta_session, started_in_thread),
	FIELD("start_realtime_ns", U64, meta_session, start_realtime_ns),
	FIELD("start_monotonic_ns", U64, meta_session, start_monotonic_ns),
	FIELD("arena_bytes", U64, meta_session, arena_bytes),
	FIELD("words_asked", U32, meta_session, words_asked),
	FIELD("words_least", U32, meta_session, words_least),
	FIELD("words_enough", U32, meta_session, words_enough),
	FIELD("words_most", U32, meta_session, words_most),
};
static const struct field stop_fields[] = {
	FIELD("monotonic_ns", U64, meta_stop, monotonic_ns),
	FIELD("stopped_by", TEXT, meta_stop, stopped_by),
	FIELD("stopped_in_thread", U32, meta_stop, stopped_in_thread),
	OPTIONAL_FIELD("quiet", BOOL, meta_stop, quiet),
};
static const struct field mark_fields[] = {
	FIELD("monotonic_ns", U64, warpspan_host_mark, time_ns),
	FIELD("thread", U32, warpspan_host_mark, thread),
	FIELD("text", TEXT, warpspan_host_mark, text),
};
static const struct field device_fields[] = {
	FIELD("ordinal", U32, warpspan_device, ordinal), FIELD("name", TEXT, warpspan_device, name),
	FIELD("uuid", TEXT, warpspan_device, uuid),      FIELD("compute", TEXT, warpspan_device, compute),
	FIELD("sms", U32, warpspan_device, n_sms),       FIELD("clock_khz", U32, warpspan_device, clock_khz),
};
static const struct field context_fields[] = {
	FIELD("number", U32, meta_context, number),
	FIELD("device", U32, meta_context, device),
};
static const struct field kernel_fields[] = {
	FIELD("number", U32, warpspan_kernel, number),
	FIELD("module", U32, warpspan_kernel, module),
	FIELD("name", TEXT, warpspan_kernel, name),
	FIELD("demangled", TEXT, warpspan_kernel, demangled),
};
static const struct field hook_fields[] = {
	FIELD("number", U32, warpspan_hook, number),
	FIELD("name", TEXT, warpspan_hook, name),
};
static const struct field graph_fields[] = {
	FIELD("exec", U64, meta_graph, exec),
	FIELD("since_ns", U64, meta_graph, since_ns),
	FIELD("certain", U32, meta_graph, certain),
};
#define N_FIELDS(fields) (sizeof(fields) / sizeof((fields)[0]))

/* Where complaints about one chunk go. */
struct place {
	const char *path;
	uint64_t offset;
	struct damage *damage;
};

static int complain(const struct place *place, const char *object, const char *key, const char *what)
{
	return damage_add(place->damage, place->offset, "'%.200s': the \"%s\" object at byte %llu: %s%s%s", place->path,
			  object, (unsigned long long)place->offset, key, key[0] != '\0' ? " " : "", what);
}

/* A whole number up to `most`, from a number or a decimal string. */
static bool read_number(const cJSON *item, uint64_t most, uint64_t *ret_value)
{
	uint64_t value = 0;
	if (cJSON_IsNumber(item)) {
		if (!(item->valuedouble >= 0 && item->valuedouble <= 9007199254740992.0) ||
		    item->valuedouble != (double)(uint64_t)item->valuedouble)
			return false;
		value = (uint64_t)item->valuedouble;
	} else if (cJSON_IsString(item) && item->valuestring[0] != '\0') {
		for (const char *at = item->valuestring; *at != '\0'; at++) {
			if (*at < '0' || *at > '9' || __builtin_mul_overflow(value, 10u, &value) ||
			    __builtin_add_overflow(value, (unsigned)(*at - '0'), &value))
				return false;
		}
	} else {
		return false;
	}
	if (value > most)
		return false;
	*ret_value = value;
	return true;
}

static bool is_plain_word(const char *word)
{
	for (const char *at = word; *at != '\0'; at++)
		if (strchr(" \t\n'\"\\$`;&|<>()*?[]#~!{}", *at) != NULL)
			return false;
	return word[0] != '\0';
}

/* Arguments as one would type them: those a shell would split are in single quotes. *ret_text is NULL when an argument
 * is no string. */
static int read_words(const cJSON *item, char **ret_text)
{
	char *text = NULL;
	size_t n_bytes = 0;
	FILE *out;
	*ret_text = NULL;
	const cJSON *word;
	cJSON_ArrayForEach(word, item) if (!cJSON_IsString(word)) return WARPSPAN_OK;
	if (!cJSON_IsArray(item))
		return WARPSPAN_OK;
	out = open_memstream(&text, &n_bytes);
	if (out == NULL)
		return WARPSPAN_NO_MEMORY;
	const char *between = "";
	cJSON_ArrayForEach(word, item)
	{
		const char *quote = is_plain_word(word->valuestring) ? "" : "'";
		fprintf(out, "%s%s", between, quote);
		for (const char *at = word->valuestring; *at != '\0'; at++) {
			if (*at == '\'')
				fputs("'\\''", out);
			else
				fputc(*at, out);
		}
		fputs(quote, out);
		between = " ";
	}
	const bool failed = ferror(out) != 0;
	if (fclose(out) != 0 || failed) {
		free(text);
		return WARPSPAN_NO_MEMORY;
	}
	*ret_text = text;
	return WARPSPAN_OK;
}

/* Reads a text field into *text (NULL before); leaves NULL where the item is not of the type. */
static int read_text(const cJSON *item, enum field_type type, char **text)
{
	if (type == FIELD_WORDS)
		return read_words(item, text);
	const char *found = cJSON_GetStringValue(item);
	if (found == NULL && type == FIELD_RANK && cJSON_IsNull(item))
		found = "";
	if (found == NULL)
		return WARPSPAN_OK;
	*text = strdup(found);
	return *text == NULL ? WARPSPAN_NO_MEMORY : WARPSPAN_OK;
}

static int read_field(const cJSON *object, const struct field *field, char *base, bool *ret_good)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, field->key);
	char *to = base + field->offset;
	if (field->type == FIELD_U32 || field->type == FIELD_U64) {
		uint64_t value = 0;
		*ret_good = read_number(item, field->type == FIELD_U32 ? UINT32_MAX : UINT64_MAX, &value);
		if (field->type == FIELD_U64)
			memcpy(to, &value, sizeof(value));
		else
			*(uint32_t *)(void *)to = (uint32_t)value;
		return WARPSPAN_OK;
	}
	if (field->type == FIELD_BOOL) {
		*ret_good = cJSON_IsBool(item);
		*(bool *)(void *)to = cJSON_IsTrue(item);
		return WARPSPAN_OK;
	}
	char *text = NULL;
	int result = read_text(item, field->type, &text);
	*ret_good = text != NULL;
	if (result == WARPSPAN_OK && text == NULL) {
		text = strdup("");
		result = text == NULL ? WARPSPAN_NO_MEMORY : WARPSPAN_OK;
	}
	memcpy(to, &text, sizeof(text));
	return result;
}

/* Fills a zeroed struct from its table. Texts are set in every case but NO_MEMORY. */
static int read_fields(const cJSON *object, const struct field *fields, size_t n_fields, void *to,
		       const struct place *place)
{
	for (size_t i = 0; i < n_fields; i++) {
		bool good = true;
		int result = read_field(object, &fields[i], to, &good);
		if (result == WARPSPAN_OK && !good &&
		    !(fields[i].optional && !cJSON_HasObjectItem(object, fields[i].key)))
			result = complain(place, object->string, fields[i].key,
					  cJSON_HasObjectItem(object, fields[i].key) ? "has the wrong type"
										     : "is missing");
		if (result < 0)
			return result;
	}
	return WARPSPAN_OK;
}

static void session_finish(struct meta_session *session)
{
	free(session->version);
	free(session->host);
	free(session->rank);
	free(session->launcher);
	free(session->command);
	free(session->started_by);
	memset(session, 0, sizeof(*session));
}

void device_finish(struct warpspan_device *device)
{
	free(device->name);
	free(device->uuid);
	free(device->compute);
}

void kernel_finish(struct warpspan_kernel *kernel)
{
	free(kernel->name);
	free(kernel->demangled);
}

void hook_finish(struct warpspan_hook *hook)
{
	free(hook->name);
}

void mark_finish(struct warpspan_host_mark *mark)
{
	free(mark->text);
}

static int add_session(struct meta *meta, const cJSON *object, const struct place *place)
{
	if (meta->has_session)
		return complain(place, object->string, "", "a second one; the first holds");
	const int result = read_fields(object, session_fields, N_FIELDS(session_fields), &meta->session, place);
	meta->has_session = true;
	return result;
}

static int add_stop(struct meta *meta, const cJSON *object, const struct place *place)
{
	if (meta->has_stop)
		return complain(place, object->string, "", "a second one; the first holds");
	meta->has_stop = true;
	return read_fields(object, stop_fields, N_FIELDS(stop_fields), &meta->stop, place);
}

static int add_mark(struct meta *meta, const cJSON *object, const struct place *place)
{
	struct warpspan_host_mark mark = { 0 };
	const int result = read_fields(object, mark_fields, N_FIELDS(mark_fields), &mark, place);
	struct warpspan_host_mark *added = result >= 0 ? array_add(&meta->marks) : NULL;
	if (added == NULL) {
		mark_finish(&mark);
		return WARPSPAN_NO_MEMORY;
	}
	*added = mark;
	return result;
}

static int add_device(struct meta *meta, const cJSON *object, const struct place *place)
{
	struct warpspan_device device = { 0 };
	if (meta->devices.n == META_DEVICES_MAX)
		return complain(place, object->string, "", "there are too many of them");
	int result = read_fields(object, device_fields, N_FIELDS(device_fields), &device, place);
	for (size_t i = 0; result >= 0 && i < meta->devices.n; i++)
		if (meta->devices.items[i].ordinal == device.ordinal) {
			device_finish(&device);
			return complain(place, object->string, "ordinal", "was told before; the first holds");
		}
	struct warpspan_device *added = result >= 0 ? array_add(&meta->devices) : NULL;
	if (added == NULL) {
		device_finish(&device);
		return WARPSPAN_NO_MEMORY;
	}
	*added = device;
	return result;
}

static int add_context(struct meta *meta, const cJSON *object, const struct place *place)
{
	struct meta_context context = { 0 };
	if (meta->contexts.n == META_CONTEXTS_MAX)
		return complain(place, object->string, "", "there are too many of them");
	const int result = read_fields(object, context_fields, N_FIELDS(context_fields), &context, place);
	struct meta_context *added = result >= 0 ? array_add(&meta->contexts) : NULL;
	if (added == NULL)
		return WARPSPAN_NO_MEMORY;
	*added = context;
	return result;
}

static int add_kernel(struct meta *meta, const cJSON *object, const struct place *place)
{
	struct warpspan_kernel kernel = { 0 };
	const int result = read_fields(object, kernel_fields, N_FIELDS(kernel_fields), &kernel, place);
	struct warpspan_kernel *added = result >= 0 ? array_add(&meta->kernels) : NULL;
	if (added == NULL) {
		kernel_finish(&kernel);
		return WARPSPAN_NO_MEMORY;
	}
	*added = kernel;
	return result;
}

static int add_hook(struct meta *meta, const cJSON *object, const struct place *place)
{
	struct warpspan_hook hook = { 0 };
	if (meta->hooks.n == META_HOOKS_MAX)
		return complain(place, object->string, "", "there are too many of them");
	const int result = read_fields(object, hook_fields, N_FIELDS(hook_fields), &hook, place);
	struct warpspan_hook *added = result >= 0 ? array_add(&meta->hooks) : NULL;
	if (added == NULL) {
		hook_finish(&hook);
		return WARPSPAN_NO_MEMORY;
	}
	*added = hook;
	return result;
}

/* [module, kernel, grid x, y, z, threads x, y, z, how many] */
static bool read_graph_kernel(const cJSON *row, struct meta_graph_kernel *ret_kernel)
{
	uint32_t *const to[] = { &ret_kernel->module,     &ret_kernel->kernel,     &ret_kernel->grid[0],
				 &ret_kernel->grid[1],    &ret_kernel->grid[2],    &ret_kernel->threads[0],
				 &ret_kernel->threads[1], &ret_kernel->threads[2], &ret_kernel->n };
	size_t i = 0;
	const cJSON *item;
	cJSON_ArrayForEach(item, row)
	{
		uint64_t value;
		if (i == sizeof(to) / sizeof(to[0]) || !read_number(item, UINT32_MAX, &value))
			return false;
		*to[i++] = (uint32_t)value;
	}
	return i == sizeof(to) / sizeof(to[0]);
}

static int add_graph(struct meta *meta, const cJSON *object, const struct place *place)
{
	struct meta_graph graph = { 0 };
	int result = read_fields(object, graph_fields, N_FIELDS(graph_fields), &graph, place);
	const cJSON *rows = cJSON_GetObjectItemCaseSensitive(object, "kernels"), *row;
	if (result >= 0 && !cJSON_IsArray(rows))
		result = complain(place, object->string, "kernels", "is missing or has the wrong type");
	if (result < 0)
		return result;
	graph.certain = graph.certain && cJSON_IsArray(rows);
	graph.first = (uint32_t)meta->graph_kernels.n;
	cJSON_ArrayForEach(row, rows)
	{
		struct meta_graph_kernel kernel = { 0 };
		if (!cJSON_IsArray(row) || !read_graph_kernel(row, &kernel)) {
			graph.certain = 0;
			if (complain(place, object->string, "kernels", "has a row of another form") < 0)
				return WARPSPAN_NO_MEMORY;
			break;
		}
		struct meta_graph_kernel *added = array_add(&meta->graph_kernels);
		if (added == NULL)
			return WARPSPAN_NO_MEMORY;
		*added = kernel;
	}
	graph.n_kernels = (uint32_t)meta->graph_kernels.n - graph.first;
	struct meta_graph *added = array_add(&meta->graphs);
	if (added == NULL)
		return WARPSPAN_NO_MEMORY;
	*added = graph;
	return result;
}

/* Cumulative: a value that was told before is replaced. */
static int add_counters(struct meta *meta, const cJSON *object, const struct place *place)
{
	const cJSON *item;
	cJSON_ArrayForEach(item, object)
	{
		uint64_t value = 0;
		if (!read_number(item, UINT64_MAX, &value)) {
			const int result = complain(place, object->string, item->string, "has the wrong type");
			if (result < 0)
				return result;
			continue;
		}
		size_t i = 0;
		while (i < meta->counters.n && strcmp(meta->counters.items[i].name, item->string) != 0)
			i++;
		if (i == META_COUNTERS_MAX)
			return complain(place, object->string, "", "there are too many of them");
		if (i == meta->counters.n) {
			char *name = strdup(item->string);
			if (name == NULL || array_add(&meta->counters) == NULL) {
				free(name);
				return WARPSPAN_NO_MEMORY;
			}
			meta->counters.items[i].name = name;
		}
		meta->counters.items[i].value = value;
	}
	return WARPSPAN_OK;
}

static const struct {
	const char *key;
	int (*add)(struct meta *meta, const cJSON *object, const struct place *place);
} objects[] = {
	{ "session", add_session }, { "stop", add_stop },         { "mark", add_mark },
	{ "device", add_device },   { "context", add_context },   { "kernel", add_kernel },
	{ "hook", add_hook },       { "counters", add_counters }, { "graph", add_graph },
};

int meta_add_chunk(struct meta *meta, const struct capture_chunk *chunk, const char *path, struct damage *damage)
{
	const struct place place = { path, chunk->offset, damage };
	cJSON *root = cJSON_ParseWithLength((const char *)chunk->payload, chunk->payload_bytes);
	int result = WARPSPAN_OK;
	const cJSON *object = root != NULL ? root->child : NULL;
	if (!cJSON_IsObject(root) || !cJSON_IsObject(object)) {
		result = damage_add(damage, chunk->offset, "'%.200s': the metadata at byte %llu is not a JSON object",
				    path, (unsigned long long)chunk->offset);
	} else {
		for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
			if (strcmp(objects[i].key, object->string) == 0)
				result = objects[i].add(meta, object, &place);
	}
	cJSON_Delete(root);
	return result;
}

static bool set_if_null(char **text, const char *value)
{
	if (*text == NULL)
		*text = strdup(value);
	return *text != NULL;
}

static int by_hook_number(const void *left, const void *right)
{
	const struct warpspan_hook *a = left, *b = right;
	return (a->number > b->number) - (a->number < b->number);
}

static int by_executable_and_time(const void *left, const void *right)
{
	const struct meta_graph *a = left, *b = right;
	if (a->exec != b->exec)
		return a->exec < b->exec ? -1 : 1;
	if (a->since_ns != b->since_ns)
		return a->since_ns < b->since_ns ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

/* The last of the executable that begins by then; NULL: none. */
static const struct meta_graph *last_graph(const struct meta *meta, uint64_t exec, uint64_t time_ns)
{
	size_t low = 0, high = meta->graphs.n;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const struct meta_graph *graph = &meta->graphs.items[middle];
		if (graph->exec < exec || (graph->exec == exec && graph->since_ns <= time_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && meta->graphs.items[low - 1].exec == exec ? &meta->graphs.items[low - 1] : NULL;
}

const struct meta_graph *meta_graph_at(const struct meta *meta, uint64_t exec, uint64_t time_ns)
{
	/* From where changes were lost nothing is known of any. */
	return last_graph(meta, 0, UINT64_MAX) == NULL && exec != 0 ? last_graph(meta, exec, time_ns) : NULL;
}

int meta_complete(struct meta *meta)
{
	if (meta->graphs.n > 1)
		qsort(meta->graphs.items, meta->graphs.n, sizeof(*meta->graphs.items), by_executable_and_time);
	if (meta->hooks.n > 1)
		qsort(meta->hooks.items, meta->hooks.n, sizeof(*meta->hooks.items), by_hook_number);
	for (size_t i = 0; i < meta->hooks.n; i++)
		if (map_set(&meta->hooks_by_number, meta->hooks.items[i].number, 0, (uint32_t)i) < 0)
			return WARPSPAN_NO_MEMORY;
	struct meta_session *session = &meta->session;
	if (set_if_null(&session->version, "") && set_if_null(&session->host, "") && set_if_null(&session->rank, "") &&
	    set_if_null(&session->launcher, "") && set_if_null(&session->command, "") &&
	    set_if_null(&session->started_by, "") && set_if_null(&meta->stop.stopped_by, ""))
		return WARPSPAN_OK;
	return WARPSPAN_NO_MEMORY;
}

enum warpspan_phase meta_phase_at(const struct meta *meta, uint64_t begin_ns)
{
	/* captures of old versions have launches that began before the moment they state */
	if (meta->session.started_by[0] != '\0' && begin_ns < meta->session.start_monotonic_ns)
		return WARPSPAN_EARLY;
	return meta->has_stop && begin_ns >= meta->stop.monotonic_ns ? WARPSPAN_LATE : WARPSPAN_OWN;
}

static int add_unknown_device(struct meta *meta)
{
	struct warpspan_device *device = array_add(&meta->devices);
	if (device == NULL)
		return WARPSPAN_NO_MEMORY;
	if (set_if_null(&device->name, "unknown device") && set_if_null(&device->uuid, "") &&
	    set_if_null(&device->compute, ""))
		return WARPSPAN_OK;
	device_finish(device);
	meta->devices.n--;
	return WARPSPAN_NO_MEMORY;
}

static int find_device(struct meta *meta, uint32_t context, uint64_t offset, const char *path, struct damage *damage,
		       uint32_t *ret_device)
{
	for (size_t i = 0; i < meta->contexts.n; i++) {
		if (meta->contexts.items[i].number != context)
			continue;
		for (size_t k = 0; k < meta->devices.n; k++)
			if (meta->devices.items[k].ordinal == meta->contexts.items[i].device) {
				*ret_device = (uint32_t)k;
				return WARPSPAN_OK;
			}
		break;
	}
	int result =
		damage_add(damage, offset, "'%.200s': no metadata tells the device of context %u, used at byte %llu",
			   path, context, (unsigned long long)offset);
	if (result >= 0 && meta->devices.n == 0)
		result = add_unknown_device(meta);
	if (result < 0)
		return result;
	*ret_device = 0;
	return WARPSPAN_OK;
}

int meta_device_of(struct meta *meta, uint32_t context, uint64_t offset, const char *path, struct damage *damage,
		   uint32_t *ret_device)
{
	const uint32_t known = map_find(&meta->device_of_context, context, 0);
	if (known != MAP_NONE) {
		*ret_device = known;
		return WARPSPAN_OK;
	}
	const int result = find_device(meta, context, offset, path, damage, ret_device);
	if (result == WARPSPAN_OK && map_set(&meta->device_of_context, context, 0, *ret_device) < 0)
		return WARPSPAN_NO_MEMORY;
	return result;
}

void meta_finish(struct meta *meta)
{
	session_finish(&meta->session);
	free(meta->stop.stopped_by);
	for (size_t i = 0; i < meta->marks.n; i++)
		mark_finish(&meta->marks.items[i]);
	free(meta->marks.items);
	for (size_t i = 0; i < meta->devices.n; i++)
		device_finish(&meta->devices.items[i]);
	for (size_t i = 0; i < meta->kernels.n; i++)
		kernel_finish(&meta->kernels.items[i]);
	for (size_t i = 0; i < meta->hooks.n; i++)
		hook_finish(&meta->hooks.items[i]);
	for (size_t i = 0; i < meta->counters.n; i++)
		free(meta->counters.items[i].name);
	free(meta->devices.items);
	free(meta->contexts.items);
	free(meta->kernels.items);
	free(meta->hooks.items);
	free(meta->counters.items);
	free(meta->graphs.items);
	free(meta->graph_kernels.items);
	map_finish(&meta->hooks_by_number);
	map_finish(&meta->device_of_context);
	memset(meta, 0, sizeof(*meta));
}
