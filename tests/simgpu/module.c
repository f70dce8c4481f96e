/* SPDX-License-Identifier: Apache-2.0
 *
 * module.c - devices and modules: addresses for what the parser found, and the queries about it.
 *
 * Each global variable is an allocation of its own, so an access past its end is caught. Shared variables are laid
 * out once per module: first those that several functions use, at the same place for all of them, then, overlapping
 * from kernel to kernel, those that belong to one. Any thread; a module is immutable once loaded.
 */
#include "module.h"

#include "device.h"
#include "ptx_parse.h"
#include "ptx_share.h"
#include "truth.h"

#include <stdlib.h>
#include <string.h>

/* Functions' addresses: no memory is there, so that reading one faults. */
#define FUNCTION_ADDRESS_BASE 0x7000000000ULL
#define FUNCTION_ADDRESS_STEP 128

struct sim_function {
	struct sim_module *module;
	struct ptx_function *code;
};

struct sim_module {
	struct sim_device *device;
	struct ptx_module *ptx;
	struct sim_function *functions; /* the entries */
	size_t n_functions;
	uint32_t const_bytes;
};

/* --- device ----------------------------------------------------------------------------------- */

enum sim_status sim_device_create(const struct sim_config *config, struct sim_device **ret_device)
{
	static atomic_uint n_devices;
	struct sim_device *device;
	enum sim_status status;

	if (config->n_sms == 0 || config->clock_mhz == 0 || config->timer_tick_ns == 0 || config->memory_bytes == 0)
		return SIM_INVALID_VALUE;
	device = calloc(1, sizeof(*device));
	if (device == NULL)
		return SIM_NO_MEMORY;
	device->config = *config;
	atomic_init(&device->stopped, false);
	device->clocks = calloc(config->n_sms, sizeof(*device->clocks));
	status = device->clocks == NULL ? SIM_NO_MEMORY : sim_memory_init(&device->memory, config->memory_bytes);
	if (status != SIM_OK) {
		free(device->clocks);
		free(device);
		return status;
	}
	sim_clocks_init(device->clocks, config);
	device->number = atomic_fetch_add(&n_devices, 1);
	device->tells_truth = sim_truth_wanted();
	*ret_device = device;
	return SIM_OK;
}

void sim_device_destroy(struct sim_device *device)
{
	if (device == NULL)
		return;
	sim_memory_finish(&device->memory);
	free(device->clocks);
	free(device);
}

const struct sim_config *sim_device_config(const struct sim_device *device)
{
	return &device->config;
}

void sim_device_set_malloc_heap(struct sim_device *device, uint64_t bytes)
{
	device->config.malloc_heap_bytes = bytes;
}

void sim_device_stop(struct sim_device *device)
{
	atomic_store_explicit(&device->stopped, true, memory_order_relaxed);
}

/* --- shared memory ---------------------------------------------------------------------------- */

static uint32_t align_up(uint32_t value, uint32_t align)
{
	return (value + align - 1) & ~(align - 1);
}

static bool place_shared(struct ptx_symbol *symbol, uint32_t *size)
{
	uint64_t start = align_up(*size, symbol->align);

	if (start + symbol->bytes > 1u << SIM_SHARED_LIMIT_SHIFT)
		return false;
	symbol->address = start;
	*size = (uint32_t)(start + symbol->bytes);
	return true;
}

/* Whether a kernel may reach the variables that functions share: it calls something, or names one itself. */
static bool needs_common(const struct ptx_module *module, const struct ptx_function *function)
{
	if (function->n_calls > 0)
		return true;
	for (uint32_t i = 0; i < function->n_fixups; i++) {
		const struct ptx_symbol *symbol = &module->symbols[function->fixups[i].symbol];

		if (symbol->kind == PTX_SYMBOL_SHARED && symbol->has_users)
			return true;
	}
	return false;
}

