/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx_parse.h - PTX text to struct ptx_module; and, between the parser's files, its own state.
 */
#ifndef SIMGPU_PTX_PARSE_H
#define SIMGPU_PTX_PARSE_H

#include "engine.h"
#include "ptx_ir.h"
#include "ptx_lex.h"

#include <stdio.h>

/* Where errors go: one line each, truncated at the end of the buffer. `text` may be NULL. */
struct ptx_log {
	char *text;
	size_t bytes;
	size_t used;
};

__attribute__((format(printf, 2, 3))) void ptx_log_line(struct ptx_log *log, const char *format, ...);

/* Parses `bytes` of text. On failure SIM_INVALID_PTX, SIM_UNSUPPORTED_PTX or SIM_NO_MEMORY, and the log says why.
 * The module has no addresses yet: module.c links it. */
enum sim_status ptx_parse(const char *text, size_t bytes, struct ptx_log *log, struct ptx_module **ret_module);
void ptx_module_destroy(struct ptx_module *module);
/* The tables of instructions for README.md, from ptx_ops.def and ptx_refused.def. */
void ptx_print_support(FILE *file);
/* Index of a symbol, UINT32_MAX when there is none. */
uint32_t ptx_module_find(const struct ptx_module *module, const char *name);

/* --- between the parser's files --------------------------------------------------------------- */

enum ptx_name_kind {
	PTX_NAME_REGISTER, /* offset: in the frame */
	PTX_NAME_PARAM,    /* .param of a function body or a device function; offset: in the frame's parameter area */
	PTX_NAME_ENTRY_PARAM, /* offset: in the launch's parameter block */
	PTX_NAME_LOCAL,       /* offset: in the frame's local memory */
	PTX_NAME_VARIABLE,    /* offset: index of a symbol */
};

/* A name declared in a function. `count` > 0 is a family %r<count>: the name followed by a number below it. */
struct ptx_name {
	const char *text;
	size_t length;
	enum ptx_name_kind kind;
	uint32_t count;
	uint32_t offset;
	uint32_t stride;
	uint32_t copy;   /* of a parameter whose address was taken: where its copy is in local memory, + 1 */
	uint32_t copied; /* and the register, zero in a new frame, of the lanes that have made it */
	bool is_byte;    /* a register of 8 bits, of which `bytes` says 2 */
	uint32_t bytes;  /* a register's width per lane, 0 = predicate; else the variable's size */
};

struct ptx_label {
	const char *text;
	size_t length;
	uint32_t scope;
	uint32_t target;
	uint32_t line;
};

/* A branch, or an entry of a branch table, whose label is looked up when the function has been read. */
struct ptx_label_use {
	struct ptx_label label; /* what is wanted; scope: where from */
	bool in_table;
	uint32_t table, index; /* index of the instruction, or of the entry in the table */
};

struct ptx_named_table {
	struct ptx_label label;
	uint32_t table;
};

/* A parameter or result of a function that is a register: it travels in the parameter area like the others. */
struct ptx_register_formal {
	uint32_t name; /* index among the names */
	uint32_t offset;
	enum ptx_type type;
	bool is_result;
};

struct ptx_vector {
	void *items;
	uint32_t n, capacity;
};

struct ptx_parser {
	struct ptx_lexer lexer;
	struct ptx_token token; /* the next one, not consumed yet */
	struct ptx_module *module;
	struct ptx_log *log;
	enum sim_status status; /* of the first error */
	uint32_t n_errors;
	bool stop; /* out of memory or too many errors: unwind */

	struct ptx_vector symbols, functions; /* struct ptx_symbol, struct ptx_function * */
	uint32_t *buckets;                    /* hash of the symbols' names; index + 1, 0 = free */
	uint32_t n_buckets;

	struct ptx_function *function; /* the one being read */
	struct ptx_vector code, constants, elements, calls, tables, fixups;
	struct ptx_vector names, labels, label_uses, named_tables;
	struct ptx_vector scopes; /* uint32_t: the parent of each brace pair of the function */
	uint32_t scope;
	/* Recent immediates, so that equal ones share their 32 lanes. `bytes_plus_1` 0 = free. */
	struct ptx_cached_constant {
		uint64_t value;
		uint32_t offset;
		uint32_t bytes_plus_1;
	} constant_cache[64];
	struct ptx_vector register_formals; /* struct ptx_register_formal, of the function being read */
	uint32_t sink;                      /* offset of the register that `_` writes to */
	char scratch[512];                  /* where ptx_append() points when out of memory */
};

#define PTX_MAX_DIMENSIONS        8
#define PTX_MAX_LOCAL_BYTES       (512u << 10)
#define PTX_MAX_CONST_BYTES       (64u << 10)
#define PTX_MAX_INITIALISED_BYTES (256u << 20) /* far above what anybody writes out */
#define PTX_MAX_PARAM_BYTES       (1u << 16)   /* nvcc's own limit is 32764 */

