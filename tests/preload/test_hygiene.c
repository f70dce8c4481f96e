/* SPDX-License-Identifier: Apache-2.0
 *
 * test_hygiene.c - what the library brings into a process: libc only, the names of hooks.def, a few bytes of TLS.
 *
 * Arguments: the library, shim/README.md, cudaTypedefs.h of the toolkit. With --print instead: the table of hooks for
 * README.md.
 */
#include "run.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Surplus static TLS is scarce: the loader keeps about 1.6 KB for all preloaded and late libraries together. */
#define MOST_TLS_BYTES 63ul

static const char *library, *readme, *typedefs;

#if defined(__aarch64__)
#define FIRST_GLIBC "GLIBC_2.17"
#else
#define FIRST_GLIBC "GLIBC_2.2.5"
#endif

static const char *const exported[] = {
	"dlsym@" FIRST_GLIBC, "dlsym@@GLIBC_2.34", "dlvsym@" FIRST_GLIBC,
	"dlvsym@@GLIBC_2.34", FIRST_GLIBC,         "GLIBC_2.34",
#define WARPSPAN_HOOK(name, ...)  #name,
#define WARPSPAN_OFFER(name, ...) #name,
#include "hooks.def"
/* One for each runtime, under its version node. */
#define WARPSPAN_RUNTIME_HOOK(name, ...) \
#name "@libcudart.so.11.0", #name "@libcudart.so.12", #name "@@libcudart.so.13",
#include "hooks.def"
/* The nodes themselves. */
#define WARPSPAN_RUNTIME(tag, soname) soname,
#include "runtime_versions.def"
};
#define N_EXPORTED (sizeof(exported) / sizeof(exported[0]))

static char *output_of(const char *const arguments[])
{
	struct run run = { .environment = { "LC_ALL=C" } };
	struct run_result result;
	char *out;

	for (unsigned i = 0; arguments[i] != NULL; i++)
		run.arguments[i] = arguments[i];
	assert_int_equal(run_program(&run, &result), 0);
	out = strdup(result.out);
	assert_non_null(out);
	run_result_finish(&result);
	return out;
}

static void T35_it_needs_only_the_c_library(void **state)
{
	char *out = output_of((const char *const[]){ "readelf", "-dW", library, NULL });
	char *rest = out;

	for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
		if (strstr(line, "(NEEDED)") == NULL)
			continue;
		/* libc, and what was part of it before glibc 2.34; the loader. */
		if (strstr(line, "[libc.so.6]") == NULL && strstr(line, "[libdl.so.2]") == NULL &&
		    strstr(line, "[libpthread.so.0]") == NULL && strstr(line, "[ld-linux") == NULL)
			fail_msg("needs more than libc: %s", line);
	}
	free(out);
}

/* Everything it leaves to be found is libc's, of a glibc that the systems it is built for have. */
#define NEWEST_GLIBC_MINOR 34

static void T35_it_asks_for_nothing_newer_than_its_oldest_system_has(void **state)
{
	char *out = output_of(
		(const char *const[]){ "nm", "-D", "--undefined-only", "--with-symbol-versions", library, NULL });
	char *rest = out;
	unsigned n = 0;

	for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
		const char *version = strstr(line, "@GLIBC_2.");

		/* What is weak may be missing: hooks of linkers and instrumentation. */
		if (line[0] == '\0' || strstr(line, " w ") != NULL)
			continue;
		if (version == NULL || strtol(version + strlen("@GLIBC_2."), NULL, 10) > NEWEST_GLIBC_MINOR)
			fail_msg("not of glibc 2.%d: %s", NEWEST_GLIBC_MINOR, line);
		n++;
	}
	assert_true(n > 0);
	free(out);
}

static bool is_expected(const char *name)
{
	for (unsigned i = 0; i < N_EXPORTED; i++)
		if (strcmp(exported[i], name) == 0)
			return true;
	return false;
}

static void T37_it_exports_what_it_hooks_and_no_more(void **state)
{
	char *out = output_of(
		(const char *const[]){ "nm", "-D", "--defined-only", "--with-symbol-versions", library, NULL });
	char *rest = out;
	unsigned n = 0;

	for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
		const char *name = strrchr(line, ' ');

		if (name == NULL)
			continue;
		if (!is_expected(name + 1))
			fail_msg("exported, but not in hooks.def: %s", name + 1);
		n++;
	}
	assert_int_equal(n, N_EXPORTED);
	free(out);
}

static void T36_it_keeps_little_per_thread(void **state)
{
	char *out = output_of((const char *const[]){ "readelf", "-lW", library, NULL });
	const char *tls = strstr(out, "\n  TLS ");
	unsigned long offset, virtual_address, physical_address, file_bytes, memory_bytes;

	assert_non_null(tls);
	assert_int_equal(sscanf(tls, "\n  TLS %lx %lx %lx %lx %lx", &offset, &virtual_address, &physical_address,
				&file_bytes, &memory_bytes),
			 5);
	assert_in_range(memory_bytes, 1, MOST_TLS_BYTES);
	free(out);
}

