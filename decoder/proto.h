/* SPDX-License-Identifier: Apache-2.0
 *
 * proto.h - the protobuf wire format, as far as a writer needs it.
 *
 * A message is built in a struct proto and then put into its parent as one field, lengths being known by then: no
 * backpatching, no padded lengths. Memory is the caller's and bounded: a message that outgrows it is marked `full`, and
 * putting it anywhere marks the parent too.
 */
#ifndef WARPSPAN_PROTO_H
#define WARPSPAN_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proto {
	uint8_t *at, *end;
	uint8_t *start;
	bool full;
};

#define PROTO_WIRE_VARINT  0u
#define PROTO_WIRE_FIXED64 1u
#define PROTO_WIRE_BYTES   2u
#define PROTO_WIRE_FIXED32 5u

void proto_init(struct proto *message, uint8_t *memory, size_t bytes);
size_t proto_bytes(const struct proto *message);
/* A field of type uint32, uint64, bool or enum; negative int32 and int64 go in as their 64-bit two's complement. */
void proto_put_uint(struct proto *message, uint32_t field, uint64_t value);
void proto_put_fixed64(struct proto *message, uint32_t field, uint64_t value);
void proto_put_double(struct proto *message, uint32_t field, double value);
void proto_put_data(struct proto *message, uint32_t field, const void *data, size_t bytes);
void proto_put_text(struct proto *message, uint32_t field, const char *text);
void proto_put_message(struct proto *message, uint32_t field, const struct proto *inner);

/* Fields that are encoded already. */
void proto_put_encoded(struct proto *message, const struct proto *fields);

/* Reads one varint; 0: cut short or longer than ten bytes, else the bytes it takes. For readers (tests). */
size_t proto_read_varint(const uint8_t *at, const uint8_t *end, uint64_t *ret_value);

#endif
