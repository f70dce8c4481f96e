/* SPDX-License-Identifier: Apache-2.0
 *
 * test_ptx.c - the lexer and the parser: what they accept, what they say, what they survive.
 *
 * Arguments: PTX files that nvcc wrote. Each must load; cut short or altered it must load or be refused, never crash.
 */
#include "../support.h"

#include "ptx_lex.h"
#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char **corpus;
static int n_corpus;

/* --- lexer ------------------------------------------------------------------------------------ */

static void check_token(const char *text, enum ptx_token_kind kind, const char *part, uint64_t value)
{
	struct ptx_lexer lexer;
	struct ptx_token token;

	ptx_lexer_init(&lexer, text, strlen(text));
	ptx_lexer_next(&lexer, &token);
	assert_int_equal(token.kind, kind);
	assert_int_equal(token.length, strlen(part));
	assert_memory_equal(token.text, part, token.length);
	if (kind == PTX_TOKEN_INT || kind == PTX_TOKEN_FLOAT)
		assert_int_equal(token.value, value);
}

static void tokens_end_where_they_should(void **state)
{
	(void)state;
	check_token("add.s32", PTX_TOKEN_WORD, "add", 0);
	check_token(".shared::cta.b64", PTX_TOKEN_DOTTED, ".shared::cta", 0);
	check_token("%r12+4", PTX_TOKEN_WORD, "%r12", 0);
	check_token("$L__BB0_1:", PTX_TOKEN_WORD, "$L__BB0_1", 0);
	check_token("_,", PTX_TOKEN_WORD, "_", 0);
	check_token("  // c\n /* x\n */ 17;", PTX_TOKEN_INT, "17", 17);
	check_token("0XFF(x)", PTX_TOKEN_INT, "0XFF", 255);
	check_token("0b101U", PTX_TOKEN_INT, "0b101U", 5);
	check_token("017", PTX_TOKEN_INT, "017", 15);
	check_token("18446744073709551615", PTX_TOKEN_INT, "18446744073709551615", UINT64_MAX);
	check_token("18446744073709551616", PTX_TOKEN_BAD, "18446744073709551616", 0);
	check_token("0f3F800000", PTX_TOKEN_FLOAT, "0f3F800000", 0x3f800000);
	check_token("0d4000000000000000", PTX_TOKEN_FLOAT, "0d4000000000000000", 0x4000000000000000);
	check_token("2.5", PTX_TOKEN_FLOAT, "2.5", 0x4004000000000000);
	check_token("12abc", PTX_TOKEN_BAD, "12", 0);
	check_token("\"a b\";", PTX_TOKEN_STRING, "\"a b\"", 0);
	check_token("\"a", PTX_TOKEN_BAD, "\"a", 0);
	check_token("% ", PTX_TOKEN_BAD, "%", 0);
	check_token("\x01", PTX_TOKEN_BAD, "\x01", 0);
	check_token("", PTX_TOKEN_END, "", 0);
}

/* --- errors ----------------------------------------------------------------------------------- */

static void check_error(const char *ptx, enum sim_status status, const char *words)
{
	struct sim_device *device = rig_device(NULL);
	struct sim_module *module = NULL;
	char log[4096];
	enum sim_status is = sim_module_load(device, ptx, strlen(ptx), log, sizeof(log), &module);

	if (is != status || strstr(log, words) == NULL)
		fail_msg("status %d, not %d; '%s' wanted in\n%s", is, status, words, log);
	assert_null(module);
	/* Without a log it is the same. */
	assert_int_equal(sim_module_load(device, ptx, strlen(ptx), NULL, 0, &module), status);
	sim_device_destroy(device);
}

#define IN_KERNEL(body) \
	PTX_HEAD ".entry k(.param .u64 p)\n{\n.reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p1;\n" body "\nret;\n}\n"

