/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_builtin.c - the functions a kernel may call without defining them: vprintf, __assertfail, malloc, free.
 *
 * vprintf writes to stdout while the kernel runs, lane by lane. The argument block is laid out as C would: each
 * argument at its natural alignment. Runs on the thread of sim_launch(), with the callee's frame as warp->frame.
 */
#include "exec_ops.h"
#include "half.h"
#include "module.h"

#include <stdio.h>

#define MAX_TEXT 1024

static uint64_t param_u64(const struct sim_warp *warp, uint32_t index, uint32_t lane)
{
	const struct ptx_function *function = warp->frame->function;
	uint64_t value = 0;

	if (index < function->n_params)
		memcpy(&value,
		       warp->frame->params + (size_t)lane * function->params_bytes + function->params[index].offset,
		       function->params[index].bytes < sizeof(value) ? function->params[index].bytes : sizeof(value));
	return value;
}

static void give_result(struct sim_warp *warp, uint32_t lane, uint64_t value)
{
	const struct ptx_function *function = warp->frame->function;

	if (function->n_results == 1)
		memcpy(warp->frame->params + (size_t)lane * function->params_bytes + function->results[0].offset,
		       &value, function->results[0].bytes < sizeof(value) ? function->results[0].bytes : sizeof(value));
}

/* A C string of device memory, cut at the buffer's end; false after a fault. */
static bool read_string(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t lane, uint64_t address,
			char ret_text[MAX_TEXT])
{
	for (uint32_t i = 0; i < MAX_TEXT - 1; i++) {
		const char *from = lane_pointer(warp, insn, lane, PTX_M_NONE, address + i, 1);

		if (from == NULL)
			return false;
		ret_text[i] = *from;
		if (*from == '\0')
			return true;
	}
	ret_text[MAX_TEXT - 1] = '\0';
	return true;
}

/* The next argument of the block, of 4 or 8 bytes; false after a fault. */
static bool next_argument(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t lane, uint64_t *address,
			  uint32_t bytes, uint64_t *ret_value)
{
	const void *from;

	*address = (*address + bytes - 1) & ~(uint64_t)(bytes - 1);
	from = lane_pointer(warp, insn, lane, PTX_M_NONE, *address, bytes);
	if (from == NULL)
		return false;
	*ret_value = 0;
	memcpy(ret_value, from, bytes);
	*address += bytes;
	return true;
}

/* One conversion, "%-8.3lld" and the like, cut out of the format. */
struct conversion {
	char text[32];
	char letter;
	bool is_long;
	uint32_t n_stars; /* widths and precisions that are arguments, at most two */
};

