/* SPDX-License-Identifier: Apache-2.0
 *
 * test_memory.c - loads and stores: every type and vector in every space, directly and through generic addresses, and
 * every cache operator and order that PTX has for them.
 *
 * Random bytes; the reference cuts them out of an array on the host. What lies beside a store has to stay.
 */
#include "conform.h"
#include "scenario.h"

#include <stdio.h>
#include <string.h>

#define N_THREADS 96u
#define N_BLOCKS  2u
#define N_LANES   (N_THREADS * N_BLOCKS)
#define LANE      SCENARIO_LANE_BYTES

struct type {
	const char *name;
	uint32_t bytes;
	bool is_signed;
};

static const struct type types[] = {
	{ "b8", 1, false },  { "u8", 1, false },  { "s8", 1, true },   { "b16", 2, false }, { "u16", 2, false },
	{ "s16", 2, true },  { "b32", 4, false }, { "u32", 4, false }, { "s32", 4, true },  { "b64", 8, false },
	{ "u64", 8, false }, { "s64", 8, true },  { "f32", 4, false }, { "f64", 8, false },
};

#define N_TYPES (sizeof(types) / sizeof(types[0]))

static uint8_t in[N_LANES * LANE], out[N_LANES * LANE], start[N_LANES * LANE];
static char body[16384];

/* Where the bytes are: how a lane gets the address of its LANE bytes into %d0, and what it calls the space. */
struct space {
	const char *name;
	const char *suffix;
	const char *address;
	bool is_global; /* the data is there already, and results are seen from the host */
	bool can_store;
};

#define SHARED_ADDRESS "mul.lo.u32 %r0, %ti, 64; add.u32 %r0, %r0, %smem;"

static const struct space spaces[] = {
	{ "global", ".global", "mov.u64 %d0, %mine;", true, true },
	{ "generic to global", "", "mov.u64 %d0, %mine;", true, true },
	{ "shared", ".shared", SHARED_ADDRESS " cvt.u64.u32 %d0, %r0;", false, true },
	{ "shared::cta", ".shared::cta", SHARED_ADDRESS " cvt.u64.u32 %d0, %r0;", false, true },
	{ "shared::cluster", ".shared::cluster",
	  SHARED_ADDRESS " mapa.shared::cluster.u32 %r0, %r0, 0; cvt.u64.u32 %d0, %r0;", false, true },
	{ "generic to shared", "", SHARED_ADDRESS " cvt.u64.u32 %d0, %r0; cvta.shared.u64 %d0, %d0;", false, true },
	{ "local", ".local", ".local .align 64 .b8 loc[64]; mov.u64 %d0, loc;", false, true },
	{ "generic to local", "", ".local .align 64 .b8 loc[64]; mov.u64 %d0, loc; cvta.local.u64 %d0, %d0;", false,
	  true },
	{ "const", ".const", "mov.u64 %d0, bank; mul.wide.u32 %d1, %lane, 64; add.u64 %d0, %d0, %d1;", false, false },
};

#define N_SPACES (sizeof(spaces) / sizeof(spaces[0]))

static void randomise(uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		bytes[i] = (uint8_t)(conform_random() >> 24);
}

static uint64_t extended(const uint8_t *from, const struct type *type)
{
	uint64_t value = 0;

	memcpy(&value, from, type->bytes);
	if (type->is_signed && type->bytes < 8 && value >> (8 * type->bytes - 1))
		value |= UINT64_MAX << (8 * type->bytes);
	return value;
}

/* The registers of a vector, with the width that the type needs, or the widest where it may be wider. */
static void add_registers(const struct type *type, uint32_t n, uint32_t first)
{
	const char *prefix = type->name[0] != 'f' ? "%d" : type->bytes == 4 ? "%f" : "%fd";

	if (type->name[0] == 'f')
		first = 0;
	scenario_add(body, sizeof(body), n == 1 ? "" : "{");
	for (uint32_t i = 0; i < n; i++)
		scenario_add(body, sizeof(body), "%s%s%u", i == 0 ? "" : ",", prefix, first + i);
	scenario_add(body, sizeof(body), n == 1 ? "" : "}");
}

