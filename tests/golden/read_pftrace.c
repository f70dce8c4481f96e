/* SPDX-License-Identifier: Apache-2.0
 *
 * read_pftrace.c - a strict reader of TrackEvent traces. See events.h.
 *
 * Checks what the viewer's importer relies on and does not always complain about: wire types, a sequence id on every
 * event, state cleared before it is needed, interned ids and tracks defined before use, parents before children, unique
 * names below a parent, a trace clock that never steps back, and begins and ends that balance on every track in time.
 */
#include "support.h"

#include "events.h"
#include "proto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SEQUENCES 64u
#define MOST_INTERNED  256u
#define MOST_TRACKS    4096u
#define MOST_OPEN      80u
#define MOST_ARGUMENTS 16u

struct bytes {
	const uint8_t *at, *end;
};

struct field {
	uint32_t number, wire;
	uint64_t value; /* varint, fixed64 */
	struct bytes inner;
};

struct interned {
	uint64_t iid;
	char *text;
};

struct table {
	struct interned entries[MOST_INTERNED];
	unsigned n;
};

struct sequence {
	uint64_t id;
	int cleared;
	uint64_t time, default_track, default_clock;
	uint64_t incremental_clock;
	struct table names, arguments, strings;
};

struct open_slice {
	char *text;
	uint64_t start;
};

struct track {
	uint64_t uuid, parent;
	char *name;
	uint64_t last;
	int used;
	struct open_slice open[MOST_OPEN];
	unsigned n_open;
};

struct reader {
	struct sequence *sequences;
	unsigned n_sequences;
	struct track *tracks;
	unsigned n_tracks;
	uint64_t trace_clock, last_snapshot;
	struct arrows arrows;
	struct events *events;
};

/* --- wire format ------------------------------------------------------------------------------ */

static int next_field(struct bytes *message, struct field *field)
{
	uint64_t key = 0, length = 0;

	if (message->at == message->end)
		return 0;
	size_t n = proto_read_varint(message->at, message->end, &key);
	assert_true(n > 0);
	message->at += n;
	*field = (struct field){ .number = (uint32_t)(key >> 3), .wire = (uint32_t)(key & 7) };
	assert_true(field->number > 0);
	switch (field->wire) {
	case PROTO_WIRE_VARINT:
		n = proto_read_varint(message->at, message->end, &field->value);
		assert_true(n > 0);
		message->at += n;
		break;
	case PROTO_WIRE_FIXED64:
		assert_true(message->end - message->at >= 8);
		memcpy(&field->value, message->at, 8);
		message->at += 8;
		break;
	case PROTO_WIRE_BYTES:
		n = proto_read_varint(message->at, message->end, &length);
		assert_true(n > 0);
		message->at += n;
		assert_true((uint64_t)(message->end - message->at) >= length);
		field->inner = (struct bytes){ message->at, message->at + length };
		message->at += length;
		break;
	default:
		fail_msg("field %u has wire type %u", field->number, field->wire);
	}
	return 1;
}

static uint64_t as_fixed64(const struct field *field)
{
	assert_int_equal(field->wire, PROTO_WIRE_FIXED64);
	return field->value;
}

static uint64_t as_uint(const struct field *field)
{
	assert_int_equal(field->wire, PROTO_WIRE_VARINT);
	return field->value;
}

static struct bytes as_message(const struct field *field)
{
	assert_int_equal(field->wire, PROTO_WIRE_BYTES);
	return field->inner;
}

static char *as_text(const struct field *field)
{
	const struct bytes text = as_message(field);
	char *copy = strndup((const char *)text.at, (size_t)(text.end - text.at));

	assert_non_null(copy);
	assert_int_equal(strlen(copy), text.end - text.at);
	return copy;
}

/* --- state ------------------------------------------------------------------------------------ */

static void table_clear(struct table *table)
{
	for (unsigned i = 0; i < table->n; i++)
		free(table->entries[i].text);
	table->n = 0;
}

