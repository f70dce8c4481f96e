/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_matrix.c - mma, wmma, ldmatrix, stmatrix, movmatrix.
 *
 * They run for a whole warp, which exec_warp.c has brought together. Elements become doubles, which hold every type
 * here exactly, and so do their products. A sum of narrow floats is kept in f64 and rounded once at the end: it is at
 * least as exact as the f32 that PTX promises. f64 products are chains of fma, smallest k first.
 *
 * Fragments of mma are where PTX says. Those of wmma are opaque to a program, so they are simply consecutive: register
 * by register, lane by lane, the elements of the matrix row by row, from the start again when there is room for more.
 * Runs on the thread of sim_launch().
 */
#include "exec_ops.h"
#include "half.h"

#include <math.h>

#define F(id) PTX_FLAG(id)

#define MAX_ELEMENTS (16 * 256) /* of the largest factor: single bits */

struct matrix {
	uint32_t rows, columns;
	double at[MAX_ELEMENTS]; /* row by row */
};

struct matrix_shape {
	uint16_t m, n, k;
};

static struct matrix_shape shape_of(const struct ptx_insn *insn)
{
	switch (insn->shape) {
#define PTX_SHAPE(id, m, n, k) \
	case PTX_M_##id:       \
		return (struct matrix_shape){ m, n, k };
#include "ptx_mods.def"
	default:
		return (struct matrix_shape){ 8, 8, 0 };
	}
}

/* --- elements --------------------------------------------------------------------------------- */

static double read_element(uint64_t bits, uint8_t type)
{
	switch (type) {
	case PTX_F64:
		return bits_double(bits);
	case PTX_F32:
		return bits_float((uint32_t)bits);
	case PTX_TF32:
		/* The low 13 bits of the register are not looked at. */
		return bits_float((uint32_t)bits & 0xffffe000u);
	case PTX_F16:
		return f16_to_float((uint16_t)bits);
	case PTX_BF16:
		return bf16_to_float((uint16_t)bits);
	case PTX_E4M3:
		return e4m3_to_float((uint8_t)bits);
	case PTX_E5M2:
		return e5m2_to_float((uint8_t)bits);
	case PTX_S8:
		return (int8_t)bits;
	case PTX_U8:
		return (uint8_t)bits;
	case PTX_S4:
		return (int32_t)(bits & 7) - (int32_t)(bits & 8);
	case PTX_U4:
		return bits & 15;
	case PTX_B1:
		return bits & 1;
	default:
		return (int32_t)bits;
	}
}

static uint64_t integer_element(double value, bool satfinite)
{
	if (satfinite && value > INT32_MAX)
		return INT32_MAX;
	if (satfinite && value < INT32_MIN)
		return (uint32_t)INT32_MIN;
	return (uint32_t)(int64_t)value;
}

static uint64_t write_element(double value, uint8_t type, bool satfinite)
{
	switch (type) {
	case PTX_F64:
		return isnan(value) ? 0x7ff8000000000000ULL : double_bits(value);
	case PTX_F32:
		return isnan(value) ? 0x7fffffffu : float_bits((float)value);
	case PTX_F16:
		return double_to_f16(value, HALF_NEAREST);
	case PTX_BF16:
		return double_to_bf16(value, HALF_NEAREST);
	default:
		return integer_element(value, satfinite);
	}
}

static uint32_t element_bits(uint8_t type)
{
	switch (type) {
	case PTX_S4:
	case PTX_U4:
		return 4;
	case PTX_B1:
		return 1;
	default:
		return 8u * ptx_type_bytes[type];
	}
}

/* Of the elements of a type that share a register. */
static uint32_t elements_per_register(uint8_t type)
{
	return type == PTX_F64 ? 1 : 32u / element_bits(type);
}

static const struct ptx_operand *registers_of(const struct sim_warp *warp, const struct ptx_operand *fragment)
{
	return &warp->frame->function->elements[fragment->offset];
}

/* --- where an element is ---------------------------------------------------------------------- */

enum fragment { FRAGMENT_A, FRAGMENT_B, FRAGMENT_C };

struct place {
	uint32_t row, column;
};