static void add_vector(uint32_t n)
{
	if (n > 1)
		scenario_add(body, sizeof(body), ".v%u", n);
}

/* The lane's bytes from the input to %d0, or back from there to its place in the output. */
static void add_transfer(const struct space *space, bool to_space)
{
	for (uint32_t i = 0; i < LANE; i += 8) {
		if (to_space)
			scenario_add(body, sizeof(body), "ld.global.b64 %%d3, [%%mine+%u]; st%s.b64 [%%d0+%u], %%d3;\n",
				     i, space->suffix, i);
		else
			scenario_add(body, sizeof(body), "ld%s.b64 %%d3, [%%d0+%u]; st.global.b64 [%%my+%u], %%d3;\n",
				     space->suffix, i, i);
	}
}

static const char *const_bank(void)
{
	static char text[32768];

	snprintf(text, sizeof(text), ".const .align 64 .b8 bank[%u] = {", 32 * LANE);
	for (uint32_t i = 0; i < 32 * LANE; i++)
		scenario_add(text, sizeof(text), i == 0 ? "%u" : ",%u", in[i]);
	scenario_add(text, sizeof(text), "};\n");
	return text;
}

static void run(const struct space *space, const void *before)
{
	scenario_run(&(struct scenario){ .functions = strcmp(space->name, "const") == 0 ? const_bank() : NULL,
					 .body = body,
					 .blocks = N_BLOCKS,
					 .threads = N_THREADS,
					 .shared_bytes = N_THREADS * LANE,
					 .in = in,
					 .in_bytes = sizeof(in),
					 .out = out,
					 .out_bytes = sizeof(out),
					 .out_start = before });
}

/* A load of `n` elements at `offset`, each stored as 64 bits. */
static void check_load(const struct space *space, const char *modifiers, const struct type *type, uint32_t n,
		       uint32_t offset)
{
	bool is_const = strcmp(space->name, "const") == 0;

	randomise(in, sizeof(in));
	snprintf(body, sizeof(body), "%s\n", space->address);
	if (!space->is_global && space->can_store)
		add_transfer(space, true);
	scenario_add(body, sizeof(body), "ld%s", modifiers);
	add_vector(n);
	scenario_add(body, sizeof(body), ".%s ", type->name);
	add_registers(type, n, 8);
	scenario_add(body, sizeof(body), ", [%%d0+%u];\n", offset);
	for (uint32_t i = 0; i < n; i++) {
		if (type->name[0] != 'f')
			scenario_add(body, sizeof(body), "st.global.b64 [%%my+%u], %%d%u;\n", i * 8, 8 + i);
		else if (type->bytes == 8)
			scenario_add(body, sizeof(body), "st.global.f64 [%%my+%u], %%fd%u;\n", i * 8, i);
		else
			scenario_add(body, sizeof(body), "st.global.f32 [%%my+%u], %%f%u;\n", i * 8, i);
	}
	run(space, NULL);
	for (uint32_t lane = 0; lane < N_LANES; lane++)
		for (uint32_t i = 0; i < n; i++) {
			uint32_t row = is_const ? lane % N_THREADS % 32 : lane;
			uint64_t wanted = extended(in + row * LANE + offset + i * type->bytes, type), got;

			memcpy(&got, out + lane * LANE + i * 8, 8);
			if (got != wanted)
				fail_msg("ld%s.v%u.%s (%s) +%u: lane %u, element %u: %llx, not %llx", modifiers, n,
					 type->name, space->name, offset, lane, i, (unsigned long long)got,
					 (unsigned long long)wanted);
		}
}

