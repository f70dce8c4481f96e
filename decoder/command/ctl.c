/* SPDX-License-Identifier: Apache-2.0
 *
 * ctl.c - `warpspan ctl`: starts, stops and asks a process that runs with the library (shim/control_socket.h).
 */
#include "command.h"
#include "control_socket.h"
#include "settings.h"
#include "text.h"
#include "triggers.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* What the process may take beyond the time it was given. */
#define ANSWER_EXTRA_MS   5000u
#define SEND_PATIENCE_MS  5000u
#define DEFAULT_TIMEOUT_S 30.0
#define MOST_TIMEOUT_S    86400.0

static const char *const actions[] = { "start", "stop", "toggle", "status", "snapshot" };
#define N_ACTIONS (sizeof(actions) / sizeof(actions[0]))

static const char *text_of(const cJSON *answer, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(answer, key);

	return cJSON_IsString(item) ? item->valuestring : NULL;
}

static double number_of(const cJSON *answer, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(answer, key);

	return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

/* --- the connection --------------------------------------------------------------------------- */

static bool has_library(pid_t pid, bool *ret_readable)
{
	char path[64], line[8192];
	FILE *maps;
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%ld/maps", (long)pid);
	maps = fopen(path, "re");
	*ret_readable = maps != NULL;
	while (maps && !found && fgets(line, sizeof(line), maps))
		found = strstr(line, "libwarpspan") != NULL;
	if (maps)
		fclose(maps);
	return found;
}

/* Why nobody listens there. */
static void complain_deaf(const struct command *command, pid_t pid)
{
	bool readable;
	char path[64];
	struct stat process;

	snprintf(path, sizeof(path), "/proc/%ld", (long)pid);
	if (stat(path, &process) != 0)
		complain(command, "there is no process %ld", (long)pid);
	else if (process.st_uid != geteuid())
		complain(command, "process %ld is not yours: only its own user may control it", (long)pid);
	else if (has_library(pid, &readable))
		complain(command,
			 "process %ld has libwarpspan.so loaded but does not listen: it has not initialised CUDA yet, "
			 "or "
			 "runs with WARPSPAN_CTL=0, or is in another network namespace",
			 (long)pid);
	else if (readable)
		complain(command, "process %ld runs without libwarpspan.so; start it by `warpspan run`", (long)pid);
	else
		complain(command, "process %ld does not listen", (long)pid);
}

/* A connection to the process itself; -1 after a complaint. */
static int connect_to(const struct command *command, pid_t pid)
{
	struct sockaddr_un address;
	socklen_t bytes;
	pid_t peer = 0;
	int fd = -1;

	if (warpspan_control_address(pid, &address, &bytes))
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, bytes) != 0) {
		complain_deaf(command, pid);
	} else if (!warpspan_control_peer(fd, &peer) || peer != pid) {
		complain(command, "another process listens in the place of process %ld", (long)pid);
	} else {
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

/* NULL after a complaint; the caller deletes the answer. */
static cJSON *ask(const struct command *command, pid_t pid, const cJSON *request, unsigned timeout_ms)
{
	char *text = cJSON_PrintUnformatted(request);
	const int fd = text ? connect_to(command, pid) : -1;
	cJSON *answer = NULL;
	char *received = NULL;

	if (fd >= 0 && warpspan_control_send(fd, text, SEND_PATIENCE_MS))
		received = warpspan_control_receive(fd, timeout_ms + ANSWER_EXTRA_MS);
	if (received)
		answer = cJSON_Parse(received);
	if (fd >= 0 && !answer)
		complain(command, "process %ld does not answer: it is ending, or busy", (long)pid);
	free(received);
	cJSON_free(text);
	if (fd >= 0)
		close(fd);
	return answer;
}

/* --- answers ---------------------------------------------------------------------------------- */

static void print_status(const cJSON *answer)
{
	const char *by = text_of(answer, "started_by"), *at = text_of(answer, "started_realtime_ns");
	const char *path = text_of(answer, "path"), *phase = text_of(answer, "phase");
	const cJSON *item, *counters = cJSON_GetObjectItemCaseSensitive(answer, "counters");
	const cJSON *kernels = cJSON_GetObjectItemCaseSensitive(answer, "kernels");
	const time_t seconds = at ? (time_t)(strtoull(at, NULL, 10) / 1000000000u) : 0;
	char line[1024], time_text[32] = "";
	struct tm parts;

	if (at && localtime_r(&seconds, &parts))
		strftime(time_text, sizeof(time_text), "%F %T", &parts);
	printf("state     %s", phase ? text_clean(line, 64, phase) : "?");
	if (number_of(answer, "session") > 0)
		printf("; session %.0f", number_of(answer, "session"));
	if (by)
		printf(" was started by %s at %s in thread %.0f", text_clean(line, sizeof(line), by), time_text,
		       number_of(answer, "started_in_thread"));
	putchar('\n');
	if (path)
		printf("capture   %s\n", text_clean(line, sizeof(line), path));
	cJSON_ArrayForEach(item, kernels) if (cJSON_IsString(item))
		printf("kernel    %s\n", text_clean(line, sizeof(line), item->valuestring));
	cJSON_ArrayForEach(item, counters) if (cJSON_IsNumber(item))
		printf("counter   %s: %.0f\n", text_clean(line, 256, item->string), item->valuedouble);
	if (cJSON_GetArraySize(kernels) == 0)
		printf("no kernel with warpspan.cuh was launched yet\n");
}

static int print_answer(const struct command *command, pid_t pid, const char *action, const cJSON *answer)
{
	const char *message = text_of(answer, "message"), *path = text_of(answer, "path");
	const bool failed = number_of(answer, "error") != 0;
	char line[4200];

	if (failed)
		complain(command, "process %ld: %s", (long)pid,
			 text_clean(line, sizeof(line), message ? message : "?"));
	if (strcmp(action, "status") == 0)
		print_status(answer);
	else if (path)
		printf("%s\n", text_clean(line, sizeof(line), path));
	else if (!failed)
		printf("session %.0f %s\n", number_of(answer, "session"),
		       cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(answer, "active")) || strcmp(action, "start") == 0
			       ? "is active"
			       : "is stopped");
	return finish_output(command, failed ? EXIT_STATUS_TROUBLE : EXIT_STATUS_OK);
}