/* mma: element `i` of register `r` in a lane. Four lanes share a row of a or c, or a column of b. */
static struct place mma_place(enum fragment fragment, struct matrix_shape shape, uint32_t per_register, uint32_t lane,
			      uint32_t r, uint32_t i)
{
	uint32_t group = lane / 4, member = lane % 4;
	bool tall = shape.m == 16;

	if (fragment == FRAGMENT_A)
		return (struct place){ group + (tall && r % 2 ? 8 : 0),
				       member * per_register + i + (tall ? r / 2 : r) * 4 * per_register };
	if (fragment == FRAGMENT_B)
		return (struct place){ member * per_register + i + r * 4 * per_register, group };
	/* The accumulator always has two neighbours, in one register or in two. */
	i += r * per_register;
	return (struct place){ group + (i >= 2 ? 8 : 0), member * 2 + i % 2 };
}

static struct place wmma_place(uint32_t columns, uint32_t total, uint32_t per_lane, uint32_t lane, uint32_t i)
{
	uint32_t index = (lane * per_lane + i) % total;

	return (struct place){ index / columns, index % columns };
}

static struct place place_of(const struct ptx_insn *insn, enum fragment fragment, const struct matrix *matrix,
			     const struct ptx_operand *registers, uint32_t per_register, uint32_t lane, uint32_t index)
{
	if (insn->op == PTX_OP_MMA)
		return mma_place(fragment, shape_of(insn), per_register, lane, index / per_register,
				 index % per_register);
	return wmma_place(matrix->columns, matrix->rows * matrix->columns, registers->n_elements * per_register, lane,
			  index);
}

static void size_matrix(struct matrix *matrix, enum fragment fragment, struct matrix_shape shape)
{
	matrix->rows = fragment == FRAGMENT_B ? shape.k : shape.m;
	matrix->columns = fragment == FRAGMENT_A ? shape.k : shape.n;
}

static double *element_of(struct matrix *matrix, struct place place)
{
	return &matrix->at[place.row * matrix->columns + place.column];
}

static void read_fragment(const struct sim_warp *warp, const struct ptx_insn *insn, const struct ptx_operand *operand,
			  enum fragment fragment, uint8_t type, struct matrix *ret_matrix)
{
	const struct ptx_operand *registers = registers_of(warp, operand);
	uint32_t per_register = elements_per_register(type), bits = element_bits(type);

	size_matrix(ret_matrix, fragment, shape_of(insn));
	for (uint32_t lane = 0; lane < SIM_LANES; lane++)
		for (uint32_t i = 0; i < operand->n_elements * per_register; i++) {
			uint64_t word = read_lane(warp, &registers[i / per_register], lane);
			struct place place = place_of(insn, fragment, ret_matrix, operand, per_register, lane, i);

			*element_of(ret_matrix, place) = read_element(word >> i % per_register * bits, type);
		}
}

static void write_fragment(struct sim_warp *warp, const struct ptx_insn *insn, const struct ptx_operand *operand,
			   enum fragment fragment, uint8_t type, struct matrix *matrix, uint32_t mask)
{
	const struct ptx_operand *registers = registers_of(warp, operand);
	uint32_t per_register = elements_per_register(type), bits = element_bits(type);

	FOR_EACH_LANE(lane, mask)
	{
		for (uint32_t r = 0; r < operand->n_elements; r++) {
			uint64_t word = 0;

			for (uint32_t i = 0; i < per_register; i++) {
				struct place place = place_of(insn, fragment, matrix, operand, per_register, lane,
							      r * per_register + i);

				word |= write_element(*element_of(matrix, place), type, has_flag(insn, F(SATFINITE)))
					<< i * bits;
			}
			write_lane(warp, &registers[r], lane, word);
		}
	}
}

/* --- products --------------------------------------------------------------------------------- */

enum product { PRODUCT_SUM, PRODUCT_FMA, PRODUCT_XOR };