/* A store of `n` elements, which are the first of the lane's input, at `offset`. */
static void check_store(const struct space *space, const char *modifiers, const struct type *type, uint32_t n,
			uint32_t offset)
{
	randomise(in, sizeof(in));
	randomise(start, sizeof(start));
	snprintf(body, sizeof(body), "%s\n", space->is_global ? "mov.u64 %d0, %my;" : space->address);
	if (!space->is_global)
		add_transfer(space, true);
	for (uint32_t i = 0; i < n; i++) {
		if (type->name[0] != 'f')
			scenario_add(body, sizeof(body), "ld.global.b64 %%d%u, [%%mine+%u];\n", 8 + i, i * 8);
		else if (type->bytes == 8)
			scenario_add(body, sizeof(body), "ld.global.f64 %%fd%u, [%%mine+%u];\n", i, i * 8);
		else
			scenario_add(body, sizeof(body), "ld.global.f32 %%f%u, [%%mine+%u];\n", i, i * 8);
	}
	scenario_add(body, sizeof(body), "st%s", modifiers);
	add_vector(n);
	scenario_add(body, sizeof(body), ".%s [%%d0+%u], ", type->name, offset);
	add_registers(type, n, 8);
	scenario_add(body, sizeof(body), ";\n");
	if (!space->is_global)
		add_transfer(space, false);
	run(space, start);
	for (uint32_t lane = 0; lane < N_LANES; lane++) {
		uint8_t wanted[LANE];

		memcpy(wanted, (space->is_global ? start : in) + lane * LANE, LANE);
		for (uint32_t i = 0; i < n; i++)
			memcpy(wanted + offset + i * type->bytes, in + lane * LANE + i * 8, type->bytes);
		if (memcmp(wanted, out + lane * LANE, LANE) != 0)
			fail_msg("st%s.v%u.%s (%s) +%u: lane %u differs", modifiers, n, type->name, space->name, offset,
				 lane);
	}
}

/* The largest access is 16 bytes; of global memory 32, of elements of 4 and 8 bytes. */
static bool vector_exists(const struct space *space, const struct type *type, uint32_t n)
{
	if (n * type->bytes <= 16)
		return n <= 4;
	return n * type->bytes == 32 && strcmp(space->suffix, ".global") == 0;
}

static void every_type_in_every_space(void **state)
{
	(void)state;
	for (size_t s = 0; s < N_SPACES; s++)
		for (size_t t = 0; t < N_TYPES; t++)
			for (uint32_t n = 1; n <= 8; n *= 2) {
				uint32_t size = n * types[t].bytes;

				if (!vector_exists(&spaces[s], &types[t], n))
					continue;
				check_load(&spaces[s], spaces[s].suffix, &types[t], n, size < 32 ? 64 - 2 * size : 32);
				if (spaces[s].can_store)
					check_store(&spaces[s], spaces[s].suffix, &types[t], n, size < 32 ? size : 32);
			}
}

static void expand(char *to, size_t room, const char *format, const char *space)
{
	const char *mark = strchr(format, '#');

	snprintf(to, room, "%.*s%s%s", (int)(mark - format), format, space, mark + 1);
}

/* '#' stands for the space. */
static const char *const load_forms[] = {
	"#.ca",
	"#.cg",
	"#.cs",
	"#.lu",
	"#.cv",
	".volatile#",
	".weak#",
	".relaxed.cta#",
	".relaxed.cluster#",
	".relaxed.gpu#",
	".relaxed.sys#",
	".acquire.cta#",
	".acquire.cluster#",
	".acquire.gpu#",
	".acquire.sys#",
};

static const char *const store_forms[] = {
	"#.wb",          "#.cg",          "#.cs",          "#.wt",
	".volatile#",    ".weak#",        ".relaxed.cta#", ".relaxed.cluster#",
	".relaxed.gpu#", ".relaxed.sys#", ".release.cta#", ".release.cluster#",
	".release.gpu#", ".release.sys#",
};

static const char *const global_loads[] = {
	".global.nc",
	".global.ca.nc",
	".global.cg.nc",
	".global.nc.L1::no_allocate",
	".global.nc.L1::no_allocate.L2::128B",
	".global.L1::evict_last",
	".global.L1::evict_first.L2::64B",
	".global.L1::evict_unchanged",
	".global.L1::evict_normal.L2::256B",
	".mmio.relaxed.sys.global",
};

