/* SPDX-License-Identifier: Apache-2.0
 *
 * test_ctl.c BUILD - `warpspan ctl` and what else may come in at the socket.
 */
#include "support.h"

#include "control_socket.h"
#include "steps.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* --- a program that does one step after the other --------------------------------------------- */

static pid_t guest;
static FILE *guest_in, *guest_out;

static void begin_guest(const char *setting)
{
	int in[2], out[2];
	char where[128];

	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	snprintf(where, sizeof(where), "WARPSPAN_OUT=%s/%%n", folder);
	guest = fork();
	if (guest == 0) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		close(in[1]);
		close(out[0]);
		putenv((char *)steps_preload());
		putenv(where);
		putenv((char *)"WARPSPAN_LOG=error");
		if (setting != NULL)
			putenv((char *)setting);
		execl(steps_path(), steps_path(), "-", NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	guest_in = fdopen(in[1], "w");
	guest_out = fdopen(out[0], "r");
	assert_non_null(guest_in);
	assert_non_null(guest_out);
}

/* The program does the step, and says what became of it. */
static void let_do(const char *step, const char *wanted)
{
	char line[256];

	fprintf(guest_in, "%s\n", step);
	fflush(guest_in);
	if (fgets(line, sizeof(line), guest_out) == NULL)
		fail_msg("the program is gone at '%s'", step);
	line[strcspn(line, "\n")] = '\0';
	assert_string_equal(line, wanted);
}

/* It ends as if nobody had asked it anything. */
static void end_guest(void)
{
	int status = -1;

	fclose(guest_in);
	assert_int_equal(waitpid(guest, &status, 0), guest);
	fclose(guest_out);
	assert_int_equal(status, 0);
	guest = 0;
}

/* Lets it end, from a handler. */
static void say_exit(int signal)
{
	(void)!write(fileno(guest_in), "exit:0\n", strlen("exit:0\n"));
}

static int clean_up(void **state)
{
	if (guest > 0) {
		kill(guest, SIGKILL);
		waitpid(guest, NULL, 0);
	}
	guest = 0;
	return remove_folder(state);
}

/* --- who asks it ------------------------------------------------------------------------------ */

/* `warpspan ctl PID WORDS`, which exits with `exit_status`. */
static void ctl(pid_t pid, const char *words, int exit_status, struct run_result *ret)
{
	struct run run = { .arguments = { steps_command(), "ctl" }, .timeout_s = 60 };
	char number[16], *copy = strdup(words), *rest = copy;
	unsigned n = 2;

	snprintf(number, sizeof(number), "%d", (int)pid);
	run.arguments[n++] = number;
	for (char *word; (word = strsep(&rest, " ")) != NULL && n < RUN_MAX_ARGUMENTS - 1;)
		run.arguments[n++] = word;
	run_program(&run, ret);
	free(copy);
	if (ret->exit_status != exit_status)
		fail_msg("ctl %s exited with %d, not %d:\n%s%s", words, ret->exit_status, exit_status, ret->out,
			 ret->err);
}

static void assert_ctl(const char *words, int exit_status, const char *out, const char *err)
{
	struct run_result result;

	ctl(guest, words, exit_status, &result);
	assert_holds(result.out, out);
	assert_holds(result.err, err);
	run_result_finish(&result);
}

static int connect_to_guest(void)
{
	struct sockaddr_un address;
	socklen_t bytes;
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && warpspan_control_address(guest, &address, &bytes) &&
	    connect(fd, (const struct sockaddr *)&address, bytes) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* What it answers, or NULL; the caller frees it. */
static char *ask(const char *request)
{
	const int fd = connect_to_guest();
	char *answer = NULL;

	if (fd < 0)
		return NULL;
	if (warpspan_control_send(fd, request, 5000))
		answer = warpspan_control_receive(fd, 20000);
	close(fd);
	return answer;
}

static void assert_grids(const char *path, unsigned grids)
{
	struct warpspan_model *model = NULL;
	struct warpspan_error error;

	if (warpspan_model_load(path, &model, &error) != WARPSPAN_OK)
		fail_msg("%s", error.text);
	assert_int_equal(steps_grids(model, "step"), grids);
	warpspan_model_destroy(model);
}

/* --- what it is for --------------------------------------------------------------------------- */

static void ctl_says_how_things_are(void **state)
{
	begin_guest(NULL);
	let_do("sync", "sync 0");
	assert_ctl("status", 0, "state     idle\n", "");
	assert_ctl("status", 0, "no kernel with warpspan.cuh was launched yet", "");
	let_do("launch:1", "launch 0");
	assert_ctl("status", 0,
		   "state     active; session 1 was started by the first launch of a kernel with warpspan.cuh at ", "");
	assert_ctl("status", 0, in_folder("1.wspan"), "");
	assert_ctl("status", 0, "kernel    step(int*)", "");
	assert_ctl("status", 0, "counter   launches_recorded: 1", "");
	end_guest();
}

static void ctl_starts_and_stops(void **state)
{
	char words[128];

	begin_guest("WARPSPAN_START=api");
	let_do("launch:1", "launch 0");
	let_do("sync", "sync 0");
	snprintf(words, sizeof(words), "start KERNEL=step OUT=%s/mine", folder);
	assert_ctl(words, 0, "session 1 is active\n", "");
	assert_ctl("start", 1, "", "a session is already active: started by `warpspan ctl` (process ");
	let_do("launch:2", "launch 0");
	let_do("other:1", "other 0");
	assert_ctl("stop", 0, in_folder("mine.wspan"), "");
	assert_ctl("stop", 1, "", "no session is active");
	assert_grids(in_folder("mine.wspan"), 2);
	assert_ctl("toggle", 0, "session 2 is active\n", "");
	let_do("launch:3", "launch 0");
	assert_ctl("toggle", 0, in_folder("2.wspan"), "");
	assert_grids(in_folder("2.wspan"), 3);
	end_guest();
}

static void ctl_stops_what_the_program_started(void **state)
{
	begin_guest("WARPSPAN_START=api");
	let_do("start", "start 0");
	let_do("launch:2", "launch 0");
	assert_ctl("stop", 0, in_folder("1.wspan"), "");
	let_do("stop:1000", "stop -2");
	let_do("start", "start 0");
	end_guest();
	assert_int_equal(steps_captures(), 2);
}

static void ctl_takes_no_wrong_settings(void **state)
{
	char *answer;

	begin_guest("WARPSPAN_START=api");
	let_do("sync", "sync 0");
	assert_ctl("start FORMAT=pftraces", 2, "", "pftrace");
	assert_ctl("start START=now", 2, "", "START");
	assert_ctl("stop KERNEL=x", 2, "", "takes no settings");
	assert_ctl("halt", 2, "", "is not an action");
	/* Nor from others who ask. */
	answer = ask("{\"command\":\"start\",\"settings\":[\"FORMAT=pftraces\"]}");
	assert_non_null(answer);
	assert_holds(answer, "\"error\":-7");
	free(answer);
	let_do("active", "active 0");
	end_guest();
	assert_int_equal(steps_captures(), 0);
}

static void ctl_shows_a_kernel_that_hangs(void **state)
{
	struct warpspan_model *model = NULL;
	struct warpspan_error error;

	begin_guest(NULL);
	let_do("hold", "hold 0");
	assert_ctl("snapshot", 0, in_folder("1.snapshot1.wspan"), "");
	if (warpspan_model_load(in_folder("1.snapshot1.wspan"), &model, &error) != WARPSPAN_OK)
		fail_msg("%s", error.text);
	assert_int_equal(steps_grids(model, "hold"), 1);
	warpspan_model_destroy(model);
	assert_ctl("snapshot", 0, in_folder("1.snapshot2.wspan"), "");
	assert_ctl("stop --timeout 800ms", 0, in_folder("1.wspan"), "");
	assert_ctl("snapshot", 1, "", "no session is active");
	let_do("release", "release 0");
	end_guest();
}

static void two_stops_at_once_both_get_the_file(void **state)
{
	struct run_result result;
	char script[256];

	begin_guest("WARPSPAN_START=api");
	let_do("start", "start 0");
	let_do("hold", "hold 0");
	/* Each waits for the kernel, for as long as the first one has said. */
	snprintf(script, sizeof(script), "$0 ctl -t 2s %d stop & sleep 0.3; $0 ctl -t 20s %d stop; wait", (int)guest,
		 (int)guest);
	run_program(&(struct run){ .arguments = { "sh", "-c", script, steps_command() } }, &result);
	snprintf(script, sizeof(script), "%s\n%s\n", in_folder("1.wspan"), in_folder("1.wspan"));
	assert_string_equal(result.out, script);
	run_result_finish(&result);
	let_do("release", "release 0");
	end_guest();
}

/* The end of the program gives the kernel less than the stop does, and whoever asked hears of it. */
static void a_stop_that_the_end_overtakes_gets_the_file(void **state)
{
	struct run_result result;
	struct warpspan_model *model;
	char script[256];

	begin_guest("WARPSPAN_EXIT_TIMEOUT=700ms");
	let_do("launch:2", "launch 0");
	let_do("hold", "hold 0");
	snprintf(script, sizeof(script), "$0 ctl -t 40s %d stop & sleep 0.3; kill -USR2 %d; wait", (int)guest,
		 (int)getpid());
	assert_true(signal(SIGUSR2, say_exit) != SIG_ERR);
	run_program(&(struct run){ .arguments = { "sh", "-c", script, steps_command() } }, &result);
	snprintf(script, sizeof(script), "%s\n", in_folder("1.wspan"));
	assert_string_equal(result.out, script);
	assert_true(result.seconds < 10);
	run_result_finish(&result);
	end_guest();
	model = steps_load(1);
	assert_true(model->complete);
	assert_int_equal(steps_grids(model, "step"), 2);
	warpspan_model_destroy(model);
}

/* --- who may not ------------------------------------------------------------------------------ */

static void ctl_finds_nobody_where_nobody_listens(void **state)
{
	struct run_result result;

	begin_guest("WARPSPAN_CTL=0");
	let_do("launch:1", "launch 0");
	assert_ctl("status", 1, "", "has libwarpspan.so loaded but does not listen");
	end_guest();
	ctl(getpid(), "status", 1, &result);
	assert_holds(result.err, "runs without libwarpspan.so");
	run_result_finish(&result);
	ctl(0x3fffffff, "status", 1, &result);
	assert_holds(result.err, "there is no process 1073741823");
	run_result_finish(&result);
}

/* As another user: what the child finds is its exit status. */
static int ask_as_nobody(void)
{
	const int fd = connect_to_guest();
	char *answer;

	if (fd < 0)
		return 3; /* no connection is as good */
	(void)warpspan_control_send(fd, "{\"command\":\"status\"}", 1000);
	answer = warpspan_control_receive(fd, 5000);
	return answer == NULL || answer[0] == '\0' ? 3 : 1;
}

static void ctl_is_for_the_same_user_only(void **state)
{
	int status = 0;
	pid_t child;

	if (getuid() != 0)
		skip();
	begin_guest(NULL);
	let_do("launch:1", "launch 0");
	child = fork();
	if (child == 0)
		_exit(setuid(65534) == 0 ? ask_as_nobody() : 2);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(WEXITSTATUS(status), 3);
	assert_ctl("status", 0, "state     active", "");
	end_guest();
}

/* --- what nobody should send ------------------------------------------------------------------ */

static void send_bytes(const char *bytes, size_t n)
{
	const int fd = connect_to_guest();

	assert_true(fd >= 0);
	/* It may hang up before all is sent. */
	(void)send(fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)shutdown(fd, SHUT_WR);
	(void)warpspan_control_receive(fd, 100);
	close(fd);
}

static void garbage_is_answered_by_hanging_up(void **state)
{
	static char big[100000];
	int silent[4];

	begin_guest(NULL);
	let_do("launch:1", "launch 0");
	send_bytes("", 0);
	send_bytes("\0\0\0\0", 4);
	send_bytes("status", 6);
	send_bytes("[]", 2);
	send_bytes("{\"command\":7}", 13);
	memset(big, '[', sizeof(big));
	send_bytes(big, 60000);
	send_bytes(big, sizeof(big));
	for (size_t i = 0; i < sizeof(big); i++)
		big[i] = (char)(i * 2654435761u >> 13);
	send_bytes(big, 5000);
	/* Those that say nothing hold nobody up. */
	for (size_t i = 0; i < 4; i++)
		silent[i] = connect_to_guest();
	assert_ctl("status", 0, "state     active", "");
	for (size_t i = 0; i < 4; i++)
		close(silent[i]);
	assert_ctl("stop", 0, in_folder("1.wspan"), "");
	assert_grids(in_folder("1.wspan"), 1);
	end_guest();
}

static void *ask_once(void *ret_good)
{
	char *answer = ask("{\"command\":\"status\"}");

	*(bool *)ret_good = answer != NULL && strstr(answer, "\"phase\":\"active\"") != NULL;
	free(answer);
	return NULL;
}

static void a_hundred_who_ask_at_once_are_all_answered(void **state)
{
	pthread_t threads[100];
	bool good[100] = { false };
	unsigned n_good = 0;

	begin_guest(NULL);
	let_do("launch:1", "launch 0");
	for (int i = 0; i < 100; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask_once, &good[i]), 0);
	for (int i = 0; i < 100; i++) {
		pthread_join(threads[i], NULL);
		n_good += good[i];
	}
	assert_int_equal(n_good, 100);
	end_guest();
}

/* --- requests at random ----------------------------------------------------------------------- */

static uint32_t random_state = 20261130;

static uint32_t pick(uint32_t n)
{
	random_state = random_state * 1664525u + 1013904223u;
	return (random_state >> 8) % n;
}

static void put_value(FILE *to, unsigned depth);

static void put_members(FILE *to, unsigned depth, bool named)
{
	static const char *const names[] = { "command", "timeout_ms", "settings", "path", "", "error" };

	for (uint32_t i = 0, n = pick(4); i < n; i++) {
		if (named)
			fprintf(to, "%s\"%s\":", i > 0 ? "," : "", names[pick(6)]);
		else if (i > 0)
			fputc(',', to);
		put_value(to, depth + 1);
	}
}

static void put_value(FILE *to, unsigned depth)
{
	static const char *const texts[] = {
		"start",
		"stop",
		"toggle",
		"status",
		"snapshot",
		"KERNEL=*",
		"KERNEL=",
		"OUT=",
		"OUT=/nowhere/x",
		"FORMAT=none",
		"BUFFER=1",
		"=",
		"",
		"EVENTS_PER_WARP=-1",
		"DURATION=1ms",
		"\\u0000",
		"\\ud800",
		"%n%n%s%s",
	};
	static const char *const plain[] = { "0",    "-1",      "1e999",
					     "1",    "20",      "null",
					     "true", "-1e-999", "18446744073709551616" };

	switch (pick(depth > 4 ? 2 : 4)) {
	case 0:
		fprintf(to, "\"%s\"", texts[pick(sizeof(texts) / sizeof(texts[0]))]);
		break;
	case 1:
		fputs(plain[pick(sizeof(plain) / sizeof(plain[0]))], to);
		break;
	case 2:
		fputc('[', to);
		put_members(to, depth, false);
		fputc(']', to);
		break;
	default:
		fputc('{', to);
		put_members(to, depth, true);
		fputc('}', to);
		break;
	}
}

static char *make_request(void)
{
	static const char *const commands[] = { "start", "stop", "toggle", "status", "snapshot" };
	char *text = NULL;
	size_t bytes;
	FILE *to = open_memstream(&text, &bytes);

	assert_non_null(to);
	if (pick(3) == 0) {
		put_value(to, 0);
	} else {
		fprintf(to, "{\"command\":\"%s\",\"timeout_ms\":%u,\"settings\":", commands[pick(5)], pick(50));
		put_value(to, 1);
		fputc('}', to);
	}
	fclose(to);
	if (bytes > 0 && pick(10) == 0)
		text[pick((uint32_t)bytes)] ^= (char)(1 + pick(127));
	return text;
}

static void requests_at_random_do_no_harm(void **state)
{
	unsigned n_answers = 0;
	char out[128];

	snprintf(out, sizeof(out), "WARPSPAN_FORMAT=none");
	begin_guest(out);
	let_do("launch:1", "launch 0");
	for (unsigned i = 0; i < 1000; i++) {
		char *request = make_request(), *answer = ask(request);

		n_answers += answer != NULL && answer[0] != '\0';
		if (kill(guest, 0) != 0)
			fail_msg("it did not outlive: %s", request);
		free(request);
		free(answer);
		if (i % 100 == 0)
			let_do("launch:1", "launch 0");
	}
	print_message("%u of 1000 requests were answered\n", n_answers);
	assert_true(n_answers > 300);
	assert_ctl("status", 0, "state     ", "");
	end_guest();
}

/* The thread that answers runs before there is a socket. */
static void a_session_with_a_time_before_the_first_call_of_cuda(void **state)
{
	begin_guest("WARPSPAN_START=api");
	let_do("start:DURATION=10m", "start 0");
	let_do("launch:1", "launch 0");
	assert_ctl("status", 0, "state     active; session 1", "");
	assert_ctl("stop", 0, "/1.wspan\n", "");
	end_guest();
}

static double cpu_seconds(pid_t pid)
{
	clockid_t clock;
	struct timespec used;

	assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
	assert_int_equal(clock_gettime(clock, &used), 0);
	return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

static void a_program_without_descriptors_left_answers_when_it_has_some(void **state)
{
	double before;
	char *answer;
	int fd;

	begin_guest(NULL);
	let_do("launch:1", "launch 0");
	let_do("sync", "sync 0");
	let_do("descriptors:3", "descriptors 0");
	fd = connect_to_guest();
	assert_true(fd >= 0);
	sleep(1); /* it takes note, and goes to sleep again */
	before = cpu_seconds(guest);
	sleep(1);
	assert_true(cpu_seconds(guest) - before < 0.3);
	let_do("descriptors:1024", "descriptors 0");
	assert_true(warpspan_control_send(fd, "{\"command\":\"status\"}", 5000));
	answer = warpspan_control_receive(fd, 5000);
	assert_non_null(answer);
	assert_holds(answer, "\"phase\":\"active\"");
	free(answer);
	close(fd);
	end_guest();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, clean_up)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(ctl_says_how_things_are),
		TEST(ctl_starts_and_stops),
		TEST(ctl_stops_what_the_program_started),
		TEST(ctl_takes_no_wrong_settings),
		TEST(ctl_shows_a_kernel_that_hangs),
		TEST(two_stops_at_once_both_get_the_file),
		TEST(a_stop_that_the_end_overtakes_gets_the_file),
		TEST(ctl_finds_nobody_where_nobody_listens),
		TEST(ctl_is_for_the_same_user_only),
		TEST(garbage_is_answered_by_hanging_up),
		TEST(a_hundred_who_ask_at_once_are_all_answered),
		TEST(requests_at_random_do_no_harm),
		TEST(a_session_with_a_time_before_the_first_call_of_cuda),
		TEST(a_program_without_descriptors_left_answers_when_it_has_some),
	};

	if (argc != 2)
		return 2;
	steps_init(argv[1]);
	/* A program that is gone is told by what it answers. */
	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
