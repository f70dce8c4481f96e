/* SPDX-License-Identifier: Apache-2.0
 *
 * nvtx_abi.h - what NVTX and the tool it loads ("injection") say to each other. Fixed for good by NVTX, which is
 * compiled into programs; written down here because not every toolkit brings its headers. A test compares the two.
 *
 * At its first call each copy of NVTX in the process (one in every program and library that was compiled with it) loads
 * the library NVTX_INJECTION64_PATH names and calls its InitializeInjectionNvtx2() with a function that gives tables.
 * The tool writes the functions it wants to be called into the places that the tables point to.
 */
#ifndef WARPSPAN_NVTX_ABI_H
#define WARPSPAN_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

/* Numbers of the tables of one copy of NVTX. */
enum {
	WARPSPAN_NVTX_TABLE_CALLBACKS = 1,
	WARPSPAN_NVTX_TABLE_VERSION = 3,
};

/* NULL: there is no such table. */
typedef const void *warpspan_nvtx_get_table(uint32_t table);

/* The version of NVTX that this was written for. */
#define WARPSPAN_NVTX_VERSION 3u

typedef void (*warpspan_nvtx_function)(void);

/* Modules of functions. */
enum {
	WARPSPAN_NVTX_MODULE_CORE = 1,
	WARPSPAN_NVTX_MODULE_CORE2 = 5,
};

struct warpspan_nvtx_callbacks {
	size_t bytes; /* of this struct */
	/* *ret_places: for each function of the module, where the pointer to it is kept. 0: no such module. */
	int (*get_module)(int module, warpspan_nvtx_function ***ret_places, unsigned int *ret_n);
};

struct warpspan_nvtx_version {
	size_t bytes; /* of this struct */
	uint32_t of_nvtx;
	uint32_t reserved;
	void (*set_of_tool)(uint32_t version);
};

/* X(module, place in it, name in NVTX, ours) */
#define WARPSPAN_NVTX_CALLBACKS(X)                                \
	X(CORE, 4, RangeStartEx, range_start_ex)                  \
	X(CORE, 5, RangeStartA, range_start)                      \
	X(CORE, 6, RangeStartW, range_start_wide)                 \
	X(CORE, 7, RangeEnd, range_end)                           \
	X(CORE, 8, RangePushEx, range_push_ex)                    \
	X(CORE, 9, RangePushA, range_push)                        \
	X(CORE, 10, RangePushW, range_push_wide)                  \
	X(CORE, 11, RangePop, range_pop)                          \
	X(CORE2, 2, DomainRangeStartEx, domain_range_start_ex)    \
	X(CORE2, 3, DomainRangeEnd, domain_range_end)             \
	X(CORE2, 4, DomainRangePushEx, domain_range_push_ex)      \
	X(CORE2, 5, DomainRangePop, domain_range_pop)             \
	X(CORE2, 10, DomainRegisterStringA, domain_register)      \
	X(CORE2, 11, DomainRegisterStringW, domain_register_wide) \
	X(CORE2, 12, DomainCreateA, domain_create)                \
	X(CORE2, 13, DomainCreateW, domain_create_wide)

/* What the message of a range is. */
enum {
	WARPSPAN_NVTX_MESSAGE_ASCII = 1,
	WARPSPAN_NVTX_MESSAGE_WIDE = 2,
	WARPSPAN_NVTX_MESSAGE_REGISTERED = 3,
};

struct warpspan_nvtx_attributes {
	uint16_t version;
	uint16_t bytes; /* of this struct; newer ones may be longer */
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type;
	int32_t reserved;
	uint64_t payload;
	int32_t message_type;
	union {
		const char *ascii; /* UTF-8 in practice */
		const wchar_t *wide;
		const void *registered; /* what domain_register() returned */
	} message;
};

/* Without a tool, push and pop return this: nobody counts. */
#define WARPSPAN_NVTX_NOT_COUNTED (-2)

#endif
