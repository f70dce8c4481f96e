/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_settings_file.c - the fuzz target for files of settings: any bytes as such a file. Aborts when a promise is
 * broken. Deterministic; keeps nothing between inputs.
 */
#include "fuzz_decoder.h"

#include "settings_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void demand(int condition, const char *what)
{
	if (!condition) {
		fprintf(stderr, "fuzz: %s\n", what);
		abort();
	}
}

static void hear(void *context, const char *text)
{
	unsigned *n_complaints = context;
	++*n_complaints;
	demand(strncmp(text, "conf.json:", 10) == 0, "a complaint names the file");
	demand(strcmp(text, "conf.json: out of memory; nothing in it is used") != 0,
	       "what json_check.c accepts, cJSON parses");
	for (const char *at = text; *at != '\0'; at++)
		demand((unsigned char)*at >= ' ', "a complaint is one line");
}

static void check_settings(const struct warpspan_settings *settings, const uint32_t *lines, size_t n_lines)
{
	static char text[WARPSPAN_TEXT_BYTES];
	for (unsigned i = 0; i < WARPSPAN_N_SETTINGS; i++) {
		demand(lines[i] <= n_lines, "a line of the file");
		demand(warpspan_setting_text(settings, i, text, sizeof(text)), "a value has a text");
		demand(lines[i] == 0 || warpspan_setting_valid(&warpspan_setting_infos[i], text),
		       "a good value was set");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	static struct warpspan_settings settings, before;
	uint32_t lines[WARPSPAN_N_SETTINGS];
	unsigned n_complaints = 0;
	size_t n_lines = 1;
	char *text = malloc(n_bytes + 1);
	demand(text != NULL, "out of memory");
	if (n_bytes > 0)
		memcpy(text, bytes, n_bytes);
	text[n_bytes] = '\0';
	for (size_t i = 0; i < n_bytes; i++)
		n_lines += text[i] == '\n';
	for (unsigned i = 0; i < WARPSPAN_N_SETTINGS; i++)
		(void)warpspan_setting_parse(i, warpspan_setting_infos[i].default_text, &before);
	settings = before;
	warpspan_settings_file_apply("conf.json", text, n_bytes, &settings, lines, hear, &n_complaints);
	check_settings(&settings, lines, n_lines);
	free(text);
	return 0;
}
