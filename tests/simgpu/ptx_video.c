/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx_video.c - the operands of video instructions: "d.h1, -a.b0, b.b3, c", "d.b3210, a.b7610, b, c".
 *
 * Any thread; all state is in the parser and the decoder.
 */
#include "ptx_decode.h"

#include <string.h>

/* ".b3" or ".h0" of a scalar operand. */
static bool scalar_selector(const struct ptx_token *token, int64_t *ret_selector)
{
	uint32_t index = (uint32_t)(token->text[2] - '0');

	if (token->length != 3 || index > (token->text[1] == 'b' ? 3 : 1))
		return false;
	*ret_selector = (token->text[1] == 'b' ? PTX_VIDEO_BYTE : PTX_VIDEO_HALF) + (int64_t)index;
	return true;
}

/* ".b7610": an element for each, the highest first. */
static bool element_selector(const struct ptx_token *token, uint32_t n, int64_t *ret_selector)
{
	int64_t selector = 0;

	if (token->length != 2 + n)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t index = (uint32_t)(token->text[2 + i] - '0');

		if (index >= 2 * n)
			return false;
		selector = selector << 4 | index;
	}
	*ret_selector = selector;
	return true;
}

/* ".h10", ".b20": which elements are written, the highest first. */
static bool element_mask(const struct ptx_token *token, uint32_t n, int64_t *ret_mask)
{
	int64_t mask = 0;
	uint32_t last = n;

	for (size_t i = 2; i < token->length; i++) {
		uint32_t index = (uint32_t)(token->text[i] - '0');

		if (index >= last)
			return false;
		mask |= 1 << index;
		last = index;
	}
	*ret_mask = mask;
	return mask != 0;
}

/* Behind an operand that ended at `end`, if there is one. */
static bool parse_selector(struct decoder *decoder, const char *end, bool is_destination, int64_t *selector)
{
	struct ptx_parser *parser = decoder->parser;
	uint32_t n = video_elements(decoder->insn.op);
	struct ptx_token token = parser->token;
	bool good = false;

	if (token.kind != PTX_TOKEN_DOTTED || token.text != end)
		return true;
	if (token.length >= 3 && (token.text[1] == 'b' || token.text[1] == 'h') &&
	    (n == 0 || token.text[1] == (n == 2 ? 'h' : 'b')))
		good = n == 0           ? scalar_selector(&token, selector)
		       : is_destination ? element_mask(&token, n, selector)
					: element_selector(&token, n, selector);
	if (!good)
		return decode_bad_operand(decoder, "a selector of the operand's parts");
	ptx_advance(parser);
	return true;
}

static bool parse_source(struct decoder *decoder, struct ptx_operand *ret_operand, int64_t *selector, bool *ret_negate)
{
	struct ptx_parser *parser = decoder->parser;
	const char *end;

	/* The minus of a number is the number's own. */
	*ret_negate = false;
	if (decoder->insn.op == PTX_OP_VMAD && ptx_at(parser, '-')) {
		struct ptx_lexer lexer = parser->lexer;
		struct ptx_token next;

		ptx_lexer_next(&lexer, &next);
		*ret_negate = next.kind == PTX_TOKEN_WORD && ptx_accept(parser, '-');
	}
	end = parser->token.text + parser->token.length;
	return decode_source(decoder, PTX_U32, ret_operand) &&
	       (selector == NULL || parse_selector(decoder, end, false, selector));
}

bool decode_video(struct decoder *decoder)
{
	struct ptx_parser *parser = decoder->parser;
	struct ptx_insn *insn = &decoder->insn;
	uint32_t n = video_elements(insn->op);
	const char *end = parser->token.text + parser->token.length;
	bool negate[3] = { false, false, false };

	if (n != 0) {
		insn->displacement[0] = (1 << n) - 1;
		insn->displacement[1] = n == 2 ? 0x10 : 0x3210;
		insn->displacement[2] = n == 2 ? 0x32 : 0x7654;
	}
	if (!decode_destination(decoder, PTX_U32, &insn->o[0]) ||
	    !parse_selector(decoder, end, true, &insn->displacement[0]))
		return false;
	for (uint32_t i = 1; i <= 3; i++) {
		if (i == 3 && n == 0 && !ptx_at(parser, ','))
			break;
		if (!ptx_expect(parser, ',') ||
		    !parse_source(decoder, &insn->o[i], i < 3 ? &insn->displacement[i] : NULL, &negate[i - 1]))
			return false;
	}
	insn->displacement[0] |= (negate[0] ? PTX_VIDEO_NEGATE_A : 0) | (negate[1] ? PTX_VIDEO_NEGATE_B : 0) |
				 (negate[2] ? PTX_VIDEO_NEGATE_C : 0);
	return true;
}