static double dot(const struct matrix *a, const struct matrix *b, uint32_t row, uint32_t column, double sum,
		  enum product product)
{
	for (uint32_t k = 0; k < a->columns; k++) {
		double x = a->at[row * a->columns + k], y = b->at[k * b->columns + column];

		switch (product) {
		case PRODUCT_FMA:
			sum = fma(x, y, sum);
			break;
		case PRODUCT_XOR:
			sum += x != y;
			break;
		default: /* of bits, AND is the product */
			sum += x * y;
			break;
		}
	}
	return sum;
}

/* How products of bits are meant; they are counted, by .popc. */
static uint8_t bit_action(const struct ptx_insn *insn)
{
	return insn->actions[insn->op == PTX_OP_WMMA ? 1 : 0];
}

static enum product product_of(const struct ptx_insn *insn, uint8_t type)
{
	if (type == PTX_F64)
		return PRODUCT_FMA;
	return bit_action(insn) == PTX_M_XOR ? PRODUCT_XOR : PRODUCT_SUM;
}

static void multiply(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t mask, const uint8_t types[4])
{
	enum product product = product_of(insn, types[0]);
	struct matrix a, b, c;

	read_fragment(warp, insn, &insn->o[1], FRAGMENT_A, types[1], &a);
	read_fragment(warp, insn, &insn->o[2], FRAGMENT_B, types[2], &b);
	read_fragment(warp, insn, &insn->o[3], FRAGMENT_C, types[3], &c);
	for (uint32_t row = 0; row < c.rows; row++)
		for (uint32_t column = 0; column < c.columns; column++)
			c.at[row * c.columns + column] =
				dot(&a, &b, row, column, c.at[row * c.columns + column], product);
	write_fragment(warp, insn, &insn->o[0], FRAGMENT_C, types[0], &c, mask);
}

/* --- mma.m8n8k4 of halves: a product for each eight lanes, q, q + 1, q + 2, q + 3 and those plus 16 ------------ */

/* Which of the eight a lane is. */
static uint32_t quad_member(uint32_t lane)
{
	return lane % 4 + (lane >= 16 ? 4 : 0);
}

/* The member's own row (of a by rows) or column (of b by columns); else four of them share the other index. */
static struct place quad_factor_place(bool own_line, uint32_t lane, uint32_t i)
{
	if (own_line)
		return (struct place){ quad_member(lane), i };
	return (struct place){ i + (lane >= 16 ? 4 : 0), lane % 4 };
}

static struct place quad_sum_place(uint8_t type, uint32_t lane, uint32_t i)
{
	if (type == PTX_F16)
		return (struct place){ quad_member(lane), i };
	return (struct place){ (lane & 1) + (i & 2) + (lane >= 16 ? 4 : 0), (i & 4) + (lane & 2) + (i & 1) };
}

static uint64_t fragment_element(const struct sim_warp *warp, const struct ptx_operand *operand, uint32_t lane,
				 uint32_t i, uint8_t type)
{
	uint32_t per_register = elements_per_register(type);

	return read_lane(warp, &registers_of(warp, operand)[i / per_register], lane) >>
	       i % per_register * element_bits(type);
}

static void multiply_quads(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t mask)
{
	const struct ptx_operand *to = registers_of(warp, &insn->o[0]);
	uint32_t per_register = elements_per_register(insn->types[0]);
	double a[4][8][4], b[4][8][4], c[4][8][8];

	for (uint32_t lane = 0; lane < SIM_LANES; lane++) {
		uint32_t quad = lane % 16 / 4;

		for (uint32_t i = 0; i < 4; i++) {
			struct place in_a = quad_factor_place(insn->layouts[0] == PTX_M_ROW, lane, i);
			struct place in_b = quad_factor_place(insn->layouts[1] == PTX_M_COL, lane, i);

			a[quad][in_a.row][in_a.column] =
				read_element(fragment_element(warp, &insn->o[1], lane, i, PTX_F16), PTX_F16);
			b[quad][in_b.row][in_b.column] =
				read_element(fragment_element(warp, &insn->o[2], lane, i, PTX_F16), PTX_F16);
		}
		for (uint32_t i = 0; i < 8; i++) {
			struct place place = quad_sum_place(insn->types[3], lane, i);
			uint64_t bits = fragment_element(warp, &insn->o[3], lane, i, insn->types[3]);

			c[quad][place.row][place.column] = read_element(bits, insn->types[3]);
		}
	}
	FOR_EACH_LANE(lane, mask)
	{
		uint32_t quad = lane % 16 / 4;

		for (uint32_t r = 0; r < insn->o[0].n_elements; r++) {
			uint64_t word = 0;

			for (uint32_t i = 0; i < per_register; i++) {
				struct place place = quad_sum_place(insn->types[0], lane, r * per_register + i);
				double sum = c[quad][place.row][place.column];

				for (uint32_t k = 0; k < 4; k++)
					sum += a[quad][place.row][k] * b[quad][place.column][k];
				word |= write_element(sum, insn->types[0], false) << i * 16;
			}
			write_lane(warp, &to[r], lane, word);
		}
	}
}

