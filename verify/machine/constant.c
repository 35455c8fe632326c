/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <math.h>

#include "verify/lanes/narrow.h"
#include "verify/machine/families.h"

/* ---- numbers in the text ---- */

#define NUMBER_MAX 63 /* characters */

/* Parses the hexadecimal digits behind 0x; false: not 1 to 16 digits. */
static bool parse_bits(const char *text, uint64_t *out)
{
	uint64_t bits = 0;
	size_t n = 0;

	for (; n < 17 && isxdigit((unsigned char)text[n]); n++) {
		int digit = isdigit((unsigned char)text[n]) ? text[n] - '0'
							    : (text[n] | 0x20) - 'a' + 10;
		bits = bits << 4 | (uint64_t)digit;
	}
	*out = bits;
	return n > 0 && n <= 16 && text[n] == '\0';
}

static bool parse_integer(const char *text, uint64_t *out)
{
	bool negative = *text == '-';
	uint64_t value = 0;
	const char *first = text += negative;

	for (; isdigit((unsigned char)*text); text++)
		if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
			return false;
	*out = negative ? 0 - value : value;
	return text > first && *text == '\0';
}

/* The bits of one element; false: not a number of this type. */
static bool parse_number(struct kgb_slice slice, enum kgb_ttir_element element, uint64_t *out)
{
	char text[NUMBER_MAX + 1], *end = text;

	if (slice.n == 0 || slice.n > NUMBER_MAX)
		return false;
	memcpy(text, slice.s, slice.n);
	text[slice.n] = '\0';
	if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) {
		*out = text[0] == 't';
		return element == KGB_TTIR_I1;
	}
	if (text[0] == '0' && text[1] == 'x')
		return parse_bits(text + 2, out);
	if (kgb_ttir_is_integer(element)) {
		if (!parse_integer(text, out))
			return false;
		*out &= element == KGB_TTIR_I1 ? 1 : UINT64_MAX;
		return true;
	}
	*out = 0;
	if (element == KGB_TTIR_F32) {
		float value = strtof(text, &end);
		memcpy(out, &value, sizeof(value));
	} else if (element == KGB_TTIR_F64) {
		double value = strtod(text, &end);
		memcpy(out, &value, sizeof(value));
	} else if (kgb_ttir_is_narrow(element)) {
		double value = strtod(text, &end);
		kgb_narrow_round_double(element, &value, 1, out);
	}
	return end > text && *end == '\0';
}

/* ---- constants ---- */

/* Parses n elements in brackets: [[1, 2], [3, 4]]. -1: not n elements, or not numbers. */
static int parse_list(struct kgb_slice text, enum kgb_ttir_element element, size_t n, uint8_t *out)
{
	const size_t size = kgb_ttir_element_size(element);
	size_t found = 0;

	for (size_t i = 0; i < text.n;) {
		size_t k = i;
		if (strchr("[], \n", text.s[i])) {
			i++;
			continue;
		}
		while (k < text.n && !strchr("[], \n", text.s[k]))
			k++;
		uint64_t bits;
		if (found == n ||
		    !parse_number((struct kgb_slice){text.s + i, k - i}, element, &bits))
			return -1;
		memcpy(out + found++ * size, &bits, size);
		i = k;
	}
	return found == n ? 0 : -1;
}

/* "0x0000803F...": bytes of all elements. */
static int parse_bytes(struct kgb_slice text, size_t bytes, uint8_t *out)
{
	if (text.n != 2 * bytes + 4 || memcmp(text.s, "\"0x", 3) != 0)
		return -1;
	for (size_t i = 0; i < bytes; i++) {
		char pair[3] = {text.s[3 + 2 * i], text.s[4 + 2 * i], '\0'};
		uint64_t bits;
		if (!parse_bits(pair, &bits))
			return -1;
		out[i] = (uint8_t)bits;
	}
	return 0;
}

static int add_list(struct kgb_builder *b, const struct kgb_ttir_type *type, struct kgb_slice text,
		    uint32_t *out)
{
	const enum kgb_ttir_element element = (enum kgb_ttir_element)type->element;
	const size_t n = kgb_ttir_lanes(type), bytes = n * kgb_ttir_element_size(element);
	KGB_AUTO(free) uint8_t *elements = kgb_xcalloc(bytes + 8, 1);
	int rc = text.s[0] == '"' ? parse_bytes(text, bytes, elements)
				  : parse_list(text, element, n, elements);

	if (rc == 0)
		*out = kgb_builder__add_constant(b, type, 0, elements);
	return rc;
}