static const char *parse_conversion(const char *format, struct conversion *ret_conversion)
{
	struct conversion conversion = { .letter = '\0' };
	size_t n = 0;

	conversion.text[n++] = *format++;
	while (*format != '\0' && strchr("-+ #0123456789.*hlzjt", *format) != NULL && n < sizeof(conversion.text) - 4) {
		if (*format == '*')
			conversion.n_stars++;
		if (*format == 'l' || *format == 'z' || *format == 'j' || *format == 't')
			conversion.is_long = true;
		else if (*format != 'h')
			conversion.text[n++] = *format;
		format++;
	}
	conversion.letter = *format;
	if (*format != '\0')
		format++;
	/* A 64-bit integer is long long for the host, whatever the kernel called it. */
	if (conversion.is_long && strchr("diouxX", conversion.letter) != NULL) {
		conversion.text[n++] = 'l';
		conversion.text[n++] = 'l';
	}
	conversion.text[n++] = conversion.letter;
	conversion.text[n] = '\0';
	*ret_conversion = conversion;
	return format;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
/* The conversion was checked letter by letter; its argument has the type that the letter says. */
static bool print_conversion(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t lane,
			     const struct conversion *conversion, uint64_t *arguments, char *to, size_t bytes)
{
	char text[MAX_TEXT];
	uint64_t value;

	switch (conversion->letter) {
	case 'd':
	case 'i':
	case 'o':
	case 'u':
	case 'x':
	case 'X':
		if (!next_argument(warp, insn, lane, arguments, conversion->is_long ? 8 : 4, &value))
			return false;
		if (conversion->is_long)
			snprintf(to, bytes, conversion->text, (long long)value);
		else
			snprintf(to, bytes, conversion->text, (int)value);
		return true;
	case 'c':
		if (!next_argument(warp, insn, lane, arguments, 4, &value))
			return false;
		snprintf(to, bytes, conversion->text, (int)value);
		return true;
	case 'e':
	case 'E':
	case 'f':
	case 'F':
	case 'g':
	case 'G':
	case 'a':
	case 'A':
		if (!next_argument(warp, insn, lane, arguments, 8, &value))
			return false;
		snprintf(to, bytes, conversion->text, bits_double(value));
		return true;
	case 'p':
		if (!next_argument(warp, insn, lane, arguments, 8, &value))
			return false;
		snprintf(to, bytes, conversion->text, (void *)(uintptr_t)value);
		return true;
	case 's':
		if (!next_argument(warp, insn, lane, arguments, 8, &value) ||
		    !read_string(warp, insn, lane, value, text))
			return false;
		snprintf(to, bytes, conversion->text, text);
		return true;
	case '%':
		snprintf(to, bytes, "%%");
		return true;
	default:
		snprintf(to, bytes, "%s", conversion->text);
		return true;
	}
}
#pragma GCC diagnostic pop

/* Puts the numbers that a '*' takes from the arguments into the conversion's text. */
static bool fill_in_stars(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t lane,
			  struct conversion *conversion, uint64_t *arguments)
{
	char text[sizeof(conversion->text)];
	size_t n = 0;

	if (conversion->n_stars == 0)
		return true;
	for (const char *from = conversion->text; *from != '\0'; from++) {
		uint64_t value;

		if (*from != '*') {
			if (n + 1 < sizeof(text))
				text[n++] = *from;
			continue;
		}
		if (!next_argument(warp, insn, lane, arguments, 4, &value))
			return false;
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%d", (int)value);
		n = n < sizeof(text) ? n : sizeof(text) - 1;
	}
	text[n] = '\0';
	memcpy(conversion->text, text, n + 1);
	return true;
}

/* *ret_result: the number of arguments that the format takes, -1 without a format. */
static bool print_lane(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t lane, int32_t *ret_result)
{
	uint64_t arguments = param_u64(warp, 1, lane);
	int32_t n_arguments = 0;
	char format[MAX_TEXT], line[4 * MAX_TEXT];
	const char *at = format;
	size_t n = 0;

	if (param_u64(warp, 0, lane) == 0) {
		*ret_result = -1;
		return true;
	}
	if (!read_string(warp, insn, lane, param_u64(warp, 0, lane), format))
		return false;
	while (*at != '\0' && n < sizeof(line) - 1) {
		struct conversion conversion;

		if (*at != '%') {
			line[n++] = *at++;
			continue;
		}
		at = parse_conversion(at, &conversion);
		line[n] = '\0';
		if (!fill_in_stars(warp, insn, lane, &conversion, &arguments) ||
		    !print_conversion(warp, insn, lane, &conversion, &arguments, line + n, sizeof(line) - n))
			return false;
		if (conversion.letter != '%' && conversion.letter != '\0')
			n_arguments++;
		n += strlen(line + n);
	}
	fwrite(line, 1, n, stdout);
	*ret_result = n_arguments;
	return true;
}

static void vprintf_lanes(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t mask)
{
	FOR_EACH_LANE(lane, mask)
	{
		int32_t result;

		if (!print_lane(warp, insn, lane, &result))
			return;
		give_result(warp, lane, (uint32_t)result);
	}
}

/* --- the heap --------------------------------------------------------------------------------- */

static void malloc_lanes(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t mask)
{
	FOR_EACH_LANE(lane, mask)
	{
		give_result(warp, lane, sim_heap_alloc(warp->launch->device, param_u64(warp, 0, lane)));
	}
}

static void free_lanes(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t mask)
{
	FOR_EACH_LANE(lane, mask)
	{
		uint64_t address = param_u64(warp, 0, lane);

		if (address != 0 && !sim_heap_free(warp->launch->device, address)) {
			warp_fault(warp, insn, lane, SIM_ILLEGAL_ADDRESS, "free of 0x%llx, which malloc did not give",
				   (unsigned long long)address);
			return;
		}
	}
}

/* (message, file, line, function, character size) */
static void assert_failed(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t mask)
{
	uint32_t lane = first_lane(mask);
	char message[MAX_TEXT], file[MAX_TEXT], function[MAX_TEXT];

	if (!read_string(warp, insn, lane, param_u64(warp, 0, lane), message) ||
	    !read_string(warp, insn, lane, param_u64(warp, 1, lane), file) ||
	    !read_string(warp, insn, lane, param_u64(warp, 3, lane), function))
		return;
	fflush(stdout);
	FOR_EACH_LANE(each, mask)
	{
		fprintf(stderr, "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n", file,
			(uint32_t)param_u64(warp, 2, lane), function, warp->block->ctaid[0], warp->block->ctaid[1],
			warp->block->ctaid[2], warp->tid[0][each], warp->tid[1][each], warp->tid[2][each], message);
	}
	warp_fault(warp, insn, lane, SIM_ASSERT, "assertion failed");
}

ptx_exec_fn *sim_builtin(const char *name)
{
	if (strcmp(name, "vprintf") == 0)
		return vprintf_lanes;
	if (strcmp(name, "__assertfail") == 0)
		return assert_failed;
	if (strcmp(name, "malloc") == 0)
		return malloc_lanes;
	if (strcmp(name, "free") == 0)
		return free_lanes;
	return NULL;
}