static void errors_say_where_and_what(void **state)
{
	(void)state;
	check_error("", SIM_INVALID_PTX, "not PTX");
	check_error("int main() {}", SIM_INVALID_PTX, "line 1: a directive expected before 'int'");
	check_error(IN_KERNEL("add.s32 %r1, %r2;"), SIM_INVALID_PTX, "line 7: kernel k: ',' expected before ';'");
	check_error(IN_KERNEL("add.s32 %r1, %r2, %rd1;"), SIM_INVALID_PTX,
		    "register '%rd1' does not fit type .s32 in 'add.s32'");
	check_error(IN_KERNEL("add.s32 %r1, %r2, %r9;"), SIM_UNSUPPORTED_PTX, "'%r9' is not declared");
	check_error(IN_KERNEL("bra NOWHERE;"), SIM_INVALID_PTX, "line 7: kernel k: label 'NOWHERE' is not defined");
	check_error(IN_KERNEL("A: ret; A: ret;"), SIM_INVALID_PTX, "label 'A' is defined twice");
	check_error(
		IN_KERNEL("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 %r1;"), SIM_UNSUPPORTED_PTX,
		"line 7: kernel k: instruction 'wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16' is not supported");
	check_error(IN_KERNEL("tex.2d.v4.f32.f32 {%f1}, [t, {%f2}];"), SIM_UNSUPPORTED_PTX,
		    "instruction 'tex.2d.v4.f32.f32' is not supported: textures");
	check_error(IN_KERNEL("frobnicate.u32 %r1, %r2;"), SIM_INVALID_PTX, "'frobnicate.u32' is not an instruction");
	check_error(IN_KERNEL("text.u32 %r1, %r2;"), SIM_INVALID_PTX, "'text.u32' is not an instruction");
	check_error(IN_KERNEL("and.b32.b32 %r1, %r2, %r3;"), SIM_INVALID_PTX,
		    "more types than it has in 'and.b32.b32'");
	check_error(IN_KERNEL("add.approx.s32 %r1, %r2, %r3;"), SIM_UNSUPPORTED_PTX,
		    "instruction 'add.approx.s32' is not supported");
	check_error(IN_KERNEL("setp.ltu.s32 %p1, %r2, %r3;"), SIM_UNSUPPORTED_PTX, "'setp.ltu.s32'");
	check_error(IN_KERNEL("ld.param.u32 %r1, [p+9];"), SIM_INVALID_PTX, "outside of the parameter");
	check_error(IN_KERNEL("call missing, (p);"), SIM_INVALID_PTX, "a function expected before 'missing'");
	check_error(PTX_HEAD ".extern .func gone(.param .b32 a);\n.entry k() { .param .b32 x; call gone, (x); ret; }",
		    SIM_UNSUPPORTED_PTX, "line 5: kernel k: function gone is not defined");
	check_error(PTX_HEAD ".func f(.param .b32 a) { ret; }\n.entry k() { .param .b64 x; call f, (x); ret; }",
		    SIM_INVALID_PTX, "arguments that do not match");
	check_error(PTX_HEAD ".global .u32 a[2] = {1, 2, 3};", SIM_INVALID_PTX, "more values than 'a' has room for");
	check_error(PTX_HEAD ".global .u64 a = b;", SIM_INVALID_PTX, "'b' is not declared");
	check_error(PTX_HEAD ".global .u32 a; .global .u32 a;", SIM_INVALID_PTX, "'a' is declared twice");
	check_error(PTX_HEAD ".extern .global .u32 a; .entry k() { ret; }", SIM_INVALID_PTX,
		    "declared but not defined");
	check_error(PTX_HEAD ".entry k() { ret; }\n.entry k() { ret; }", SIM_INVALID_PTX, "'k' is defined twice");
	check_error(PTX_HEAD ".entry k() { .reg .b32 %r<2>; ", SIM_INVALID_PTX,
		    "'}' expected before the end of the text");
	check_error(".version 8.0\n.target sm_80\n.address_size 32\n", SIM_UNSUPPORTED_PTX, "64-bit");
}

/* One load reports all mistakes, each once and with its line; past reason it gives up. */
static void several_errors_are_reported(void **state)
{
	struct sim_device *device = rig_device(NULL);
	struct sim_module *module;
	static char ptx[32768], log[32768];
	const char *at = log;
	uint32_t n_lines = 0;

	(void)state;
	strcpy(ptx, PTX_HEAD ".entry k() {\n.reg .b32 %r<4>;\n");
	for (int i = 0; i < 40; i++)
		strcat(ptx, "{ wgmma.fence; }\nadd.u16 %r1, %r2, 1;\n");
	strcat(ptx, "ret; }\n.entry l() { ret; }\n");
	assert_int_equal(sim_module_load(device, ptx, strlen(ptx), log, sizeof(log), &module), SIM_UNSUPPORTED_PTX);
	for (; *at != '\0'; at = strchr(at, '\n') + 1, n_lines++) {
		char start[40];

		snprintf(start, sizeof(start), "line %u: kernel k: ", 6 + n_lines);
		if (strncmp(at, start, strlen(start)) != 0)
			fail_msg("'%.60s' does not start with '%s'", at, start);
	}
	assert_int_equal(n_lines, 80);
	strcpy(ptx, PTX_HEAD ".entry k() {\n.reg .b32 %r<4>;\n");
	for (int i = 0; i < 300; i++)
		strcat(ptx, "wgmma.fence;\nadd.u32 %r1, %r2, 1;\n");
	strcat(ptx, "ret; }\n");
	assert_int_equal(sim_module_load(device, ptx, strlen(ptx), log, sizeof(log), &module), SIM_UNSUPPORTED_PTX);
	assert_non_null(strstr(log, "line 404: "));
	assert_null(strstr(log, "line 406: "));
	assert_non_null(strstr(log, "too many errors"));
	sim_device_destroy(device);
}