static void it_stays_loaded_and_binds_at_once(void **state)
{
	char *out = output_of((const char *const[]){ "readelf", "-dW", library, NULL });

	assert_non_null(strstr(out, "NODELETE"));
	assert_non_null(strstr(out, "NOW"));
	assert_null(strstr(out, "TEXTREL"));
	free(out);
}

/* _FORTIFY_SOURCE's functions are glibc's own; without them the library fails where it must fail, not at load. */
static void it_avoids_private_symbols_of_glibc(void **state)
{
	static const char *const avoided[] = { "_dl_sym", "__libc_dlsym", "__libc_dlopen_mode", "_chk@",
					       "__tls_get_addr" };
	char *out = output_of((const char *const[]){ "nm", "-D", "--undefined-only", library, NULL });

	for (unsigned i = 0; i < sizeof(avoided) / sizeof(avoided[0]); i++)
		if (strstr(out, avoided[i]) != NULL)
			fail_msg("uses %s", avoided[i]);
	free(out);
}

/* One row for each hook, as README.md has them. */
static const char hook_table[] = "| function | since | what for |\n"
				 "| --- | --- | --- |\n"
#define WARPSPAN_HOOK(name, asked, version, stream, parameters, arguments, before, after, purpose) \
	"| `" #name "` | " #version " | " purpose " |\n"
#define WARPSPAN_RUNTIME_HOOK(name, parameters, arguments, view, purpose) "| `" #name "` | | " purpose " |\n"
#include "hooks.def"
	;

static void the_readme_has_the_table_of_hooks(void **state)
{
	char *text = output_of((const char *const[]){ "cat", readme, NULL });

	if (strstr(text, hook_table) == NULL)
		fail_msg("shim/README.md has another table than hooks.def; --print writes it:\n%s", hook_table);
	free(text);
}

enum stream_kind {
	ANY,
	PTSZ,
};

static const struct {
	const char *asked;
	int version;
	enum stream_kind stream;
} forms[] = {
#define WARPSPAN_HOOK(name, asked, version, stream, ...) { asked, version, stream },
#include "hooks.def"
};
#define N_FORMS (sizeof(forms) / sizeof(forms[0]))

static bool has_form(const char *asked, int version, enum stream_kind stream)
{
	for (unsigned i = 0; i < N_FORMS; i++)
		if (strcmp(forms[i].asked, asked) == 0 && forms[i].version == version && forms[i].stream == stream)
			return true;
	return false;
}

/* cudaTypedefs.h names every form cuGetProcAddress can give: "(CUDAAPI *PFN_cuLaunchKernel_v7000_ptsz)". */
static void every_form_of_a_hooked_name_is_known(void **state)
{
	char *text = output_of((const char *const[]){ "cat", typedefs, NULL });
	unsigned n_found = 0;

	for (unsigned i = 0; i < N_FORMS; i++) {
		char start[128];
		const size_t length = (size_t)snprintf(start, sizeof(start), "(CUDAAPI *PFN_%s_v", forms[i].asked);

		for (const char *at = text; (at = strstr(at, start)) != NULL;) {
			char *end;
			int version;
			enum stream_kind stream;

			at += length;
			version = (int)strtol(at, &end, 10);
			stream = strncmp(end, "_ptsz)", 6) == 0 || strncmp(end, "_ptds)", 6) == 0 ? PTSZ : ANY;
			if (!has_form(forms[i].asked, version, stream))
				fail_msg("%s has a form of version %d (%s) that hooks.def lacks", forms[i].asked,
					 version, stream == PTSZ ? "per-thread stream" : "any stream");
			n_found++;
		}
	}
	assert_true(n_found >= N_FORMS);
	free(text);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(T35_it_needs_only_the_c_library),
		cmocka_unit_test(T35_it_asks_for_nothing_newer_than_its_oldest_system_has),
		cmocka_unit_test(T37_it_exports_what_it_hooks_and_no_more),
		cmocka_unit_test(T36_it_keeps_little_per_thread),
		cmocka_unit_test(it_stays_loaded_and_binds_at_once),
		cmocka_unit_test(it_avoids_private_symbols_of_glibc),
		cmocka_unit_test(the_readme_has_the_table_of_hooks),
		cmocka_unit_test(every_form_of_a_hooked_name_is_known),
	};

	if (argc == 2 && strcmp(argv[1], "--print") == 0)
		return fputs(hook_table, stdout) < 0;
	if (argc != 4)
		return 2;
	library = argv[1];
	readme = argv[2];
	typedefs = argv[3];
	return cmocka_run_group_tests_name("hygiene", tests, NULL, NULL);
}