/* wmma.mma names four types, or the two of the accumulators when the factors are f16. */
static void wmma_types(const struct ptx_insn *insn, uint8_t ret_types[4])
{
	if (insn->n_types == 4) {
		memcpy(ret_types, insn->types, 4);
		return;
	}
	ret_types[0] = insn->types[0];
	ret_types[1] = ret_types[2] = PTX_F16;
	ret_types[3] = insn->types[1];
}

/* --- wmma.load, wmma.store -------------------------------------------------------------------- */

static enum fragment fragment_of(const struct ptx_insn *insn)
{
	return insn->actions[1] == PTX_M_FRAGMENT_A   ? FRAGMENT_A
	       : insn->actions[1] == PTX_M_FRAGMENT_B ? FRAGMENT_B
						      : FRAGMENT_C;
}

/* Host pointer to element (row, column) of the matrix that a lane names, and the first of its bits there; NULL after a
 * fault. */
static void *element_pointer(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t lane,
			     const struct matrix *matrix, struct place place, uint32_t *ret_shift)
{
	const struct ptx_operand *stride = &insn->o[2];
	bool by_rows = insn->layouts[0] == PTX_M_ROW;
	uint32_t bytes = ptx_type_bytes[insn->types[0]], bits = element_bits(insn->types[0]);
	uint64_t step = by_rows ? matrix->columns : matrix->rows;

	if (stride->kind != PTX_OPERAND_NONE)
		step = read_lane(warp, stride, lane);
	step = by_rows ? place.row * step + place.column : place.column * step + place.row;
	*ret_shift = (uint32_t)(step * bits % 8);
	return lane_pointer(warp, insn, lane, insn->spaces[0], lane_address(warp, insn, 0, lane) + step * bits / 8,
			    bytes);
}

static void wmma_transfer(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t mask, bool is_load)
{
	const struct ptx_operand *operand = &insn->o[is_load ? 0 : 1];
	const struct ptx_operand *registers = registers_of(warp, operand);
	uint32_t bytes = ptx_type_bytes[insn->types[0]], per_register = elements_per_register(insn->types[0]);
	uint32_t bits = element_bits(insn->types[0]), shift;
	enum fragment fragment = fragment_of(insn);
	struct matrix matrix;

	size_matrix(&matrix, fragment, shape_of(insn));
	FOR_EACH_LANE(lane, mask)
	{
		for (uint32_t r = 0; r < operand->n_elements; r++) {
			uint64_t word = is_load ? 0 : read_lane(warp, &registers[r], lane);

			for (uint32_t i = 0; i < per_register; i++) {
				struct place place = place_of(insn, fragment, &matrix, operand, per_register, lane,
							      r * per_register + i);
				void *at = element_pointer(warp, insn, lane, &matrix, place, &shift);
				uint64_t element = word >> i * bits;

				if (at == NULL)
					return;
				if (is_load) {
					element = 0;
					memcpy(&element, at, bytes);
					element = element >> shift & (bits == 64 ? UINT64_MAX : (1ULL << bits) - 1);
					word |= element << i * bits;
				} else {
					memcpy(at, &element, bytes);
				}
			}
			if (is_load)
				write_lane(warp, &registers[r], lane, word);
		}
	}
}

/* --- rows of eight halves --------------------------------------------------------------------- */