static bool layout_shared(struct ptx_module *module, struct ptx_log *log)
{
	uint32_t common = 0;
	bool good = true;

	for (uint32_t i = 0; i < module->n_symbols; i++) {
		struct ptx_symbol *symbol = &module->symbols[i];

		if (symbol->kind == PTX_SYMBOL_SHARED && !symbol->is_dynamic_shared && symbol->has_users)
			good = good && place_shared(symbol, &common);
	}
	for (uint32_t i = 0; i < module->n_functions; i++) {
		struct ptx_function *function = module->functions[i];

		if (function->is_entry)
			function->shared_bytes = needs_common(module, function) ? common : 0;
	}
	for (uint32_t i = 0; i < module->n_symbols; i++) {
		struct ptx_symbol *symbol = &module->symbols[i];

		if (symbol->kind == PTX_SYMBOL_SHARED && !symbol->is_dynamic_shared && !symbol->has_users &&
		    symbol->user != NULL)
			good = good && place_shared(symbol, &symbol->user->shared_bytes);
	}
	/* A device function may use dynamic shared memory with a stricter alignment than its kernel asks for. */
	for (uint32_t i = 0; i < module->n_functions; i++)
		if (module->functions[i]->is_entry && module->functions[i]->shared_align < 16)
			module->functions[i]->shared_align = 16;
	if (!good)
		ptx_log_line(log, "too much shared memory");
	return good;
}

uint32_t sim_dynamic_shared_offset(const struct ptx_function *function)
{
	return align_up(function->shared_bytes, function->shared_align == 0 ? 16 : function->shared_align);
}

/* --- addresses -------------------------------------------------------------------------------- */

/* A managed variable is host memory that the device sees at the same address. */
static enum sim_status place_managed(struct sim_device *device, struct ptx_symbol *symbol)
{
	void *host = aligned_alloc(4096, (symbol->bytes + 4095) & ~(size_t)4095);
	enum sim_status status;

	if (host == NULL)
		return SIM_NO_MEMORY;
	status = sim_host_register(device, host, symbol->bytes);
	if (status != SIM_OK) {
		free(host);
		return status;
	}
	symbol->address = (uint64_t)(uintptr_t)host;
	return SIM_OK;
}

static enum sim_status place_globals(struct sim_module *module, struct ptx_log *log)
{
	struct ptx_module *ptx = module->ptx;

	for (uint32_t i = 0; i < ptx->n_symbols; i++) {
		struct ptx_symbol *symbol = &ptx->symbols[i];
		enum sim_status status;

		if (symbol->kind != PTX_SYMBOL_GLOBAL && symbol->kind != PTX_SYMBOL_CONST)
			continue;
		if (symbol->is_extern) {
			ptx_log_line(log, "line %u: variable %s is declared but not defined", symbol->line,
				     symbol->name);
			return SIM_INVALID_PTX;
		}
		if (symbol->bytes == 0)
			continue;
		status = symbol->is_managed
				 ? place_managed(module->device, symbol)
				 : sim_mem_alloc(module->device, symbol->bytes, symbol->align, &symbol->address);
		if (status != SIM_OK) {
			symbol->address = 0;
			ptx_log_line(log, "line %u: no device memory for %s", symbol->line, symbol->name);
			return status;
		}
		if (symbol->kind == PTX_SYMBOL_CONST)
			module->const_bytes += (uint32_t)symbol->bytes;
	}
	return SIM_OK;
}

/* Each call of a function that is not there is reported. Calls of what the system provides are made to happen in the
 * order of simulated time: other warps see what they print and take. */
static bool check_calls(struct ptx_function *function, struct ptx_log *log)
{
	bool good = true;

	for (uint32_t i = 0; i < function->n_code; i++) {
		struct ptx_insn *insn = &function->code[i];
		const struct ptx_function *target =
			insn->op == PTX_OP_CALL ? function->calls[insn->target].target : NULL;

		if (target == NULL || target->is_defined)
			continue;
		if (target->builtin != NULL) {
			insn->properties |= PTX_ORDERED;
			continue;
		}
		ptx_log_line(log, "line %u: %s %s: function %s is not defined", insn->line,
			     function->is_entry ? "kernel" : "function", function->name, target->name);
		good = false;
	}
	return good;
}

static enum sim_status place_functions(struct ptx_module *ptx, struct ptx_log *log)
{
	enum sim_status status = SIM_OK;