/* One declarator with the type in front of it: .align 8 .b8 name[2][3] */
struct ptx_declaration {
	struct ptx_token name;
	uint32_t line;
	enum ptx_type type;
	uint32_t align; /* 0 = natural */
	bool is_managed;
	uint32_t n_elements; /* of a vector type */
	uint32_t n_dimensions;
	uint64_t dimensions[PTX_MAX_DIMENSIONS]; /* 0 = open */
	uint64_t bytes;
};

/* --- ptx_tools.c ------------------------------------------------------------------------------ */

__attribute__((format(printf, 4, 5))) void ptx_error(struct ptx_parser *parser, enum sim_status status, uint32_t line,
						     const char *format, ...);
void ptx_advance(struct ptx_parser *parser);
void ptx_out_of_memory(struct ptx_parser *parser);
bool ptx_at(const struct ptx_parser *parser, char punct);
bool ptx_at_word(const struct ptx_parser *parser, const char *text);
bool ptx_accept_word(struct ptx_parser *parser, const char *text);
/* Of a token in an error message: its length, within reason. */
int ptx_token_width(const struct ptx_token *token);
char *ptx_copy_text(struct ptx_parser *parser, const char *text, size_t length);
bool ptx_accept(struct ptx_parser *parser, char punct);
bool ptx_expect(struct ptx_parser *parser, char punct);
/* A zeroed new item at the end. Never NULL: when memory runs out the parser stops and the item is a scratch one. */
void *ptx_append(struct ptx_parser *parser, struct ptx_vector *vector, size_t item_bytes);
void *ptx_append_n(struct ptx_parser *parser, struct ptx_vector *vector, size_t item_bytes, uint32_t n);
bool ptx_parse_int(struct ptx_parser *parser, uint64_t *ret_value);

/* --- ptx_names.c ------------------------------------------------------------------------------ */

struct ptx_symbol *ptx_symbol_at(const struct ptx_parser *parser, uint32_t index);
/* A new symbol; visible by name in the whole module unless `hidden` (a variable of a function body). UINT32_MAX when
 * memory ran out. */
uint32_t ptx_add_symbol(struct ptx_parser *parser, const struct ptx_token *name, bool hidden);
struct ptx_name *ptx_add_name(struct ptx_parser *parser, const struct ptx_token *token, enum ptx_name_kind kind);
/* Gives every branch and table entry of the function its target. */
void ptx_resolve_labels(struct ptx_parser *parser);
uint32_t ptx_register_stride(uint32_t bytes);
uint32_t ptx_reserve_registers(struct ptx_parser *parser, uint32_t bytes, uint32_t count);
const struct ptx_name *ptx_find_name(const struct ptx_parser *parser, const struct ptx_token *token,
				     uint32_t *ret_offset);
uint32_t ptx_find_symbol(const struct ptx_parser *parser, const char *text, size_t length);
/* Room for one register of `bytes` per lane (0 = predicate) in the function's frame. */
uint32_t ptx_new_register(struct ptx_parser *parser, uint32_t bytes);
void ptx_use_label(struct ptx_parser *parser, const struct ptx_token *token, bool in_table, uint32_t table,
		   uint32_t index);

/* --- ptx_variables.c: each behind the words that tell what is declared, up to and including the ';' --- */

bool ptx_parse_variables(struct ptx_parser *parser, enum ptx_symbol_kind kind, bool is_extern);
bool ptx_parse_frame_variables(struct ptx_parser *parser, enum ptx_name_kind kind);
bool ptx_parse_registers(struct ptx_parser *parser);
/* Parts of a declaration, for formal parameters. */
bool ptx_parse_variable_type(struct ptx_parser *parser, struct ptx_declaration *declaration);
bool ptx_parse_declarator(struct ptx_parser *parser, struct ptx_declaration *declaration);
/* Takes the variable's bytes of a growing area; false, with an error, past the limit. */
bool ptx_reserve_area(struct ptx_parser *parser, const struct ptx_declaration *declaration, uint32_t limit,
		      uint32_t *area, uint32_t *ret_offset);
enum ptx_type ptx_type_of_token(const struct ptx_token *token);

/* --- ptx_decode.c, ptx_loads.c ---------------------------------------------------------------- */

/* ptx_formals.c: registers for the formals that are registers, and the code that fills or returns them. */
void ptx_load_register_params(struct ptx_parser *parser);
void ptx_store_register_results(struct ptx_parser *parser);
bool ptx_parse_formals(struct ptx_parser *parser, bool in_entry, bool are_results, struct ptx_vector *params,
		       uint32_t *area);
void ptx_append_insn(struct ptx_parser *parser, const struct ptx_insn *insn);
/* ptx_decode.c: reads one instruction, with its guard, up to and including the ';'. */
bool ptx_decode_insn(struct ptx_parser *parser);
/* Marks the instructions that must wait for a load under way. */
void ptx_mark_load_uses(struct ptx_insn *code, uint32_t n_code, const struct ptx_operand *elements);

#endif