/* Lane 8 * i + row names the row of matrix i; each lane holds two neighbours of row lane / 4. */
static void ldmatrix_rows(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t mask)
{
	const struct ptx_operand *registers = registers_of(warp, &insn->o[0]);
	uint16_t rows[4][8][8];

	memset(rows, 0, sizeof(rows));
	for (uint32_t lane = 0; lane < 8u * insn->n_elements; lane++) {
		const void *from =
			lane_pointer(warp, insn, lane, insn->spaces[0], lane_address(warp, insn, 0, lane), 16);

		if (from == NULL)
			return;
		memcpy(rows[lane / 8][lane % 8], from, 16);
	}
	warp_note_load(warp, PTX_COST_LATENCY_SHARED);
	FOR_EACH_LANE(lane, mask)
	{
		uint32_t row = lane / 4, column = lane % 4 * 2;

		for (uint32_t i = 0; i < insn->n_elements; i++) {
			bool trans = has_flag(insn, F(TRANS));
			uint32_t low = trans ? rows[i][column][row] : rows[i][row][column];
			uint32_t high = trans ? rows[i][column + 1][row] : rows[i][row][column + 1];

			write_lane(warp, &registers[i], lane, low | high << 16);
		}
	}
}

static void gather_rows(const struct sim_warp *warp, const struct ptx_operand *from, uint16_t ret_rows[8][8],
			bool trans)
{
	for (uint32_t lane = 0; lane < SIM_LANES; lane++) {
		uint32_t word = (uint32_t)read_lane(warp, from, lane), row = lane / 4, column = lane % 4 * 2;

		for (uint32_t i = 0; i < 2; i++) {
			if (trans)
				ret_rows[column + i][row] = (uint16_t)(word >> 16 * i);
			else
				ret_rows[row][column + i] = (uint16_t)(word >> 16 * i);
		}
	}
}

static void stmatrix_rows(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t mask)
{
	const struct ptx_operand *registers = registers_of(warp, &insn->o[1]);

	for (uint32_t i = 0; i < insn->n_elements; i++) {
		uint16_t rows[8][8];

		gather_rows(warp, &registers[i], rows, has_flag(insn, F(TRANS)));
		for (uint32_t row = 0; row < 8; row++) {
			uint32_t lane = 8 * i + row;
			void *to =
				lane_pointer(warp, insn, lane, insn->spaces[0], lane_address(warp, insn, 0, lane), 16);

			if (to == NULL)
				return;
			memcpy(to, rows[row], 16);
		}
	}
}

static void movmatrix_rows(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t mask)
{
	uint16_t rows[8][8];

	gather_rows(warp, &insn->o[1], rows, true);
	FOR_EACH_LANE(lane, mask)
	{
		uint32_t row = lane / 4, column = lane % 4 * 2;

		write_lane(warp, &insn->o[0], lane, rows[row][column] | (uint32_t)rows[row][column + 1] << 16);
	}
}

/* --- running and selecting -------------------------------------------------------------------- */

bool is_matrix_op(const struct ptx_insn *insn)
{
	return insn->op >= PTX_OP_MMA && insn->op <= PTX_OP_MOVMATRIX;
}

void matrix_run(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t mask)
{
	uint8_t types[4];

	switch (insn->op) {
	case PTX_OP_MMA:
		if (insn->shape == PTX_M_M8N8K4 && insn->types[1] == PTX_F16)
			multiply_quads(warp, insn, mask);
		else
			multiply(warp, insn, mask, insn->types);
		break;
	case PTX_OP_WMMA:
		if (insn->actions[0] != PTX_M_MMA) {
			wmma_transfer(warp, insn, mask, insn->actions[0] == PTX_M_LOAD);
			break;
		}
		wmma_types(insn, types);
		multiply(warp, insn, mask, types);
		break;
	case PTX_OP_LDMATRIX:
		ldmatrix_rows(warp, insn, mask);
		break;
	case PTX_OP_STMATRIX:
		stmatrix_rows(warp, insn, mask);
		break;
	default:
		movmatrix_rows(warp, insn, mask);
		break;
	}
}

static bool select_matrix(struct ptx_insn *insn)
{
	insn->run = warp_sync_handler();
	return has_flag(insn, F(SYNC)) && has_flag(insn, F(ALIGNED)) && insn->shape != PTX_M_NONE;
}

