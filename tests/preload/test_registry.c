/* SPDX-License-Identifier: Apache-2.0
 *
 * test_registry.c - contexts, modules, kernels and the lock-free cache of function handles. Worth running under the
 * thread sanitizer.
 */
#include "registry.h"
#include "session.h"
#include "support.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* What the session would answer under WARPSPAN_KERNEL=*wanted*. */
bool warpspan_session_selects(const char *demangled)
{
	return strstr(demangled, "wanted") != NULL;
}

static CUfunction function(size_t i)
{
	return (CUfunction)(uintptr_t)(0x1000 + 16 * i);
}

static CUcontext handle(size_t i)
{
	return (CUcontext)(uintptr_t)(0x9000000 + 64 * i);
}

static struct warpspan_kernel *make_kernel(size_t context, CUdeviceptr address, const char *name)
{
	struct warpspan_context *in = warpspan_registry_context(handle(context), 0);
	struct warpspan_module *module = warpspan_registry_module(in, address);

	return warpspan_registry_kernel(module, name);
}

static struct warpspan_kernel *find(CUfunction function, CUcontext context)
{
	struct warpspan_kernel_numbers numbers = { .kernel = 0 };
	struct warpspan_kernel *kernel = warpspan_registry_find(function, context, &numbers);

	/* As the kernel has them: none of the kernels here is ready but one. */
	if (kernel != NULL && atomic_load(&kernel->ready))
		assert_int_equal(numbers.kernel, kernel->number);
	else
		assert_int_equal(numbers.kernel, 0);
	return kernel;
}

static void the_numbers_of_a_ready_kernel_are_found_with_it(void **state)
{
	struct warpspan_kernel *kernel = make_kernel(4, 0x500, "wanted_ready");
	struct warpspan_kernel_numbers numbers;

	kernel->cluster[1] = 16;
	atomic_store(&kernel->ready, true);
	warpspan_registry_remember(function(77), handle(4), warpspan_registry_epoch(), kernel);
	assert_ptr_equal(find(function(77), handle(4)), kernel);
	(void)warpspan_registry_find(function(77), handle(4), &numbers);
	assert_int_equal(numbers.module, kernel->module->number);
	assert_int_equal(numbers.context, kernel->module->context->number);
	assert_int_equal(numbers.cluster[0], 1);
	assert_int_equal(numbers.cluster[1], 16);
}

static void the_same_is_found_again(void **state)
{
	struct warpspan_kernel *kernel = make_kernel(1, 0x500, "_Z6wantedPf");

	assert_string_equal(kernel->demangled, "wanted(float*)");
	assert_true(kernel->selected);
	assert_ptr_equal(make_kernel(1, 0x500, "_Z6wantedPf"), kernel);
	assert_false(make_kernel(1, 0x500, "other")->selected);
	assert_ptr_not_equal(make_kernel(1, 0x600, "_Z6wantedPf"), kernel);
	assert_ptr_not_equal(make_kernel(2, 0x500, "_Z6wantedPf"), kernel);
}

static void a_handle_is_known_in_its_context_and_epoch_only(void **state)
{
	struct warpspan_kernel *kernel = make_kernel(1, 0x500, "_Z6wantedPf");
	const uint32_t epoch = warpspan_registry_epoch();

	warpspan_registry_remember(function(1), handle(1), epoch, kernel);
	assert_ptr_equal(find(function(1), handle(1)), kernel);
	assert_null(find(function(1), handle(2)));
	assert_null(find(function(2), handle(1)));
	warpspan_registry_next_epoch();
	assert_null(find(function(1), handle(1)));
	/* What was found out before an unload is not remembered after it. */
	warpspan_registry_remember(function(1), handle(1), epoch, kernel);
	assert_null(find(function(1), handle(1)));
}

static void a_context_that_ended_is_another_with_the_same_handle(void **state)
{
	struct warpspan_context *before = warpspan_registry_context(handle(3), 0);
	struct warpspan_module *module = warpspan_registry_module(before, 0x700);
	struct warpspan_context *after;

	warpspan_registry_end_context(before);
	assert_true(atomic_load(&module->gone));
	after = warpspan_registry_context(handle(3), 0);
	assert_ptr_not_equal(after, before);
	assert_int_equal(after->number, before->number + 1);
	assert_ptr_not_equal(warpspan_registry_module(after, 0x700), module);
}

