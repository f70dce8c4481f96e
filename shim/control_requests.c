/* SPDX-License-Identifier: Apache-2.0
 *
 * control_requests.c - see control_requests.h.
 */
#include "control_requests.h"

#include "collector.h"
#include "control_socket.h"
#include "counters.h"
#include "decoder.h"
#include "ending.h"
#include "guard.h"
#include "log.h"
#include "output.h"
#include "registry.h"
#include "session.h"
#include "stopping.h"
#include "thread.h"
#include "util.h"

#include <cJSON.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_CONNECTIONS    8
#define REQUEST_PATIENCE_MS 5000u
/* How long a request waits for what it asks for, where it does not say. */
#define DEFAULT_TIMEOUT_MS 30000.0
#define LONGEST_TIMEOUT_MS (24 * 3600 * 1000.0)
#define MOST_SETTINGS      32

/* An answer in the making. */
struct answer {
	cJSON *json;
	const cJSON *request;
	pid_t peer;
	int error;
	struct warpspan_message message;
};

static void put_text(struct answer *answer, const char *key, const char *text)
{
	(void)cJSON_AddStringToObject(answer->json, key, text);
}

static void put_number(struct answer *answer, const char *key, double number)
{
	(void)cJSON_AddNumberToObject(answer->json, key, number);
}

static void say(struct answer *answer, const char *text)
{
	(void)snprintf(answer->message.text, sizeof(answer->message.text), "%s", text);
}

static struct warpspan_origin origin_of(const struct answer *answer)
{
	return warpspan_origin("`warpspan ctl` (process %ld)", (long)answer->peer);
}

static uint64_t timeout_ns(const struct answer *answer)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(answer->request, "timeout_ms");
	double ms = cJSON_IsNumber(item) ? item->valuedouble : DEFAULT_TIMEOUT_MS;

	ms = ms > 0 ? ms : 0;
	return (uint64_t)(ms < LONGEST_TIMEOUT_MS ? ms : LONGEST_TIMEOUT_MS) * WARPSPAN_NS_PER_MS;
}

/* --- the commands ----------------------------------------------------------------------------- */

static void answer_start(struct answer *answer)
{
	const cJSON *settings = cJSON_GetObjectItemCaseSensitive(answer->request, "settings"), *item;
	const struct warpspan_origin by = origin_of(answer);
	const char *assignments[MOST_SETTINGS + 1];
	unsigned n = 0;

	cJSON_ArrayForEach(item, settings) if (cJSON_IsString(item) && n < MOST_SETTINGS) assignments[n++] =
		item->valuestring;
	assignments[n] = NULL;
	answer->error = warpspan_session_start(&by, assignments, &answer->message);
	if (answer->error == 0) {
		struct warpspan_status status;

		warpspan_session_wait_armed();
		warpspan_session_status(&status);
		put_number(answer, "session", status.number);
	}
}

static void answer_stop(struct answer *answer)
{
	const struct warpspan_origin by = origin_of(answer);
	char path[WARPSPAN_TEXT_BYTES];
	unsigned number;

	answer->error = warpspan_stop_and_wait(&by, timeout_ns(answer), &number, &answer->message);
	if (answer->error == WARPSPAN_ERR_NOT_STARTED)
		return;
	put_number(answer, "session", number);
	if (warpspan_ending_path(number, &path))
		put_text(answer, "path", path);
}

static void answer_toggle(struct answer *answer)
{
	if (warpspan_session_runs())
		answer_stop(answer);
	else
		answer_start(answer);
	(void)cJSON_AddBoolToObject(answer->json, "active", warpspan_session_runs());
}

static void answer_snapshot(struct answer *answer)
{
	struct warpspan_settings *settings = malloc(sizeof(*settings));
	char path[WARPSPAN_TEXT_BYTES], reason[WARPSPAN_REASON_BYTES];
	struct warpspan_error error = { 0 };

	if (settings == NULL) {
		answer->error = WARPSPAN_ERR_NO_MEMORY;
		say(answer, warpspan_strerror(answer->error));
		return;
	}
	answer->error = warpspan_collector_snapshot(timeout_ns(answer), &path, &reason);
	if (answer->error != 0) {
		say(answer, reason);
	} else {
		put_text(answer, "path", path);
		warpspan_session_settings(settings);
		if (warpspan_export(path, warpspan_ending_formats(settings), NULL, NULL, &error) < 0) {
			answer->error = WARPSPAN_ERR_OUTPUT;
			say(answer, error.text);
		}
	}
	free(settings);
}

