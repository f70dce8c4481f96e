/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_decoder.c - the fuzz target; see fuzz_decoder.h. Deterministic; keeps nothing between inputs.
 */
#include "fuzz_decoder.h"

#include "crc32c.h"
#include "model.h"
#include "model_check.h"
#include "out.h"
#include "report.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void demand(int condition, const char *what)
{
	if (!condition) {
		fprintf(stderr, "fuzz: %s\n", what);
		abort();
	}
}

static void use_model(const struct warpspan_model *model)
{
	const char *fault = model_fault(model);
	demand(fault == NULL, fault);
	uint64_t buffer_bytes;
	uint32_t events;
	warpspan_model_sufficient(model, &buffer_bytes, &events);
	demand((buffer_bytes == 0) == (model->n_lost_records == 0 && model->n_lost_warps == 0), "sufficient for what?");

	FILE *null = fopen("/dev/null", "w");
	demand(null != NULL, "/dev/null");
	demand(warpspan_report(model, null, 80) == WARPSPAN_OK, "report");
	demand(warpspan_report_json(model, null) == WARPSPAN_OK, "report --json");
	fclose(null);
	const int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	demand(fd >= 0, "/dev/null");
	struct sink *sink = sink_create(fd, false);
	demand(sink != NULL && warpspan_write_pftrace(model, sink) == WARPSPAN_OK && sink_finish(sink) == 0, "pftrace");
	sink = sink_create(fd, false);
	demand(sink != NULL && warpspan_write_json(model, sink) == WARPSPAN_OK && sink_finish(sink) == 0, "json");
	close(fd);
}

static void decode(const uint8_t *bytes, size_t n_bytes)
{
	struct warpspan_model *model = NULL;
	struct warpspan_error error = { .text = "" };
	const int result = warpspan_model_from_bytes("fuzz.wspan", bytes, n_bytes, &model, &error);
	demand((model != NULL) == (result >= 0), "a model exactly when there is no error");
	demand((result == WARPSPAN_OK) == (error.text[0] == '\0'), "a text exactly when there is something to say");
	if (model != NULL)
		use_model(model);
	warpspan_model_destroy(model);
}

void fuzz_repair_checksums(uint8_t *bytes, size_t n_bytes)
{
	struct warpspan_file_header header;
	struct warpspan_chunk chunk;
	if (n_bytes < sizeof(header))
		return;
	memcpy(&header, bytes, sizeof(header));
	header.crc32c = crc32c(0, &header, offsetof(struct warpspan_file_header, crc32c));
	memcpy(bytes, &header, sizeof(header));
	size_t at = sizeof(header);
	while (n_bytes - at >= sizeof(chunk)) {
		memcpy(&chunk, bytes + at, sizeof(chunk));
		const size_t room = n_bytes - at - sizeof(chunk);
		if (chunk.mark != WARPSPAN_CHUNK_MARK) {
			at++;
			continue;
		}
		if (chunk.payload_bytes > room)
			chunk.payload_bytes = (uint32_t)room;
		chunk.payload_crc = crc32c(0, bytes + at + sizeof(chunk), chunk.payload_bytes);
		chunk.header_crc = crc32c(0, &chunk, offsetof(struct warpspan_chunk, header_crc));
		memcpy(bytes + at, &chunk, sizeof(chunk));
		at += sizeof(chunk) + chunk.payload_bytes;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	decode(bytes, n_bytes);
	uint8_t *copy = malloc(n_bytes + 1);
	demand(copy != NULL, "out of memory");
	if (n_bytes > 0)
		memcpy(copy, bytes, n_bytes);
	fuzz_repair_checksums(copy, n_bytes);
	decode(copy, n_bytes);
	free(copy);
	return 0;
}
