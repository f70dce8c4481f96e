/* SPDX-License-Identifier: Apache-2.0
 *
 * lz4.c - decoder for one LZ4 block.
 *
 * A block is a sequence of {token, literals, match}. The token's high four bits count literals, its low four the match
 * length less 4; 15 means that bytes follow, to be added up to the first that is not 255. The last sequence ends
 * after its literals.
 */
#include "lz4.h"

#include <stdint.h>
#include <string.h>

enum { LONG_LENGTH = 15, MIN_MATCH = 4 };

struct input {
	const uint8_t *at, *end;
};

static bool length_read(struct input *in, size_t start, size_t limit, size_t *ret_length)
{
	size_t length = start;
	uint8_t byte;

	if (start == LONG_LENGTH) {
		do {
			if (in->at == in->end || length > limit)
				return false;
			byte = *in->at++;
			length += byte;
		} while (byte == 255);
	}
	*ret_length = length;
	return true;
}

bool lz4_decode(const void *from, size_t from_bytes, void *to, size_t to_bytes)
{
	struct input in = { .at = from, .end = (const uint8_t *)from + from_bytes };
	uint8_t *begin = to, *out = to, *end = begin + to_bytes;

	while (in.at < in.end) {
		uint8_t token = *in.at++;
		size_t length, distance;

		if (!length_read(&in, token >> 4, to_bytes, &length))
			return false;
		if (length > (size_t)(in.end - in.at) || length > (size_t)(end - out))
			return false;
		memcpy(out, in.at, length);
		in.at += length;
		out += length;
		if (in.at == in.end)
			break;
		if (in.end - in.at < 2)
			return false;
		distance = in.at[0] | (size_t)in.at[1] << 8;
		in.at += 2;
		if (!length_read(&in, token & 15, to_bytes, &length))
			return false;
		length += MIN_MATCH;
		if (distance == 0 || distance > (size_t)(out - begin) || length > (size_t)(end - out))
			return false;
		for (; length; length--, out++) /* may overlap itself: one byte at a time */
			*out = out[-(ptrdiff_t)distance];
	}
	return out == end;
}
