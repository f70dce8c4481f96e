/* SPDX-License-Identifier: Apache-2.0
 *
 * proto.c - the protobuf wire format. See proto.h.
 */
#include "proto.h"

#include <string.h>

#define MOST_VARINT_BYTES 10u

void proto_init(struct proto *message, uint8_t *memory, size_t bytes)
{
	message->at = message->start = memory;
	message->end = memory + bytes;
	message->full = false;
}

size_t proto_bytes(const struct proto *message)
{
	return (size_t)(message->at - message->start);
}

static bool room(struct proto *message, size_t bytes)
{
	if ((size_t)(message->end - message->at) >= bytes && !message->full)
		return true;
	message->full = true;
	return false;
}

/* The caller has made sure of ten bytes. */
static void put_varint(struct proto *message, uint64_t value)
{
	while (value >= 0x80) {
		*message->at++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*message->at++ = (uint8_t)value;
}

static void put_key(struct proto *message, uint32_t field, uint32_t wire_type)
{
	put_varint(message, (uint64_t)field << 3 | wire_type);
}

void proto_put_uint(struct proto *message, uint32_t field, uint64_t value)
{
	if (!room(message, 2 * MOST_VARINT_BYTES))
		return;
	put_key(message, field, PROTO_WIRE_VARINT);
	put_varint(message, value);
}

void proto_put_fixed64(struct proto *message, uint32_t field, uint64_t value)
{
	if (!room(message, MOST_VARINT_BYTES + sizeof(value)))
		return;
	put_key(message, field, PROTO_WIRE_FIXED64);
	memcpy(message->at, &value, sizeof(value)); /* little-endian, as all of CUDA's hosts are */
	message->at += sizeof(value);
}

void proto_put_double(struct proto *message, uint32_t field, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	proto_put_fixed64(message, field, bits);
}

void proto_put_data(struct proto *message, uint32_t field, const void *data, size_t bytes)
{
	if (!room(message, 2 * MOST_VARINT_BYTES + bytes))
		return;
	put_key(message, field, PROTO_WIRE_BYTES);
	put_varint(message, bytes);
	memcpy(message->at, data, bytes);
	message->at += bytes;
}

void proto_put_text(struct proto *message, uint32_t field, const char *text)
{
	proto_put_data(message, field, text, strlen(text));
}

void proto_put_message(struct proto *message, uint32_t field, const struct proto *inner)
{
	if (inner->full)
		message->full = true;
	proto_put_data(message, field, inner->start, proto_bytes(inner));
}

void proto_put_encoded(struct proto *message, const struct proto *fields)
{
	const size_t bytes = proto_bytes(fields);

	if (fields->full)
		message->full = true;
	if (!room(message, bytes))
		return;
	memcpy(message->at, fields->start, bytes);
	message->at += bytes;
}

size_t proto_read_varint(const uint8_t *at, const uint8_t *end, uint64_t *ret_value)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < MOST_VARINT_BYTES && at + i < end; i++) {
		value |= (uint64_t)(at[i] & 0x7f) << (7 * i);
		if (at[i] & 0x80)
			continue;
		*ret_value = value;
		return i + 1;
	}
	return 0;
}