/* What a program that loads and unloads for ever costs does not grow: only what is loaded is walked. */
static void modules_that_are_gone_are_not_walked(void **state)
{
	struct warpspan_context *in = warpspan_registry_context(handle(4), 0);
	struct warpspan_module *kept = warpspan_registry_module(in, 0x100);
	struct warpspan_module *module = NULL;
	unsigned n = 0;

	for (size_t i = 0; i < 10000; i++) {
		module = warpspan_registry_module(in, 0x200 + 16 * (i % 3));
		warpspan_registry_end_module(module);
		assert_ptr_equal(warpspan_registry_module_at(module->number), module);
	}
	assert_null(warpspan_registry_module_at(module->number + 1));
	assert_null(warpspan_registry_module_at(0));
	for (module = NULL; (module = warpspan_registry_next_loaded(module)) != NULL;) {
		assert_false(atomic_load(&module->gone));
		n += module->context == in;
	}
	assert_int_equal(n, 1);
	/* The one at hand may go while the list is walked, and so may the next. */
	module = warpspan_registry_module(in, 0x300);
	(void)warpspan_registry_module(in, 0x400);
	warpspan_registry_end_module(kept);
	warpspan_registry_end_module(module);
	assert_int_equal(warpspan_registry_next_loaded(kept)->address, 0x400);
	warpspan_registry_end_context(in);
	assert_null(warpspan_registry_next_loaded(kept));
	/* Ended once more, it stays what it is. */
	warpspan_registry_end_module(kept);
	assert_null(warpspan_registry_next_loaded(kept));
}

static void many_handles_fit(void **state)
{
	struct warpspan_kernel *kernels[7];
	const size_t n = 100000;

	for (size_t i = 0; i < 7; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "kernel%zu", i);
		kernels[i] = make_kernel(1, 0x500, name);
	}
	for (size_t i = 0; i < n; i++)
		warpspan_registry_remember(function(i), handle(1), warpspan_registry_epoch(), kernels[i % 7]);
	for (size_t i = 0; i < n; i++)
		assert_ptr_equal(find(function(i), handle(1)), kernels[i % 7]);
	assert_null(find(function(n), handle(1)));
}

static void many_epochs_do_not_fill_it(void **state)
{
	struct warpspan_kernel *kernel = make_kernel(1, 0x500, "kernel0");

	for (size_t i = 0; i < 20000; i++) {
		warpspan_registry_next_epoch();
		warpspan_registry_remember(function(i % 50), handle(1), warpspan_registry_epoch(), kernel);
		assert_ptr_equal(find(function(i % 50), handle(1)), kernel);
	}
}

static atomic_bool stop;
static atomic_ulong n_wrong, n_found;
static struct warpspan_kernel *of_handle[64];

/* A handle always means the same kernel here, so whatever a reader finds must be that one. */
static void *look_up(void *unused)
{
	unsigned long i = 0;

	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		const size_t which = i++ % 64;
		struct warpspan_kernel *found = find(function(which), handle(1));

		if (found != NULL && found != of_handle[which])
			atomic_fetch_add(&n_wrong, 1);
		if (found != NULL)
			atomic_fetch_add(&n_found, 1);
	}
	return unused;
}

static void readers_never_find_another_kernel(void **state)
{
	pthread_t readers[4];

	for (size_t i = 0; i < 64; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "k%zu", i);
		of_handle[i] = make_kernel(1, 0x800, name);
	}
	warpspan_registry_next_epoch();
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&readers[i], NULL, look_up, NULL), 0);
	for (size_t i = 0; i < 300000; i++) {
		if (i % 1000 == 0)
			warpspan_registry_next_epoch();
		warpspan_registry_remember(function(i * 7 % 64), handle(1), warpspan_registry_epoch(),
					   of_handle[i * 7 % 64]);
	}
	atomic_store(&stop, true);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(pthread_join(readers[i], NULL), 0);
	assert_int_equal(atomic_load(&n_wrong), 0);
	assert_true(atomic_load(&n_found) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_is_found_again),
		cmocka_unit_test(a_handle_is_known_in_its_context_and_epoch_only),
		cmocka_unit_test(a_context_that_ended_is_another_with_the_same_handle),
		cmocka_unit_test(modules_that_are_gone_are_not_walked),
		cmocka_unit_test(many_handles_fit),
		cmocka_unit_test(many_epochs_do_not_fill_it),
		cmocka_unit_test(readers_never_find_another_kernel),
		cmocka_unit_test(the_numbers_of_a_ready_kernel_are_found_with_it),
	};

	return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}
