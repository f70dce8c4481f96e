/* SPDX-License-Identifier: Apache-2.0
 *
 * scenario.c - see scenario.h.
 */
#include "scenario.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static struct sim_device *device;

static const char head[] = ".version 8.8\n.target sm_100\n.address_size 64\n"
			   ".extern .shared .align 128 .b8 dynamic[];\n";

static const char kernel_head[] =
	".visible .entry k(.param .u64 pin, .param .u64 pout)\n{\n"
	".reg .b32 %r<64>, %t, %ti, %lane, %cta, %smem, %nt; .reg .b64 %d<64>, %in, %out, %my, %mine, %gsmem;\n"
	".reg .b16 %h<16>; .reg .b128 %q<8>; .reg .f32 %f<8>; .reg .f64 %fd<8>; .reg .pred %p<16>;\n"
	"ld.param.u64 %in, [pin]; ld.param.u64 %out, [pout]; mov.u32 %ti, %tid.x; mov.u32 %lane, %laneid;\n"
	"mov.u32 %cta, %ctaid.x; mov.u32 %nt, %ntid.x; mad.lo.u32 %t, %cta, %nt, %ti;\n"
	"mov.u32 %smem, dynamic; cvt.u64.u32 %gsmem, %smem; cvta.shared.u64 %gsmem, %gsmem;\n"
	"mul.wide.u32 %my, %t, 64; add.u64 %mine, %in, %my; add.u64 %my, %out, %my;\n";

void scenario_add(char *text, size_t room, const char *format, ...)
{
	size_t used = strlen(text);
	va_list list;

	va_start(list, format);
	vsnprintf(text + used, room - used, format, list);
	va_end(list);
	assert_true(strlen(text) + 1 < room);
}

void scenario_close(void)
{
	sim_device_destroy(device);
	device = NULL;
}

static uint32_t or_one(uint32_t value)
{
	return value == 0 ? 1 : value;
}

struct sim_result scenario_try(const struct scenario *s)
{
	static char ptx[65536];
	uint64_t params[2];
	struct sim_module *module;
	struct sim_launch launch = { .grid = { or_one(s->blocks), 1, 1 },
				     .block = { or_one(s->threads), 1, 1 },
				     .cluster = { or_one(s->cluster), 1, 1 },
				     .dynamic_shared_bytes = s->shared_bytes,
				     .params = params,
				     .grid_id = 9,
				     .start_ns = 1000 };
	struct sim_result result;

	if (device == NULL)
		device = rig_device(NULL);
	ptx[0] = '\0';
	scenario_add(ptx, sizeof(ptx), "%s%s%s%s\nret;\n}\n", head, s->functions == NULL ? "" : s->functions,
		     kernel_head, s->body);
	module = rig_load(device, ptx);
	launch.function = sim_module_function(module, "k");
	params[0] = s->in_bytes == 0 ? 0 : rig_put(device, s->in, s->in_bytes);
	params[1] =
		s->out_start == NULL ? rig_alloc(device, s->out_bytes) : rig_put(device, s->out_start, s->out_bytes);
	sim_launch(device, &launch, &result);
	rig_get(device, s->out, params[1], s->out_bytes);
	if (params[0] != 0)
		sim_mem_free(device, params[0]);
	sim_mem_free(device, params[1]);
	sim_module_unload(module);
	return result;
}

void scenario_run(const struct scenario *s)
{
	struct sim_result result = scenario_try(s);

	if (result.status != SIM_OK)
		fail_msg("%s\nstatus %d: %s", s->body, result.status, result.message);
}
