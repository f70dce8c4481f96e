/* SPDX-License-Identifier: Apache-2.0
 *
 * forks.cu SCENARIO [ARGUMENT] - programs with children, and what becomes of those.
 */
#include "small.cuh"

#include <warpspan.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern char **environ;

/* A child that hangs is ended, and told from one that is not. */
static const int CHILD_S = 20;
static const int CHILD_STATUS = 6;

static int wait_for(pid_t child)
{
	int status = 0;

	if (waitpid(child, &status, 0) != child)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int n_threads()
{
	DIR *tasks = opendir("/proc/self/task");
	int n = 0;

	while (tasks != nullptr && readdir(tasks) != nullptr)
		n++;
	if (tasks != nullptr)
		closedir(tasks);
	return n - 2;
}

/* What the library must not do here: the functions return at once, and there is no thread. */
static bool is_inert()
{
	char message[1024] = "";
	struct warpspan_options options = {};
	options.size = sizeof(options);
	options.message = message;
	options.message_bytes = sizeof(message);
	return warpspan_start(&options) == WARPSPAN_ERR_NO_CUDA && message[0] != '\0' && warpspan_stop(5000) != 0 &&
	       !warpspan_active() && warpspan_mark("child") != 0 && n_threads() == 1;
}

static void end_child(int way)
{
	const int status = is_inert() ? CHILD_STATUS : 1;

	if (way % 3 == 0)
		_exit(status);
	if (way % 3 == 1)
		exit(status);
	execlp("sh", "sh", "-c", status == CHILD_STATUS ? "exit 6" : "exit 1", nullptr);
	_exit(127);
}

static pid_t fork_child(int way)
{
	fflush(stdout);
	const pid_t child = fork();

	if (child == 0) {
		alarm(CHILD_S);
		end_child(way);
	}
	return child;
}

/* Forks at every point of a session's life. */
static int hammer(int n)
{
	std::atomic<bool> over{ false };
	std::atomic<int> n_sessions{ 0 };
	int n_bad = 0;

	auto work = [&](unsigned patience_ms) {
		while (!over) {
			n_sessions += warpspan_start(nullptr) == 0;
			(void)warpspan_mark("parent");
			launch(1);
			(void)warpspan_stop(patience_ms);
		}
	};
	std::thread first(work, 0), second(work, 1000);
	for (int i = 0; i < n; i++)
		n_bad += wait_for(fork_child(i)) != CHILD_STATUS;
	over = true;
	first.join();
	second.join();
	printf("%d children, %d bad\n", n, n_bad);
	return n_bad != 0 || n_sessions < 3;
}

/* One session, of the parent's; children come and go. */
static int alone(int way)
{
	launch(10);
	const int status = wait_for(fork_child(way));
	launch(10);
	cudaDeviceSynchronize();
	printf("child %d\n", status);
	return 0;
}

/* Children that are programs: with CUDA they record on their own. */
static int spawn(const char *program, const char *how)
{
	char *arguments[] = { (char *)program, (char *)"launch:3", (char *)"sync", nullptr };
	const std::string command = std::string(program) + " launch:3 sync";
	pid_t child = -1;

	launch(10);
	fflush(stdout);
	if (strcmp(how, "system") == 0)
		return system(command.c_str());
	if (strcmp(how, "vfork") == 0) {
		child = vfork();
		if (child == 0) {
			execv(program, arguments);
			_exit(127);
		}
	} else if (strcmp(how, "posix_spawn") == 0) {
		if (posix_spawn(&child, program, nullptr, nullptr, arguments, environ) != 0)
			return 1;
	} else {
		child = fork();
		if (child == 0) {
			execv(program, arguments);
			_exit(127);
		}
	}
	const int status = wait_for(child);
	launch(10);
	cudaDeviceSynchronize();
	return status;
}

/* Before the library has done anything: each process is its own. */
static int before()
{
	const pid_t child = fork();

	prepare();
	launch(child == 0 ? 3 : 5);
	cudaDeviceSynchronize();
	return child == 0 ? 0 : wait_for(child);
}

/* A child is forked while another thread calls CUDA for the first time, and then does so itself. */
static int during(int n)
{
	int n_bad = 0;

	for (int i = 0; i < n; i++) {
		const pid_t middle = fork();
		if (middle == 0) {
			std::thread first([] { prepare(); });
			usleep(i * 37 % 3000);
			const pid_t child = fork();
			if (child == 0) {
				alarm(CHILD_S);
				/* Whether it records is open; it does not hang. */
				(void)warpspan_start(nullptr);
				(void)warpspan_stop(0);
				_exit(CHILD_STATUS);
			}
			const int status = wait_for(child);
			first.join();
			_exit(status);
		}
		n_bad += wait_for(middle) != CHILD_STATUS;
	}
	printf("%d children, %d bad\n", n, n_bad);
	return n_bad != 0;
}

int main(int argc, char **argv)
{
	const std::string scenario = argc > 1 ? argv[1] : "";
	const char *argument = argc > 2 ? argv[2] : "";

	if (scenario == "before")
		return before();
	if (scenario == "during")
		return during(atoi(argument));
	prepare();
	if (scenario == "hammer")
		return hammer(atoi(argument));
	if (scenario == "alone")
		return alone(atoi(argument));
	if (scenario == "spawn" && argc > 3)
		return spawn(argument, argv[3]);
	if (scenario == "shell") {
		launch(5);
		fflush(stdout);
		return system(argument);
	}
	return 2;
}