static const char *lookup(const struct table *table, uint64_t iid)
{
	for (unsigned i = 0; i < table->n; i++)
		if (table->entries[i].iid == iid)
			return table->entries[i].text;
	fail_msg("interned id %llu is used before it is defined", (unsigned long long)iid);
	return NULL;
}

static struct sequence *find_sequence(struct reader *reader, uint64_t id)
{
	assert_true(id != 0);
	for (unsigned i = 0; i < reader->n_sequences; i++)
		if (reader->sequences[i].id == id)
			return &reader->sequences[i];
	assert_true(reader->n_sequences < MOST_SEQUENCES);
	reader->sequences[reader->n_sequences].id = id;
	return &reader->sequences[reader->n_sequences++];
}

static struct track *find_track(struct reader *reader, uint64_t uuid)
{
	for (unsigned i = 0; i < reader->n_tracks; i++)
		if (reader->tracks[i].uuid == uuid)
			return &reader->tracks[i];
	return NULL;
}

/* --- packets ---------------------------------------------------------------------------------- */

static void read_descriptor(struct reader *reader, struct bytes message)
{
	struct track track = { 0 };
	struct field field;
	uint64_t merge = 0, ordering = 0;

	while (next_field(&message, &field)) {
		if (field.number == 1)
			track.uuid = as_uint(&field);
		else if (field.number == 2)
			track.name = as_text(&field);
		else if (field.number == 5)
			track.parent = as_uint(&field);
		else if (field.number == 11)
			ordering = as_uint(&field);
		else if (field.number == 12)
			assert_true(as_uint(&field) <= INT32_MAX);
		else if (field.number == 15)
			merge = as_uint(&field);
		else
			assert_int_equal(field.number, 14);
	}
	assert_true(track.uuid != 0 && track.name && merge == 2 && ordering == 3);
	assert_null(find_track(reader, track.uuid));
	assert_true(track.parent == 0 || find_track(reader, track.parent));
	for (unsigned i = 0; i < reader->n_tracks; i++)
		if (reader->tracks[i].parent == track.parent)
			assert_string_not_equal(reader->tracks[i].name, track.name);
	assert_true(reader->n_tracks < MOST_TRACKS);
	reader->tracks[reader->n_tracks++] = track;
}

static void read_snapshot(struct reader *reader, struct sequence *sequence, struct bytes message)
{
	struct field field, part;
	int has_trace_clock = 0;

	while (next_field(&message, &field)) {
		uint64_t id = 0, timestamp = 0, incremental = 0;

		if (field.number == 2) {
			reader->trace_clock = as_uint(&field);
			continue;
		}
		assert_int_equal(field.number, 1);
		struct bytes clock = as_message(&field);
		while (next_field(&clock, &part)) {
			if (part.number == 1)
				id = as_uint(&part);
			else if (part.number == 2)
				timestamp = as_uint(&part);
			else if (part.number == 3)
				incremental = as_uint(&part);
			else
				fail_msg("clock field %u", part.number);
		}
		if (id == 1) { /* REALTIME */
			has_trace_clock = 1;
			assert_true(timestamp >= reader->last_snapshot);
			reader->last_snapshot = timestamp;
		}
		if (incremental) {
			assert_true(id >= 64 && id < 128);
			sequence->incremental_clock = id;
			sequence->time = timestamp;
		}
	}
	assert_true(has_trace_clock && reader->trace_clock == 1);
}

static void read_interned(struct sequence *sequence, struct bytes message)
{
	struct field field, part;

	while (next_field(&message, &field)) {
		struct table *table = field.number == 2    ? &sequence->names
				      : field.number == 3  ? &sequence->arguments
				      : field.number == 29 ? &sequence->strings
							   : NULL;
		struct interned entry = { 0 };
		struct bytes inner = as_message(&field);

		assert_non_null(table);
		while (next_field(&inner, &part)) {
			if (part.number == 1)
				entry.iid = as_uint(&part);
			else if (part.number == 2)
				entry.text = as_text(&part);
			else
				fail_msg("interned field %u", part.number);
		}
		assert_true(entry.iid != 0 && entry.text);
		for (unsigned i = 0; i < table->n; i++)
			assert_true(table->entries[i].iid != entry.iid);
		assert_true(table->n < MOST_INTERNED);
		table->entries[table->n++] = entry;
	}
}