/* A log that is too small is cut, not overrun. */
static void a_short_log_is_cut(void **state)
{
	struct sim_device *device = rig_device(NULL);
	struct sim_module *module;
	char log[24];

	(void)state;
	memset(log, 'x', sizeof(log));
	assert_int_equal(sim_module_load(device, "nonsense", 8, log, 20, &module), SIM_INVALID_PTX);
	assert_int_equal(strlen(log), 19);
	assert_memory_equal(log + 20, "xxxx", 4);
	sim_device_destroy(device);
}

static void deep_braces_are_refused(void **state)
{
	static char ptx[100000];
	struct sim_device *device = rig_device(NULL);
	struct sim_module *module;
	size_t n = (size_t)snprintf(ptx, sizeof(ptx), PTX_HEAD ".entry k() ");

	(void)state;
	memset(ptx + n, '{', 90000);
	assert_int_equal(sim_module_load(device, ptx, n + 90000, NULL, 0, &module), SIM_UNSUPPORTED_PTX);
	n = (size_t)snprintf(ptx, sizeof(ptx), PTX_HEAD ".global .b8 a[4] = ");
	memset(ptx + n, '{', 90000);
	assert_int_equal(sim_module_load(device, ptx, n + 90000, NULL, 0, &module), SIM_INVALID_PTX);
	sim_device_destroy(device);
}

/* Names declared in braces hide those outside and end with them; a label belongs to its braces. */
static void braces_are_scopes(void **state)
{
	static const char ptx[] = PTX_HEAD
		".visible .entry k(.param .u64 out)\n{ .reg .b32 %r<3>; .reg .b64 %rd1; ld.param.u64 %rd1, [out];\n"
		"mov.u32 %r1, 1;\n"
		"{ .reg .b32 %r1; .reg .pred P; mov.u32 %r1, 50; setp.ne.u32 P, %r1, 50; @P bra DONE; add.u32 %r2, "
		"%r1, 5; DONE: }\n"
		"{ .reg .pred P; setp.eq.u32 P, %r1, 1; @P bra DONE; mov.u32 %r1, 99; DONE: }\n"
		"st.global.v2.u32 [%rd1], {%r1, %r2}; ret; }\n";
	uint32_t results[2];

	(void)state;
	rig_once(ptx, 1, 1, results, sizeof(results));
	assert_int_equal(results[0], 1);
	assert_int_equal(results[1], 55);
}

/* The parts of a packed operand: registers, numbers of their width, and places nobody wants. */
static void operands_are_packed_and_unpacked(void **state)
{
	static const char ptx[] = PTX_HEAD
		".visible .entry k(.param .u64 out)\n{ .reg .b32 %r<6>; .reg .b64 %rd<3>; .reg .b16 %h<4>; "
		"ld.param.u64 %rd1, [out];\n"
		"mov.b16 %h1, 0x1234; mov.b32 %r1, {0, %h1}; mov.b32 %r2, {%h1, 7}; mov.b64 %rd2, {%r1, %r2};\n"
		"mov.b64 {_, %r3}, %rd2; mov.b32 {%h2, _}, %r3; cvt.u32.u16 %r4, %h2; mov.b64 {%h1, %h2, %h3, _}, "
		"%rd2;\n"
		"cvt.u32.u16 %r5, %h3;\n"
		"st.global.v4.u32 [%rd1], {%r1, %r2, %r4, %r5}; ret; }\n";
	uint32_t results[4];

	(void)state;
	rig_once(ptx, 1, 1, results, sizeof(results));
	assert_int_equal(results[0], 0x12340000);
	assert_int_equal(results[1], 0x00071234);
	assert_int_equal(results[2], 0x1234);
	assert_int_equal(results[3], 0x1234);
}

/* --- real text -------------------------------------------------------------------------------- */

static char *read_text(const char *path, size_t *ret_bytes)
{
	FILE *file = fopen(path, "rb");
	char *text;
	long bytes;

	assert_non_null(file);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	bytes = ftell(file);
	rewind(file);
	text = malloc((size_t)bytes + 1);
	assert_non_null(text);
	assert_int_equal(fread(text, 1, (size_t)bytes, file), bytes);
	fclose(file);
	text[bytes] = '\0';
	*ret_bytes = (size_t)bytes;
	return text;
}