/* Everything that tells why a program is, or is not, recorded. */
static void answer_status(struct answer *answer)
{
	cJSON *counters = cJSON_AddObjectToObject(answer->json, "counters");
	cJSON *kernels = cJSON_AddArrayToObject(answer->json, "kernels");
	struct warpspan_status status;
	char digits[24], path[WARPSPAN_TEXT_BYTES];

	warpspan_session_status(&status);
	warpspan_output_copy_path(&path);
	put_text(answer, "phase", warpspan_phase_text(status.phase));
	put_number(answer, "session", status.number);
	if (status.number != 0) {
		put_text(answer, "started_by", status.origin.who);
		put_number(answer, "started_in_thread", status.origin.thread);
		(void)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)status.origin.realtime_ns);
		put_text(answer, "started_realtime_ns", digits);
	}
	if (status.phase == WARPSPAN_PHASE_ACTIVE || status.phase == WARPSPAN_PHASE_DRAINING)
		put_text(answer, "path", path);
	for (unsigned i = 0; i < WARPSPAN_N_COUNTERS && counters != NULL; i++)
		if (warpspan_counted((enum warpspan_counter)i) != 0)
			(void)cJSON_AddNumberToObject(counters, warpspan_counter_name((enum warpspan_counter)i),
						      (double)warpspan_counted((enum warpspan_counter)i));
	for (struct warpspan_kernel *kernel = NULL;
	     kernels != NULL && (kernel = warpspan_registry_next_kernel(kernel)) != NULL;)
		(void)cJSON_AddItemToArray(kernels, cJSON_CreateString(kernel->demangled));
}

static const struct {
	const char *name;
	void (*answer)(struct answer *);
} commands[] = {
	{ "start", answer_start },   { "stop", answer_stop },         { "toggle", answer_toggle },
	{ "status", answer_status }, { "snapshot", answer_snapshot },
};

/* --- connections ------------------------------------------------------------------------------ */

static void answer_request(struct answer *answer)
{
	const cJSON *command = cJSON_GetObjectItemCaseSensitive(answer->request, "command");

	for (size_t i = 0; cJSON_IsString(command) && i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(command->valuestring, commands[i].name) == 0) {
			commands[i].answer(answer);
			return;
		}
	answer->error = WARPSPAN_ERR_SETTING;
	say(answer, "this version of the library does not know the request");
}

static _Atomic int n_answering; /* requests that were understood */

void warpspan_control_wait_answers(uint64_t patience_ns)
{
	const struct timespec pause = { .tv_nsec = WARPSPAN_NS_PER_MS };
	const uint64_t until_ns = warpspan_now_ns() + patience_ns;

	while (atomic_load(&n_answering) != 0 && warpspan_now_ns() < until_ns)
		(void)nanosleep(&pause, NULL);
}

static void talk(int connection)
{
	struct answer answer = { .json = cJSON_CreateObject() };
	char *text = NULL;
	cJSON *request = NULL;

	if (answer.json != NULL && warpspan_control_peer(connection, &answer.peer))
		text = warpspan_control_receive(connection, REQUEST_PATIENCE_MS);
	if (text != NULL)
		request = cJSON_Parse(text);
	free(text);
	(void)atomic_fetch_add(&n_answering, 1);
	if (request != NULL && !atomic_load(&warpspan_off)) {
		answer.request = request;
		answer_request(&answer);
		put_number(&answer, "error", answer.error);
		put_text(&answer, "message", answer.message.text);
		text = cJSON_PrintUnformatted(answer.json);
		if (text != NULL)
			(void)warpspan_control_send(connection, text, REQUEST_PATIENCE_MS);
		cJSON_free(text);
	}
	(void)atomic_fetch_sub(&n_answering, 1);
	cJSON_Delete(request);
	cJSON_Delete(answer.json);
}

static _Atomic int n_connections;

struct connection {
	int fd;
	void (*when_over)(void);
};

static void *serve(void *argument)
{
	const struct connection connection = *(struct connection *)argument;

	free(argument);
	talk(connection.fd);
	(void)close(connection.fd);
	/* Release: whoever is told finds room. */
	(void)atomic_fetch_sub_explicit(&n_connections, 1, memory_order_release);
	connection.when_over();
	return NULL;
}

bool warpspan_control_has_room(void)
{
	return atomic_load_explicit(&n_connections, memory_order_acquire) < MOST_CONNECTIONS;
}

void warpspan_control_serve(int fd, void (*when_over)(void))
{
	struct connection *connection = malloc(sizeof(*connection));

	(void)atomic_fetch_add_explicit(&n_connections, 1, memory_order_relaxed);
	if (connection != NULL) {
		*connection = (struct connection){ .fd = fd, .when_over = when_over };
		if (warpspan_thread_start("warpspan-ask", serve, connection, NULL))
			return;
	}
	free(connection);
	(void)atomic_fetch_sub_explicit(&n_connections, 1, memory_order_relaxed);
	(void)close(fd);
}