/* The types that go together: of the result, the factors and what is added. */
static bool types_fit(const uint8_t types[4])
{
	uint8_t a = types[1], b = types[2], c = types[3], d = types[0];
	bool a_is_byte = a == PTX_S8 || a == PTX_U8, b_is_byte = b == PTX_S8 || b == PTX_U8;
	bool a_is_nibble = a == PTX_S4 || a == PTX_U4, b_is_nibble = b == PTX_S4 || b == PTX_U4;
	bool a_is_fp8 = a == PTX_E4M3 || a == PTX_E5M2, b_is_fp8 = b == PTX_E4M3 || b == PTX_E5M2;

	if (a_is_byte || a_is_nibble || a == PTX_B1)
		return a_is_byte == b_is_byte && a_is_nibble == b_is_nibble && (a == PTX_B1) == (b == PTX_B1) &&
		       c == PTX_S32 && d == PTX_S32;
	if (a == PTX_F64)
		return b == PTX_F64 && c == PTX_F64 && d == PTX_F64;
	if ((c != PTX_F32 && c != PTX_F16) || (d != PTX_F32 && d != PTX_F16))
		return false;
	if (a_is_fp8)
		return b_is_fp8 && c == d;
	if (a == PTX_F16)
		return b == PTX_F16;
	return (a == PTX_BF16 || a == PTX_TF32) && b == a && c == PTX_F32 && d == PTX_F32;
}

/* Which depths exist for which factors. */
static bool depth_fits(struct matrix_shape shape, uint8_t type)
{
	switch (type) {
	case PTX_F16:
	case PTX_BF16:
		return shape.m == 16 && (shape.k == 8 || shape.k == 16);
	case PTX_TF32:
		return shape.m == 16 && (shape.k == 4 || shape.k == 8);
	case PTX_F64:
		return shape.m == 8 ? shape.k == 4 : shape.k <= 16;
	case PTX_E4M3:
	case PTX_E5M2:
		return shape.m == 16 && (shape.k == 16 || shape.k == 32);
	case PTX_S4:
	case PTX_U4:
		return shape.k == 32 || (shape.m == 16 && shape.k == 64);
	case PTX_B1:
		return shape.k == 128 || (shape.m == 16 && shape.k == 256);
	default:
		return shape.k == 16 || (shape.m == 16 && shape.k == 32);
	}
}

/* Bits are combined in one of two ways and counted; nothing else is. */
static bool bit_action_fits(const struct ptx_insn *insn, uint8_t type)
{
	const uint8_t *actions = &insn->actions[insn->op == PTX_OP_WMMA ? 1 : 0];

	if (type == PTX_B1)
		return (actions[0] == PTX_M_XOR || actions[0] == PTX_M_AND) && actions[1] == PTX_M_POPC;
	return actions[0] == PTX_M_NONE;
}

static bool registers_fit(const struct ptx_operand *operand, uint32_t n_elements, uint8_t type)
{
	return operand->n_elements * elements_per_register(type) * SIM_LANES == n_elements;
}

bool select_mma(struct ptx_insn *insn)
{
	struct matrix_shape shape = shape_of(insn);

	if (!select_matrix(insn) || insn->n_types != 4 || insn->shape > PTX_M_M16N8K32 || shape.k == 0)
		return false;
	if (insn->n_layouts != 2 || !bit_action_fits(insn, insn->types[1]))
		return false;
	if (insn->shape == PTX_M_M8N8K4 && insn->types[1] == PTX_F16)
		return types_fit(insn->types) && !has_flag(insn, F(SATFINITE)) && insn->rnd == PTX_M_NONE &&
		       registers_fit(&insn->o[0], 256, insn->types[0]) && registers_fit(&insn->o[1], 128, PTX_F16) &&
		       registers_fit(&insn->o[2], 128, PTX_F16) && registers_fit(&insn->o[3], 256, insn->types[3]);
	if (insn->layouts[0] != PTX_M_ROW || insn->layouts[1] != PTX_M_COL)
		return false;
	if (insn->rnd != PTX_M_NONE && insn->rnd != PTX_M_RN)
		return false;
	return types_fit(insn->types) && depth_fits(shape, insn->types[1]) &&
	       registers_fit(&insn->o[0], shape.m * shape.n, insn->types[0]) &&
	       registers_fit(&insn->o[1], shape.m * shape.k, insn->types[1]) &&
	       registers_fit(&insn->o[2], shape.n * shape.k, insn->types[2]) &&
	       registers_fit(&insn->o[3], shape.m * shape.n, insn->types[3]);
}

