/* SPDX-License-Identifier: Apache-2.0
 *
 * truth.c - the file of SIMGPU_TRUTH.
 *
 * Opened by the first device of the process and open until the process ends. Each launch collects its reads without a
 * lock and appends them in one piece, so the pieces of concurrent launches do not mix. A read that could not be kept or
 * written is never passed over: a line on stderr says that the file is incomplete. Any thread.
 */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_CAPACITY 1024u
#define WRITE_AT       (1u << 18) /* reads; 14 MiB */
#define PATH_BYTES     4096

static int file = -1;
static pthread_mutex_t file_lock = PTHREAD_MUTEX_INITIALIZER; /* a leaf */

static void complain(const char *what, const char *why)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&said))
		fprintf(stderr, "simgpu: SIMGPU_TRUTH: %s: %s\n", what, why);
}

static bool write_all(const void *from, size_t bytes)
{
	const char *at = from;

	while (bytes > 0) {
		ssize_t n = write(file, at, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			complain("the file is incomplete", n == 0 ? "nothing was written" : strerror(errno));
			return false;
		}
		at += n;
		bytes -= (size_t)n;
	}
	return true;
}

/* "%p" in the setting stands for the process's number, so that the programs of a script do not share a file. */
static bool make_path(const char *setting, char ret_path[PATH_BYTES])
{
	size_t n = 0;

	for (; *setting != '\0' && n < PATH_BYTES - 1; setting++) {
		if (setting[0] != '%' || setting[1] != 'p') {
			ret_path[n++] = *setting;
			continue;
		}
		setting++;
		n += (size_t)snprintf(ret_path + n, PATH_BYTES - n, "%ld", (long)getpid());
	}
	if (n >= PATH_BYTES - 1)
		return false;
	ret_path[n] = '\0';
	return true;
}

static void open_file(void)
{
	const struct sim_truth_header header = { .magic = SIM_TRUTH_MAGIC,
						 .version = SIM_TRUTH_VERSION,
						 .read_bytes = sizeof(struct sim_truth_read) };
	const char *setting = getenv("SIMGPU_TRUTH");
	char path[PATH_BYTES];

	if (setting == NULL || *setting == '\0')
		return;
	if (!make_path(setting, path)) {
		complain(setting, "the path is too long");
		return;
	}
	file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
	if (file < 0)
		complain(path, strerror(errno));
	else
		write_all(&header, sizeof(header));
}

bool sim_truth_wanted(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, open_file);
	return file >= 0;
}

static void write_reads(struct sim_truth *truth)
{
	pthread_mutex_lock(&file_lock);
	write_all(truth->reads, truth->n * sizeof(truth->reads[0]));
	pthread_mutex_unlock(&file_lock);
	truth->n = 0;
}

/* Room for one more; false when memory ran out. */
static bool grow(struct sim_truth *truth)
{
	uint32_t capacity = truth->capacity == 0 ? FIRST_CAPACITY : truth->capacity * 2;
	struct sim_truth_read *reads = realloc(truth->reads, capacity * sizeof(*reads));

	if (reads == NULL)
		return false;
	truth->reads = reads;
	truth->capacity = capacity;
	return true;
}

void sim_truth_add(struct sim_truth *truth, const struct sim_truth_read *read)
{
	if (truth->n == truth->capacity && truth->n < WRITE_AT && !grow(truth) && truth->n == 0) {
		complain("the file is incomplete", "out of memory");
		return;
	}
	/* At the limit, or short of memory: make room by writing. */
	if (truth->n == truth->capacity)
		write_reads(truth);
	truth->reads[truth->n++] = *read;
}

void sim_truth_finish(struct sim_truth *truth)
{
	if (truth->n > 0)
		write_reads(truth);
	free(truth->reads);
	*truth = (struct sim_truth){ .reads = NULL };
}
