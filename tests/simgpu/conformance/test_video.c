/* SPDX-License-Identifier: Apache-2.0
 *
 * test_video.c - video instructions: every operation on every pair of types, saturated and not, with parts of operands
 * selected, merged and accumulated.
 *
 * The reference computes with arrays of parts in wide integers.
 */
#include "../../support.h"

#include "conform.h"

#include <stdio.h>
#include <string.h>

__extension__ typedef __int128 wide;

/* What a case's function has to know. */
static struct {
	const char *operation; /* without the v and the number of elements */
	bool d_signed, a_signed, b_signed, sat;
	uint32_t n, bits;                      /* elements of a destination; of a scalar one its own width */
	char second[8];                        /* add, min, max or nothing */
	uint32_t d_part, a_part, b_part;       /* scalar: 0, or 1 + byte, 5 + half */
	uint32_t mask, a_parts[4], b_parts[4]; /* of the others */
	const char *compare;
	bool clamps, plus_one;
	uint32_t shift;
	bool negate_a, negate_b, negate_c;
} now;

static char body[512];

static bool is(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

static uint32_t draw(uint32_t below)
{
	return (uint32_t)(conform_random() >> 20) % below;
}

static wide part(uint64_t value, uint32_t first_bit, uint32_t bits, bool is_signed)
{
	wide result = (wide)(value >> first_bit & ((1ULL << bits) - 1));

	return is_signed && result >> (bits - 1) ? result - ((wide)1 << bits) : result;
}

static wide scalar_part(uint64_t value, uint32_t selector, bool is_signed)
{
	if (selector == 0)
		return part(value, 0, 32, is_signed);
	return selector < 5 ? part(value, (selector - 1) * 8, 8, is_signed)
			    : part(value, (selector - 5) * 16, 16, is_signed);
}

static wide compute(wide a, wide b)
{
	uint64_t count = (uint64_t)b & 0xffffffff;

	if (is(now.operation, "add"))
		return a + b;
	if (is(now.operation, "sub"))
		return a - b;
	if (is(now.operation, "absdiff"))
		return a < b ? b - a : a - b;
	if (is(now.operation, "min"))
		return a < b ? a : b;
	if (is(now.operation, "max"))
		return a < b ? b : a;
	if (is(now.operation, "avrg")) {
		/* to the nearest, halves up when the sum is not negative, down otherwise */
		wide sum = a + b + (a + b >= 0);

		return sum >= 0 ? sum / 2 : -((1 - sum) / 2);
	}
	if (is(now.operation, "set"))
		return is(now.compare, "eq")   ? a == b
		       : is(now.compare, "ne") ? a != b
		       : is(now.compare, "lt") ? a < b
		       : is(now.compare, "le") ? a <= b
		       : is(now.compare, "gt") ? a > b
					       : a >= b;
	count = now.clamps ? (count > 32 ? 32 : count) : count % 32;
	if (is(now.operation, "shl"))
		return a * ((wide)1 << count);
	return a >= 0 ? a / ((wide)1 << count) : -((-a + ((wide)1 << count) - 1) / ((wide)1 << count));
}

static wide clamped(wide x, uint32_t bits)
{
	wide high = ((wide)1 << (now.d_signed ? bits - 1 : bits)) - 1, low = now.d_signed ? -high - 1 : 0;

	return x < low ? low : x > high ? high : x;
}

static uint64_t scalar(uint64_t a, uint64_t b, uint64_t c)
{
	uint32_t bits = now.d_part == 0 ? 32 : now.d_part < 5 ? 8 : 16, at;
	wide result = compute(scalar_part(a, now.a_part, now.a_signed), scalar_part(b, now.b_part, now.b_signed));
	wide third = part(c, 0, 32, now.d_signed);

	if (now.sat)
		result = clamped(result, bits);
	if (now.d_part != 0) {
		at = now.d_part < 5 ? (now.d_part - 1) * 8 : (now.d_part - 5) * 16;
		return (c & ~(((1ULL << bits) - 1) << at)) | ((uint64_t)result & ((1ULL << bits) - 1)) << at;
	}
	result = part((uint64_t)result, 0, 32, now.d_signed);
	if (is(now.second, ".add"))
		result += third;
	if (is(now.second, ".min"))
		result = result < third ? result : third;
	if (is(now.second, ".max"))
		result = result > third ? result : third;
	return (uint64_t)result;
}

static uint64_t elements(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t both = b << 32 | a, field = (1ULL << now.bits) - 1, result = c;

	for (uint32_t i = 0; i < now.n; i++) {
		wide x = part(both, now.a_parts[i] * now.bits, now.bits, now.a_signed);
		wide y = part(both, now.b_parts[i] * now.bits, now.bits, now.b_signed);

		if (!(now.mask >> i & 1))
			continue;
		x = compute(x, y);
		if (now.sat)
			x = clamped(x, now.bits);
		if (is(now.second, ".add"))
			result += (uint64_t)x;
		else
			result = (result & ~(field << i * now.bits)) | ((uint64_t)x & field) << i * now.bits;
	}
	return result;
}

static uint64_t mad(uint64_t a, uint64_t b, uint64_t c)
{
	bool any_signed = now.a_signed || now.b_signed || now.negate_a != now.negate_b || now.negate_c;
	wide sum = scalar_part(a, now.a_part, now.a_signed) * scalar_part(b, now.b_part, now.b_signed);
	wide third = part(c, 0, 32, any_signed);

	sum = now.negate_a != now.negate_b ? -sum : sum;
	sum += (now.negate_c ? -third : third) + now.plus_one;
	if (now.shift != 0)
		sum = sum >= 0 ? sum >> now.shift : -((-sum + ((wide)1 << now.shift) - 1) >> now.shift);
	return (uint64_t)(now.sat ? clamped(sum, 32) : sum);
}

static const char *type(bool is_signed)
{
	return is_signed ? ".s32" : ".u32";
}

static void run(uint64_t (*reference)(uint64_t, uint64_t, uint64_t))
{
	const struct conform_case one = { body, CONFORM_INT, 32, 32, reference, NULL };

	conform_run(&one, 1);
}

static void random_types(uint32_t round)
{
	memset(&now, 0, sizeof(now));
	now.d_signed = round & 1;
	now.a_signed = round & 2;
	now.b_signed = round & 4;
	now.sat = round & 8;
}

static const char *const parts[] = { "", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1" };
static const char *const compares[] = { "eq", "ne", "lt", "le", "gt", "ge" };

static void single_results(void **state)
{
	static const char *const operations[] = { "add", "sub", "absdiff", "min", "max", "set", "shl", "shr" };
	static const char *const seconds[] = { "", ".add", ".min", ".max" };

	(void)state;
	for (size_t o = 0; o < sizeof(operations) / sizeof(operations[0]); o++)
		for (uint32_t round = 0; round < 32; round++) {
			bool shifts = o >= 6, compares_parts = o == 5, has_third;

			random_types(round);
			now.operation = operations[o];
			now.compare = compares[draw(6)];
			now.clamps = draw(2);
			now.a_part = draw(7);
			now.b_part = draw(7);
			now.d_part = round >= 16 ? draw(7) : 0;
			if (now.d_part == 0)
				strcpy(now.second, seconds[draw(4)]);
			if (shifts)
				now.b_signed = false;
			if (compares_parts)
				now.d_signed = now.sat = false;
			has_third = now.d_part != 0 || now.second[0] != '\0';
			snprintf(body, sizeof(body), "v%s%s%s%s%s%s%s%s%s %%d%s, %%a%s, %%b%s%s;", now.operation,
				 compares_parts ? "" : type(now.d_signed), type(now.a_signed), type(now.b_signed),
				 now.sat ? ".sat" : "", compares_parts ? "." : "", compares_parts ? now.compare : "",
				 shifts ? (now.clamps ? ".clamp" : ".wrap") : "", now.second, parts[now.d_part],
				 parts[now.a_part], parts[now.b_part], has_third ? ", %c" : "");
			run(scalar);
		}
}

static void products_and_sums(void **state)
{
	(void)state;
	for (uint32_t round = 0; round < 96; round++) {
		random_types(round);
		now.operation = "mad";
		now.a_part = draw(7);
		now.b_part = draw(7);
		now.shift = round / 16 % 3 == 1 ? 7 : round / 16 % 3 == 2 ? 15 : 0;
		if (round % 3 == 0)
			now.plus_one = true;
		else if (round % 3 == 1)
			now.negate_c = true;
		else
			now.negate_a = draw(2);
		snprintf(body, sizeof(body), "vmad%s%s%s%s%s%s %%d, %s%%a%s, %%b%s, %s%%c;", type(now.d_signed),
			 type(now.a_signed), type(now.b_signed), now.plus_one ? ".po" : "", now.sat ? ".sat" : "",
			 now.shift == 7    ? ".shr7"
			 : now.shift == 15 ? ".shr15"
					   : "",
			 now.negate_a ? "-" : "", parts[now.a_part], parts[now.b_part], now.negate_c ? "-" : "");
		run(mad);
	}
}

/* A selector of each element, the highest first; the usual one when `text` stays empty. */
static void random_parts(uint32_t first, uint32_t *ret_parts, char *text)
{
	bool usual = draw(2);

	text[0] = '\0';
	if (!usual)
		sprintf(text, ".%c", now.n == 2 ? 'h' : 'b');
	for (uint32_t i = now.n; i-- > 0;) {
		ret_parts[i] = usual ? first + i : draw(2 * now.n);
		if (!usual)
			sprintf(text + strlen(text), "%u", ret_parts[i]);
	}
}

static void results_side_by_side(void **state)
{
	static const char *const operations[] = { "add", "sub", "absdiff", "min", "max", "avrg", "set" };
	char mask[64], from_a[64], from_b[64];

	(void)state;
	for (size_t o = 0; o < sizeof(operations) / sizeof(operations[0]); o++)
		for (uint32_t round = 0; round < 64; round++) {
			bool compares_parts = o == 6;

			random_types(round);
			now.operation = operations[o];
			now.compare = compares[draw(6)];
			now.n = round & 16 ? 4 : 2;
			now.bits = 32 / now.n;
			now.mask = round & 32 ? 1 + draw((1u << now.n) - 1) : (1u << now.n) - 1;
			if (compares_parts)
				now.d_signed = now.sat = false;
			if (!now.sat && draw(2))
				strcpy(now.second, ".add");
			strcpy(mask, now.n == 2 ? ".h" : ".b");
			for (uint32_t i = now.n; i-- > 0;)
				if (now.mask >> i & 1)
					sprintf(mask + strlen(mask), "%u", i);
			random_parts(0, now.a_parts, from_a);
			random_parts(now.n, now.b_parts, from_b);
			snprintf(body, sizeof(body), "v%s%u%s%s%s%s%s%s%s %%d%s, %%a%s, %%b%s, %%c;", now.operation,
				 now.n, compares_parts ? "" : type(now.d_signed), type(now.a_signed),
				 type(now.b_signed), compares_parts ? "." : "", compares_parts ? now.compare : "",
				 now.sat ? ".sat" : "", now.second, round & 32 ? mask : "", from_a, from_b);
			run(elements);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(single_results),
		cmocka_unit_test(products_and_sums),
		cmocka_unit_test(results_side_by_side),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