static void read_defaults(struct sequence *sequence, struct bytes message)
{
	struct field field, part;

	sequence->default_track = sequence->default_clock = 0; /* a later one replaces the earlier as a whole */
	while (next_field(&message, &field)) {
		if (field.number == 58) {
			sequence->default_clock = as_uint(&field);
			continue;
		}
		assert_int_equal(field.number, 11);
		struct bytes event = as_message(&field);
		while (next_field(&event, &part)) {
			assert_int_equal(part.number, 11);
			sequence->default_track = as_uint(&part);
		}
	}
}

static const char *const argument_order[] = { "file",  "line", "grid",   "block", "sm",     "end",  "value",
					      "warps", "lost", "number", "bytes", "result", "grids" };

/* One argument as text, put where argument_order has its name. */
static void read_argument(const struct sequence *sequence, struct bytes message, char values[][128])
{
	char value[128] = "";
	const char *name = NULL;
	struct field field;
	double number;
	char *text;

	while (next_field(&message, &field)) {
		switch (field.number) {
		case 1:
			name = lookup(&sequence->arguments, as_uint(&field));
			break;
		case 3:
			snprintf(value, sizeof(value), "%llu", (unsigned long long)as_uint(&field));
			break;
		case 4:
			snprintf(value, sizeof(value), "%lld", (long long)as_uint(&field));
			break;
		case 5:
			assert_int_equal(field.wire, PROTO_WIRE_FIXED64);
			memcpy(&number, &field.value, sizeof(number));
			event_number(value, number);
			break;
		case 6:
			text = as_text(&field);
			snprintf(value, sizeof(value), "%s", text);
			free(text);
			break;
		case 17:
			snprintf(value, sizeof(value), "%s", lookup(&sequence->strings, as_uint(&field)));
			break;
		default:
			fail_msg("annotation field %u", field.number);
		}
	}
	assert_non_null(name);
	for (size_t i = 0; i < sizeof(argument_order) / sizeof(argument_order[0]); i++)
		if (strcmp(argument_order[i], name) == 0)
			snprintf(values[i], 128, "%s", value);
}

static void begin_slice(struct track *track, const char *text, uint64_t time)
{
	assert_true(track->n_open < MOST_OPEN);
	track->open[track->n_open++] = (struct open_slice){ strdup(text), time };
}

static void end_slice(struct reader *reader, struct track *track, uint64_t time)
{
	assert_true(track->n_open > 0);
	const struct open_slice *slice = &track->open[--track->n_open];

	assert_true(time >= slice->start);
	events_add(reader->events, slice->text, slice->start, time - slice->start, 0);
	free(slice->text);
}

static void read_event(struct reader *reader, const struct sequence *sequence, struct bytes message, uint64_t time)
{
	char values[MOST_ARGUMENTS][128] = { "" }, text[2048];
	uint64_t type = 0, uuid = sequence->default_track;
	struct field field;
	char *name = NULL;

	while (next_field(&message, &field)) {
		if (field.number == 4)
			read_argument(sequence, as_message(&field), values);
		else if (field.number == 9)
			type = as_uint(&field);
		else if (field.number == 10)
			name = strdup(lookup(&sequence->names, as_uint(&field)));
		else if (field.number == 11)
			uuid = as_uint(&field);
		else if (field.number == 23)
			name = as_text(&field);
		else if (field.number == 47 || field.number == 48)
			arrows_add(&reader->arrows, as_fixed64(&field), time, name, field.number == 48);
		else
			fail_msg("event field %u", field.number);
	}
	struct track *track = find_track(reader, uuid);
	assert_non_null(track);
	assert_true(time >= track->last);
	track->last = time;
	track->used = 1;
	int n = snprintf(text, sizeof(text), "%s", name ? name : "");
	for (size_t i = 0; i < sizeof(argument_order) / sizeof(argument_order[0]); i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "|%s", values[i]);
	assert_true(type >= 1 && type <= 3);
	assert_true(type == 2 || name);
	if (type == 1)
		begin_slice(track, text, time);
	else if (type == 2)
		end_slice(reader, track, time);
	else
		events_add(reader->events, text, time, 0, 1);
	free(name);
}