/* --- the command ------------------------------------------------------------------------------ */

static bool parse_pid(const char *text, pid_t *ret)
{
	char *end;
	long pid;

	errno = 0;
	pid = strtol(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || pid <= 0 || pid > INT32_MAX)
		return false;
	*ret = (pid_t)pid;
	return true;
}

/* Seconds, or with a unit as WARPSPAN_DURATION has it. */
static bool parse_timeout(const char *text, double *ret_ms)
{
	struct warpspan_settings *settings = calloc(1, sizeof(*settings));
	const bool good = settings && warpspan_setting_parse(WARPSPAN_SETTING_INDEX_DURATION, text, settings);

	if (good)
		*ret_ms = (double)settings->duration_ns / 1e6;
	free(settings);
	return good;
}

/* The settings of a start, checked here, where the user is. False after a complaint. */
static bool add_settings(const struct command *command, cJSON *request, char *const *assignments)
{
	struct warpspan_settings *settings = calloc(1, sizeof(*settings));
	cJSON *array = cJSON_AddArrayToObject(request, "settings");
	char error[512];
	bool good = settings && array;

	for (; good && *assignments; assignments++) {
		if (warpspan_settings_set(settings, *assignments, error, sizeof(error)) < 0) {
			complain(command, "%s", error);
			good = false;
			break;
		}
		good = cJSON_AddItemToArray(array, cJSON_CreateString(*assignments));
	}
	free(settings);
	return good;
}

static const char notes[] = "actions:\n"
			    "  status     print whether a session is active, who started it, and what was seen\n"
			    "  start      start one; NAME=VALUE sets it for this session (`warpspan settings`):\n"
			    "             warpspan ctl 4711 start KERNEL='gemm*' OUT=/tmp/gemm\n"
			    "  stop       stop it, wait until capture and timelines are written, print the path\n"
			    "  toggle     stop it, or start one\n"
			    "  snapshot   write what there is so far, kernels that hang included, to files of\n"
			    "             their own, and go on; prints the path\n";

int command_ctl(const struct command *command, int argc, char **argv)
{
	static const struct option_spec specs[] = {
		{ "timeout", 't', "TIME",
		  "how long stop, toggle and snapshot may take; three quarters are for kernels "
		  "to end (30s)" },
	};
	double timeout_ms = DEFAULT_TIMEOUT_S * 1000;
	struct options options;
	const char *action;
	cJSON *request, *answer = NULL;
	bool known = false;
	int status = EXIT_STATUS_TROUBLE;
	pid_t pid;

	options_init(&options, command, specs, sizeof(specs) / sizeof(specs[0]), notes, false, argc, argv);
	for (int index; (index = options_next(&options)) != OPTIONS_END;) {
		if (index == OPTIONS_EXIT)
			return options.exit_status;
		if (!parse_timeout(optarg, &timeout_ms) || timeout_ms > MOST_TIMEOUT_S * 1000)
			return options_mistake(command, "'%s' is not a time (500ms, 30s, 2m)", optarg);
	}
	if (argc - optind < 2)
		return options_mistake(command, "a process number and an action are needed");
	if (!parse_pid(argv[optind], &pid))
		return options_mistake(command, "'%s' is not a process number", argv[optind]);
	action = argv[optind + 1];
	for (size_t i = 0; i < N_ACTIONS; i++)
		known = known || strcmp(action, actions[i]) == 0;
	if (!known) {
		const char *near = nearest_word(action, actions, N_ACTIONS);

		return options_mistake(command, "'%s' is not an action%s%s", action, near ? "; the nearest is " : "",
				       near ? near : "");
	}
	if (argc - optind > 2 && strcmp(action, "start") != 0 && strcmp(action, "toggle") != 0)
		return options_mistake(command, "%s takes no settings", action);
	request = cJSON_CreateObject();
	if (request && cJSON_AddStringToObject(request, "command", action) &&
	    cJSON_AddNumberToObject(request, "timeout_ms", timeout_ms)) {
		if (!add_settings(command, request, argv + optind + 2)) {
			cJSON_Delete(request);
			return EXIT_STATUS_USAGE;
		}
		answer = ask(command, pid, request, (unsigned)timeout_ms);
	}
	if (answer)
		status = print_answer(command, pid, action, answer);
	cJSON_Delete(answer);
	cJSON_Delete(request);
	return status;
}