/* A fragment holds its matrix once, or several times over. */
static bool fragment_fits(const struct ptx_operand *operand, uint32_t n_elements, uint8_t type)
{
	uint32_t room = operand->n_elements * elements_per_register(type) * SIM_LANES;

	return room >= n_elements && room % n_elements == 0;
}

static bool is_part_of_byte(uint8_t type)
{
	return type == PTX_S4 || type == PTX_U4 || type == PTX_B1;
}

static bool wmma_type(uint8_t type)
{
	return type == PTX_F16 || type == PTX_BF16 || type == PTX_TF32 || type == PTX_F32 || type == PTX_F64 ||
	       type == PTX_S8 || type == PTX_U8 || type == PTX_S32 || is_part_of_byte(type);
}

static bool select_wmma_transfer(struct ptx_insn *insn)
{
	struct matrix matrix;

	size_matrix(&matrix, fragment_of(insn), shape_of(insn));
	if (insn->actions[0] == PTX_M_STORE
		    ? insn->actions[1] != PTX_M_FRAGMENT_D
		    : insn->actions[1] < PTX_M_FRAGMENT_A || insn->actions[1] > PTX_M_FRAGMENT_C)
		return false;
	/* Whole bytes side by side, lest an element be looked for in the middle of another one's. */
	if (is_part_of_byte(insn->types[0]) &&
	    (fragment_of(insn) == FRAGMENT_C ||
	     insn->layouts[0] != (fragment_of(insn) == FRAGMENT_A ? PTX_M_ROW : PTX_M_COL)))
		return false;
	return insn->n_layouts == 1 && insn->n_types == 1 && insn->n_spaces <= 1 && wmma_type(insn->types[0]) &&
	       fragment_fits(&insn->o[insn->actions[0] == PTX_M_STORE ? 1 : 0], matrix.rows * matrix.columns,
			     insn->types[0]);
}

bool select_wmma(struct ptx_insn *insn)
{
	struct matrix_shape shape = shape_of(insn);
	uint8_t types[4];

	if (!select_matrix(insn) || shape.k == 0)
		return false;
	if (insn->actions[0] == PTX_M_LOAD)
		insn->cost = PTX_COST_LATENCY_SHARED;
	if (insn->actions[0] != PTX_M_MMA)
		return select_wmma_transfer(insn);
	if ((insn->n_types != 4 && insn->n_types != 2) || insn->n_layouts != 2 ||
	    (insn->rnd != PTX_M_NONE && insn->rnd != PTX_M_RN))
		return false;
	wmma_types(insn, types);
	if (!bit_action_fits(insn, types[1]))
		return false;
	return types_fit(types) && fragment_fits(&insn->o[0], shape.m * shape.n, types[0]) &&
	       fragment_fits(&insn->o[1], shape.m * shape.k, types[1]) &&
	       fragment_fits(&insn->o[2], shape.n * shape.k, types[2]) &&
	       fragment_fits(&insn->o[3], shape.m * shape.n, types[3]);
}

static bool select_rows(struct ptx_insn *insn)
{
	return select_matrix(insn) && insn->shape == PTX_M_M8N8 && insn->types[0] == PTX_B16 && insn->n_types == 1 &&
	       insn->n_elements <= 4;
}

bool select_ldmatrix(struct ptx_insn *insn)
{
	insn->properties |= PTX_IS_LOAD;
	return select_rows(insn);
}

bool select_stmatrix(struct ptx_insn *insn)
{
	return select_rows(insn);
}

bool select_movmatrix(struct ptx_insn *insn)
{
	return select_rows(insn) && has_flag(insn, F(TRANS));
}