static const char *const global_stores[] = {
	".global.L1::evict_last",  ".global.L1::evict_first",  ".global.L1::evict_unchanged",
	".global.L1::no_allocate", ".mmio.relaxed.sys.global",
};

static bool is_local(const struct space *space)
{
	return strstr(space->name, "local") != NULL;
}

static void every_operator_and_order(void **state)
{
	static const struct {
		uint32_t type, n;
	} shapes[] = { { 2, 1 }, { 7, 1 }, { 12, 4 }, { 9, 2 } };
	char modifiers[128];

	(void)state;
	for (size_t shape = 0; shape < sizeof(shapes) / sizeof(shapes[0]); shape++) {
		const struct type *type = &types[shapes[shape].type];
		uint32_t n = shapes[shape].n;

		for (size_t s = 0; s < N_SPACES; s++) {
			for (size_t i = 0; i < sizeof(load_forms) / sizeof(load_forms[0]) && spaces[s].can_store; i++) {
				/* Orders are of memory that others see. */
				if (is_local(&spaces[s]) && load_forms[i][0] == '.')
					continue;
				expand(modifiers, sizeof(modifiers), load_forms[i], spaces[s].suffix);
				check_load(&spaces[s], modifiers, type, n, 16);
			}
			for (size_t i = 0; i < sizeof(store_forms) / sizeof(store_forms[0]) && spaces[s].can_store;
			     i++) {
				if (is_local(&spaces[s]) && store_forms[i][0] == '.')
					continue;
				expand(modifiers, sizeof(modifiers), store_forms[i], spaces[s].suffix);
				check_store(&spaces[s], modifiers, type, n, 32);
			}
		}
		for (size_t i = 0; i < sizeof(global_loads) / sizeof(global_loads[0]); i++)
			check_load(&spaces[0], global_loads[i], type, n, 48);
		for (size_t i = 0; i < sizeof(global_stores) / sizeof(global_stores[0]); i++)
			check_store(&spaces[0], global_stores[i], type, n, 16);
	}
}

/* 16 bytes in one register: every space, and in and out of pairs. */
static void registers_of_128_bits(void **state)
{
	(void)state;
	for (size_t s = 0; s < N_SPACES; s++) {
		if (!spaces[s].can_store)
			continue;
		randomise(in, sizeof(in));
		snprintf(body, sizeof(body), "%s\n", spaces[s].address);
		if (!spaces[s].is_global)
			add_transfer(&spaces[s], true);
		scenario_add(
			body, sizeof(body),
			"ld%s.b128 %%q1, [%%d0+16]; mov.b128 {%%d4, %%d5}, %%q1; mov.b128 %%q2, {%%d5, %%d4};\n"
			"mov.b128 %%q3, %%q2; st%s.b128 [%%d0+32], %%q3; ld%s.b64 %%d6, [%%d0+32]; ld%s.b64 %%d7, "
			"[%%d0+40];\n"
			"st.global.b64 [%%my], %%d6; st.global.b64 [%%my+8], %%d7; st.global.b128 [%%my+16], %%q1;",
			spaces[s].suffix, spaces[s].suffix, spaces[s].suffix, spaces[s].suffix);
		run(&spaces[s], NULL);
		for (uint32_t lane = 0; lane < N_LANES; lane++) {
			const uint8_t *from = in + lane * LANE, *to = out + lane * LANE;

			assert_memory_equal(to, from + 24, 8);
			assert_memory_equal(to + 8, from + 16, 8);
			assert_memory_equal(to + 16, from + 16, 16);
		}
	}
}