KGB_BUILD(kgb_constant_build)
{
	struct kgb_ttir_type type = {.element = KGB_TTIR_I1};
	struct kgb_slice text = s->text;
	uint64_t bits = 0;
	uint32_t value = 0;

	if (s->n_types || s->n_out_types)
		type = kgb_builder__last_type(b);
	const enum kgb_ttir_element element = (enum kgb_ttir_element)type.element;
	bool is_dense = text.n > 7 && memcmp(text.s, "dense<", 6) == 0;
	bool is_known = kgb_ttir_is_integer(element) || kgb_ttir_is_float(element);
	if (is_dense)
		text = (struct kgb_slice){text.s + 6, text.n - 7};
	if (is_known && is_dense == (type.rank > 0)) {
		if (parse_number(text, element, &bits))
			value = kgb_builder__add_constant(b, &type, KGB_COLLAPSED_ALL, &bits);
		else if (!is_dense || element == KGB_TTIR_I1 ||
			 add_list(b, &type, text, &value) < 0)
			is_known = false;
	} else {
		is_known = false;
	}
	if (!is_known)
		kgb_builder__unsupported(b, "a constant that cannot be read");
	op->run = NULL;
	kgb_builder__set_out(b, op, 1, &value);
}

KGB_BUILD(kgb_range_build)
{
	const struct kgb_ttir_type type = kgb_builder__last_type(b);
	const int64_t start = kgb_ttir_integer(s, "start", 0), end = kgb_ttir_integer(s, "end", 0);
	uint32_t value = 0;

	if (type.rank != 1 || type.element != KGB_TTIR_I32 || start < 0 || end > INT32_MAX ||
	    end - start != type.shape[0]) {
		kgb_builder__fail(b, "a range that its type does not hold");
		return;
	}
	KGB_AUTO(free) int32_t *elements = kgb_xcalloc((size_t)type.shape[0], sizeof(*elements));
	for (int32_t i = 0; i < type.shape[0]; i++)
		elements[i] = (int32_t)start + i;
	value = kgb_builder__add_constant(b, &type, 0, elements);
	op->run = NULL;
	kgb_builder__set_out(b, op, 1, &value);
}

/* ---- the program's place in the grid ---- */

KGB_BUILD(kgb_program_id_build)
{
	const struct kgb_ttir_type type = kgb_builder__last_type(b);

	if (type.rank || type.element != KGB_TTIR_I32) {
		kgb_builder__fail(b, "an i32 expected");
		return;
	}
	op->number[0] = kgb_ttir_has_word(s, "y") ? 1 : kgb_ttir_has_word(s, "z") ? 2 : 0;
	if (kgb_ttir_attribute(s, "axis"))
		op->number[0] = kgb_ttir_integer(s, "axis", 0);
	if (op->number[0] < 0 || op->number[0] > 2)
		kgb_builder__fail(b, "axis %lld", (long long)op->number[0]);
	(void)kgb_builder__result(b, op, &type, 0);
}

KGB_RUN(kgb_program_id_run)
{
	const uint32_t *of = op->what ? x->grid : x->program_id;

	memcpy(x->at[op->out[0]], &of[op->number[0]], sizeof(*of));
	return 0;
}

/* ---- values that are not defined ---- */

KGB_BUILD(kgb_poison_build)
{
	const struct kgb_ttir_type type = kgb_builder__last_type(b);

	(void)s;
	if (type.element == KGB_TTIR_DESCRIPTOR) {
		kgb_builder__fail(b, "a descriptor that is not defined");
		return;
	}
	(void)kgb_builder__result(b, op, &type, 0);
}

KGB_RUN(kgb_poison_run)
{
	const struct kgb_value *value = kgb_execution__value(x, op->out[0]);

	kgb_execution__draw_lanes(x, (enum kgb_ttir_element)value->type.element, x->at[op->out[0]],
				  value->n_stored);
	return 0;
}