	for (uint32_t i = 0; i < ptx->n_functions; i++) {
		struct ptx_function *function = ptx->functions[i];

		function->address = FUNCTION_ADDRESS_BASE + (uint64_t)i * FUNCTION_ADDRESS_STEP;
		if (!function->is_defined)
			function->builtin = sim_builtin(function->name);
	}
	for (uint32_t i = 0; i < ptx->n_functions; i++)
		if (!check_calls(ptx->functions[i], log))
			status = SIM_UNSUPPORTED_PTX;
	return status;
}

static uint64_t symbol_value(const struct ptx_symbol *symbol)
{
	return symbol->kind == PTX_SYMBOL_FUNCTION ? symbol->function->address : symbol->address;
}

static enum sim_status write_globals(struct sim_module *module)
{
	struct ptx_module *ptx = module->ptx;

	for (uint32_t i = 0; i < ptx->n_symbols; i++) {
		struct ptx_symbol *symbol = &ptx->symbols[i];
		enum sim_status status;

		if ((symbol->kind != PTX_SYMBOL_GLOBAL && symbol->kind != PTX_SYMBOL_CONST) || symbol->bytes == 0)
			continue;
		for (uint32_t k = 0; k < symbol->n_fixups; k++) {
			const struct ptx_data_fixup *fixup = &symbol->fixups[k];
			uint64_t value = symbol_value(&ptx->symbols[fixup->symbol]) + (uint64_t)fixup->addend;

			for (uint32_t byte = 0; byte < fixup->bytes; byte++)
				symbol->data[fixup->offset + byte] = (uint8_t)(value >> fixup->shift >> (8 * byte));
		}
		if (symbol->data != NULL)
			status = sim_mem_write(module->device, symbol->address, symbol->data, symbol->bytes);
		else
			status = sim_mem_set(module->device, symbol->address, 0, 1, symbol->bytes);
		if (status != SIM_OK)
			return status;
		free(symbol->data);
		symbol->data = NULL;
	}
	return SIM_OK;
}

static void fix_constants(struct ptx_module *ptx)
{
	for (uint32_t i = 0; i < ptx->n_functions; i++) {
		struct ptx_function *function = ptx->functions[i];

		for (uint32_t k = 0; k < function->n_fixups; k++) {
			const struct ptx_constant_fixup *fixup = &function->fixups[k];
			uint64_t value = symbol_value(&ptx->symbols[fixup->symbol]) + (uint64_t)fixup->addend;

			for (uint32_t lane = 0; lane < SIM_LANES; lane++)
				memcpy(function->constants + fixup->offset + (size_t)lane * fixup->bytes, &value,
				       fixup->bytes);
		}
	}
}

static enum sim_status list_entries(struct sim_module *module)
{
	struct ptx_module *ptx = module->ptx;

	module->functions = calloc(ptx->n_functions + 1, sizeof(*module->functions));
	if (module->functions == NULL)
		return SIM_NO_MEMORY;
	for (uint32_t i = 0; i < ptx->n_functions; i++) {
		if (!ptx->functions[i]->is_entry || !ptx->functions[i]->is_defined)
			continue;
		if (!ptx_share_analyse(ptx->functions[i]))
			return SIM_NO_MEMORY;
		module->functions[module->n_functions].module = module;
		module->functions[module->n_functions++].code = ptx->functions[i];
	}
	return SIM_OK;
}

static enum sim_status link_module(struct sim_module *module, struct ptx_log *log)
{
	enum sim_status status;

	if (!layout_shared(module->ptx, log))
		return SIM_INVALID_PTX;
	status = place_functions(module->ptx, log);
	if (status == SIM_OK)
		status = place_globals(module, log);
	if (status == SIM_OK)
		status = write_globals(module);
	if (status == SIM_OK)
		status = list_entries(module);
	if (status == SIM_OK)
		fix_constants(module->ptx);
	return status;
}