static void read_packet(struct reader *reader, struct bytes message)
{
	struct bytes snapshot = { 0 }, event = { 0 }, interned = { 0 }, defaults = { 0 }, descriptor = { 0 };
	uint64_t timestamp = 0, sequence_id = 0, flags = 0;
	int has_timestamp = 0;
	struct field field;

	while (next_field(&message, &field)) {
		switch (field.number) {
		case 6:
			snapshot = as_message(&field);
			break;
		case 8:
			timestamp = as_uint(&field);
			has_timestamp = 1;
			break;
		case 10:
			sequence_id = as_uint(&field);
			break;
		case 11:
			event = as_message(&field);
			break;
		case 12:
			interned = as_message(&field);
			break;
		case 13:
			flags = as_uint(&field);
			break;
		case 59:
			defaults = as_message(&field);
			break;
		case 60:
			descriptor = as_message(&field);
			break;
		default:
			fail_msg("packet field %u", field.number);
		}
	}
	struct sequence *sequence = find_sequence(reader, sequence_id);
	if (flags & 1) {
		table_clear(&sequence->names);
		table_clear(&sequence->arguments);
		table_clear(&sequence->strings);
		sequence->cleared = 1;
	}
	assert_true(!(flags & 2) || sequence->cleared);
	if (snapshot.at)
		read_snapshot(reader, sequence, snapshot);
	if (defaults.at)
		read_defaults(sequence, defaults);
	if (interned.at) {
		assert_true(flags & 3);
		read_interned(sequence, interned);
	}
	if (descriptor.at)
		read_descriptor(reader, descriptor);
	if (!event.at)
		return;
	assert_true(has_timestamp && (flags & 2) && sequence->default_clock != 0);
	uint64_t time = timestamp;
	if (sequence->default_clock == sequence->incremental_clock)
		time = sequence->time += timestamp;
	else
		assert_int_equal(sequence->default_clock, 1);
	read_event(reader, sequence, event, time);
}

void read_pftrace(const char *path, struct events *events)
{
	FILE *file = fopen(path, "r");
	struct reader reader = { .events = events };
	struct field field;

	assert_non_null(file);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	const size_t bytes = (size_t)ftell(file);
	uint8_t *data = malloc(bytes + 1);
	reader.sequences = calloc(MOST_SEQUENCES, sizeof(*reader.sequences));
	reader.tracks = calloc(MOST_TRACKS, sizeof(*reader.tracks));
	assert_true(data && reader.sequences && reader.tracks);
	rewind(file);
	assert_int_equal(fread(data, 1, bytes, file), bytes);
	fclose(file);
	struct bytes trace = { data, data + bytes };
	while (next_field(&trace, &field)) {
		assert_int_equal(field.number, 1);
		read_packet(&reader, as_message(&field));
	}
	arrows_finish(&reader.arrows, events);
	for (unsigned i = 0; i < reader.n_tracks; i++) {
		assert_int_equal(reader.tracks[i].n_open, 0);
		events->n_tracks += reader.tracks[i].used != 0;
		free(reader.tracks[i].name);
	}
	for (unsigned i = 0; i < reader.n_sequences; i++) {
		table_clear(&reader.sequences[i].names);
		table_clear(&reader.sequences[i].arguments);
		table_clear(&reader.sequences[i].strings);
	}
	free(reader.sequences);
	free(reader.tracks);
	free(data);
}