static void what_nvcc_writes_loads(void **state)
{
	struct sim_device *device = rig_device(NULL);

	(void)state;
	for (int i = 0; i < n_corpus; i++) {
		size_t bytes;
		char *text = read_text(corpus[i], &bytes);
		struct sim_module *module = rig_load(device, text);
		struct sim_function_info info;

		assert_true(sim_module_n_functions(module) > 0);
		sim_function_info(sim_module_function_at(module, 0), &info);
		assert_in_range(info.target_sm, 75, 129);
		assert_in_range(info.ptx_version, 60, 99);
		sim_module_unload(module);
		free(text);
	}
	sim_device_destroy(device);
}

/* The same numbers on every machine. */
static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

/* From a copy without a terminator, so that a sanitizer sees a read behind the end. */
static void load_exact(struct sim_device *device, const char *text, size_t bytes)
{
	char *copy = malloc(bytes == 0 ? 1 : bytes);
	struct sim_module *module;
	char log[256];

	assert_non_null(copy);
	memcpy(copy, text, bytes);
	if (sim_module_load(device, copy, bytes, log, sizeof(log), &module) == SIM_OK)
		sim_module_unload(module);
	free(copy);
}

/* A piece of another place in the text: keeps the damage close to the grammar. */
static void splice(char *text, size_t bytes, uint32_t *seed)
{
	size_t n = next_random(seed) % 24 + 1, from, to;

	if (bytes <= n)
		return;
	from = next_random(seed) % (bytes - n);
	to = next_random(seed) % (bytes - n);
	memmove(text + to, text + from, n);
}

static void alter(char *text, size_t bytes, uint32_t *seed)
{
	static const char interesting[] = "{}()[]<>,;:.%$_@!|+-0123456789 \n\"/*abcxf";

	for (uint32_t n = next_random(seed) % 4 + 1; n > 0; n--) {
		if (next_random(seed) % 3 == 0)
			splice(text, bytes, seed);
		else if (next_random(seed) % 4 == 0)
			text[next_random(seed) % bytes] = (char)next_random(seed);
		else
			text[next_random(seed) % bytes] = interesting[next_random(seed) % (sizeof(interesting) - 1)];
	}
}

#define N_ALTERED 150

static void altered_text_never_crashes(void **state)
{
	struct sim_device *device = rig_device(NULL);
	uint64_t free_before, free_after, total;
	uint32_t seed = 1;

	(void)state;
	sim_mem_usage(device, &free_before, &total);
	for (int i = 0; i < n_corpus; i++) {
		size_t bytes;
		char *text = read_text(corpus[i], &bytes);
		char *copy = malloc(bytes);

		assert_non_null(copy);
		for (int k = 0; k < N_ALTERED; k++) {
			size_t start = next_random(&seed) % bytes, n = next_random(&seed) % (bytes - start) + 1;

			memcpy(copy, text, bytes);
			alter(copy, bytes, &seed);
			load_exact(device, copy, bytes);
			load_exact(device, text, start);
			/* A window around somewhere, altered more densely, behind a valid head. */
			if (n > 2000)
				n = 2000;
			memcpy(copy, PTX_HEAD, sizeof(PTX_HEAD) - 1);
			if (n < bytes - sizeof(PTX_HEAD)) {
				memcpy(copy + sizeof(PTX_HEAD) - 1, text + start, n);
				alter(copy + sizeof(PTX_HEAD) - 1, n, &seed);
				load_exact(device, copy, sizeof(PTX_HEAD) - 1 + n);
			}
		}
		free(copy);
		free(text);
	}
	/* Whatever was allocated for a module that failed has been given back. */
	sim_mem_usage(device, &free_after, &total);
	assert_int_equal(free_after, free_before);
	sim_device_destroy(device);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tokens_end_where_they_should),     cmocka_unit_test(errors_say_where_and_what),
		cmocka_unit_test(several_errors_are_reported),      cmocka_unit_test(a_short_log_is_cut),
		cmocka_unit_test(deep_braces_are_refused),          cmocka_unit_test(braces_are_scopes),
		cmocka_unit_test(operands_are_packed_and_unpacked), cmocka_unit_test(what_nvcc_writes_loads),
		cmocka_unit_test(altered_text_never_crashes),
	};

	corpus = argv + 1;
	n_corpus = argc - 1;
	return cmocka_run_group_tests_name("simgpu: PTX", tests, NULL, NULL);
}