enum sim_status sim_module_load(struct sim_device *device, const char *ptx, size_t bytes, char *log_text,
				size_t log_bytes, struct sim_module **ret_module)
{
	struct ptx_log log = { .text = log_text, .bytes = log_bytes };
	struct sim_module *module;
	enum sim_status status;

	if (log_text != NULL && log_bytes > 0)
		log_text[0] = '\0';
	module = calloc(1, sizeof(*module));
	if (module == NULL)
		return SIM_NO_MEMORY;
	module->device = device;
	status = ptx_parse(ptx, bytes, &log, &module->ptx);
	if (status == SIM_OK)
		status = link_module(module, &log);
	if (status != SIM_OK) {
		sim_module_unload(module);
		return status;
	}
	*ret_module = module;
	return SIM_OK;
}

void sim_module_unload(struct sim_module *module)
{
	if (module == NULL)
		return;
	for (uint32_t i = 0; module->ptx != NULL && i < module->ptx->n_symbols; i++) {
		const struct ptx_symbol *symbol = &module->ptx->symbols[i];

		if ((symbol->kind != PTX_SYMBOL_GLOBAL && symbol->kind != PTX_SYMBOL_CONST) || symbol->address == 0)
			continue;
		if (symbol->is_managed) {
			sim_host_unregister(module->device, (void *)(uintptr_t)symbol->address);
			free((void *)(uintptr_t)symbol->address);
		} else {
			sim_mem_free(module->device, symbol->address);
		}
	}
	ptx_module_destroy(module->ptx);
	free(module->functions);
	free(module);
}

/* --- queries ---------------------------------------------------------------------------------- */

struct sim_function *sim_module_function(struct sim_module *module, const char *name)
{
	for (size_t i = 0; i < module->n_functions; i++)
		if (strcmp(module->functions[i].code->name, name) == 0)
			return &module->functions[i];
	return NULL;
}

size_t sim_module_n_functions(const struct sim_module *module)
{
	return module->n_functions;
}

struct sim_function *sim_module_function_at(struct sim_module *module, size_t index)
{
	return index < module->n_functions ? &module->functions[index] : NULL;
}

bool sim_module_global(struct sim_module *module, const char *name, uint64_t *ret_address, uint64_t *ret_bytes)
{
	uint32_t index = ptx_module_find(module->ptx, name);
	const struct ptx_symbol *symbol;

	if (index == UINT32_MAX)
		return false;
	symbol = &module->ptx->symbols[index];
	if ((symbol->kind != PTX_SYMBOL_GLOBAL && symbol->kind != PTX_SYMBOL_CONST) || symbol->address == 0)
		return false;
	*ret_address = symbol->address;
	*ret_bytes = symbol->bytes;
	return true;
}

const struct ptx_function *sim_function_code(const struct sim_function *function)
{
	return function->code;
}

static uint32_t clamp(uint32_t value, uint32_t low, uint32_t high)
{
	return value < low ? low : value > high ? high : value;
}

void sim_function_info(const struct sim_function *function, struct sim_function_info *ret_info)
{
	const struct ptx_function *code = function->code;

	memset(ret_info, 0, sizeof(*ret_info));
	ret_info->name = code->name;
	ret_info->n_params = code->n_params;
	ret_info->params_bytes = code->entry_params_bytes;
	ret_info->static_shared_bytes = code->shared_bytes;
	ret_info->local_bytes = code->local_bytes;
	ret_info->const_bytes = function->module->const_bytes;
	/* Virtual registers live briefly: about a quarter of them are live at once. */
	ret_info->n_registers = clamp(16 + code->n_registers / 4, 16, 255);
	ret_info->max_threads_per_block = code->max_threads == 0 ? 1024 : code->max_threads;
	memcpy(ret_info->required_cluster, code->required_cluster, sizeof(ret_info->required_cluster));
	ret_info->ptx_version = function->module->ptx->version;
	ret_info->target_sm = function->module->ptx->target_sm;
}

bool sim_function_param(const struct sim_function *function, uint32_t index, uint32_t *ret_offset, uint32_t *ret_bytes)
{
	if (index >= function->code->n_params)
		return false;
	*ret_offset = function->code->params[index].offset;
	*ret_bytes = function->code->params[index].bytes;
	return true;
}

uint32_t sim_function_occupancy(const struct sim_function *function, uint32_t threads, uint32_t dynamic_shared_bytes)
{
	return sim_function_occupancy_of(function->module->device, function->code, threads, dynamic_shared_bytes);
}