/* Which window an address is in, as a number of bits: global, shared, local, const. */
static void addresses_know_their_space(void **state)
{
	static const char *const names[] = { "global", "shared", "shared::cta", "shared::cluster", "local", "const" };
	/* Of an address of: global, shared, local and constant memory. */
	static const uint32_t wanted[4] = { 0x01, 0x0e, 0x10, 0x20 };

	(void)state;
	strcpy(body, ".local .align 8 .b8 loc[16]; mov.u64 %d0, %my; mov.u64 %d1, %gsmem; mov.u64 %d2, loc;\n"
		     "cvta.local.u64 %d2, %d2; mov.u64 %d3, bank; cvta.const.u64 %d3, %d3;\n");
	for (uint32_t address = 0; address < 4; address++) {
		scenario_add(body, sizeof(body), "mov.u32 %%r0, 0;\n");
		for (uint32_t i = 0; i < 6; i++)
			scenario_add(body, sizeof(body),
				     "isspacep.%s %%p0, %%d%u; selp.u32 %%r1, %u, 0, %%p0; or.b32 %%r0, %%r0, %%r1;\n",
				     names[i], address, 1u << i);
		scenario_add(body, sizeof(body), "st.global.u32 [%%my+%u], %%r0;\n", address * 4);
	}
	/* There and back again. */
	strcat(body,
	       "cvta.to.shared.u64 %d4, %d1; cvta.shared.u64 %d4, %d4; sub.u64 %d4, %d4, %d1; st.global.b64 [%my+16], "
	       "%d4;\n"
	       "cvta.to.local.u64 %d4, %d2; mov.u64 %d5, loc; sub.u64 %d4, %d4, %d5; st.global.b64 [%my+24], %d4;\n"
	       "cvta.to.global.u64 %d4, %d0; sub.u64 %d4, %d4, %d0; st.global.b64 [%my+32], %d4;\n"
	       "cvta.to.const.u64 %d4, %d3; mov.u64 %d5, bank; sub.u64 %d4, %d4, %d5; st.global.b64 [%my+40], %d4;");
	scenario_run(&(struct scenario){ .functions = ".const .align 64 .b8 bank[64];\n",
					 .body = body,
					 .threads = 32,
					 .shared_bytes = 64,
					 .out = out,
					 .out_bytes = 32 * LANE });
	for (uint32_t lane = 0; lane < 32; lane++) {
		static const uint8_t zero[32];

		assert_memory_equal(out + lane * LANE, wanted, sizeof(wanted));
		assert_memory_equal(out + lane * LANE + 16, zero, sizeof(zero));
	}
}

/* st.bulk clears just its bytes, of its own shared memory. */
static void bulk_stores_clear(void **state)
{
	(void)state;
	for (uint32_t bytes = 0; bytes <= 1024; bytes = bytes * 3 + 8) {
		randomise(in, sizeof(in));
		snprintf(body, sizeof(body), "%s\n", spaces[2].address);
		add_transfer(&spaces[2], true);
		scenario_add(
			body, sizeof(body),
			"bar.sync 0; setp.eq.u32 %%p0, %%ti, 0; add.u32 %%r2, %%smem, 24; add.u64 %%d9, %%gsmem, "
			"4096;\n"
			"@%%p0 st.bulk.weak.shared::cta [%%r2], %u, 0; @%%p0 st.bulk [%%d9+8], %u, 0; bar.sync 0;\n",
			bytes, bytes);
		add_transfer(&spaces[2], false);
		run(&spaces[2], NULL);
		for (uint32_t i = 0; i < sizeof(in); i++) {
			uint32_t at = i % (N_THREADS * LANE);
			bool cleared = (at >= 24 && at < 24 + bytes) || (at >= 4104 && at < 4104 + bytes);

			assert_int_equal(out[i], cleared ? 0 : in[i]);
		}
	}
}

static int finish(void **state)
{
	(void)state;
	scenario_close();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_in_every_space), cmocka_unit_test(every_operator_and_order),
		cmocka_unit_test(registers_of_128_bits),     cmocka_unit_test(addresses_know_their_space),
		cmocka_unit_test(bulk_stores_clear),
	};

	return cmocka_run_group_tests(tests, NULL, finish);
}
