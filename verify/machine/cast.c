/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "verify/lanes/narrow.h"
#include "verify/machine/families.h"

/* ---- checks ---- */

static unsigned bits_of(enum kgb_ttir_element element)
{
	return element == KGB_TTIR_I1 ? 1 : 8 * (unsigned)kgb_ttir_element_size(element);
}

static bool fits(enum kgb_cast cast, enum kgb_ttir_element from, enum kgb_ttir_element to)
{
	switch (cast) {
	case KGB_CAST_SIGN_EXTEND:
	case KGB_CAST_ZERO_EXTEND:
		return kgb_ttir_is_integer(from) && kgb_ttir_is_integer(to) &&
		       bits_of(to) > bits_of(from);
	case KGB_CAST_TRUNCATE:
		return kgb_ttir_is_integer(from) && kgb_ttir_is_integer(to) &&
		       bits_of(to) < bits_of(from);
	case KGB_CAST_INDEX:
		return kgb_ttir_is_integer(from) && kgb_ttir_is_integer(to);
	case KGB_CAST_SIGNED_TO_FLOAT:
	case KGB_CAST_UNSIGNED_TO_FLOAT:
		return kgb_ttir_is_integer(from) && kgb_ttir_is_float(to);
	case KGB_CAST_FLOAT_TO_SIGNED:
	case KGB_CAST_FLOAT_TO_UNSIGNED:
		return kgb_ttir_is_float(from) && kgb_ttir_is_integer(to);
	case KGB_CAST_WIDEN:
		return kgb_ttir_is_float(from) && kgb_ttir_is_float(to) &&
		       bits_of(to) > bits_of(from);
	case KGB_CAST_NARROW:
		return kgb_ttir_is_float(from) && kgb_ttir_is_float(to) &&
		       bits_of(to) < bits_of(from);
	case KGB_CAST_FLOAT:
		return kgb_ttir_is_float(from) && kgb_ttir_is_float(to);
	}
	KGB_UNREACHABLE();
}

static unsigned index_of(enum kgb_ttir_element integer)
{
	return integer <= KGB_TTIR_I8 ? 0 : (unsigned)(integer - KGB_TTIR_I8);
}

/* Chooses the loop that converts, and a second loop (lanes_too) if one does not suffice. */
static void choose(struct kgb_operation *op, enum kgb_cast cast, enum kgb_ttir_element from,
		   enum kgb_ttir_element to)
{
	const struct kgb_lanes *lanes = kgb_lanes_choose();

	if (kgb_ttir_is_integer(from) && kgb_ttir_is_integer(to)) {
		bool is_signed = cast == KGB_CAST_SIGN_EXTEND || cast == KGB_CAST_INDEX;
		op->lanes = (is_signed ? lanes->sign_extend
				       : lanes->zero_extend)[index_of(from)][index_of(to)];
	} else if (kgb_ttir_is_integer(from)) {
		/* By way of float64, float16 is rounded only once. bfloat16 and 8-bit floats come
		 * from float32, as on a GPU. */
		bool is_double = to == KGB_TTIR_F64 || to == KGB_TTIR_F16;
		op->lanes = (cast == KGB_CAST_SIGNED_TO_FLOAT
				     ? lanes->signed_to_float
				     : lanes->unsigned_to_float)[index_of(from)][is_double];
	} else if (kgb_ttir_is_integer(to)) {
		bool is_signed = cast == KGB_CAST_FLOAT_TO_SIGNED, is_long = to == KGB_TTIR_I64;
		enum kgb_lanes_id id = is_signed ? is_long ? KGB_LANES_TO_I64 : KGB_LANES_TO_I32
				       : is_long ? KGB_LANES_TO_U64
						 : KGB_LANES_TO_U32;
		op->lanes = lanes->elementwise[id][from == KGB_TTIR_F64 ? KGB_LANES_F64
									: KGB_LANES_F32];
		if (to < KGB_TTIR_I32)
			op->lanes_too = lanes->zero_extend[index_of(KGB_TTIR_I32)][index_of(to)];
	}
}

KGB_BUILD(kgb_cast_build)
{
	const struct kgb_ttir_type from = *kgb_builder__type(b, op->in[0]);
	const struct kgb_ttir_type to = kgb_builder__last_type(b);
	char name[KGB_TTIR_TYPE_NAME_LEN], other[KGB_TTIR_TYPE_NAME_LEN];

	if (!kgb_ttir_same_shape(&from, &to) ||
	    !fits((enum kgb_cast)op->what, (enum kgb_ttir_element)from.element,
		  (enum kgb_ttir_element)to.element)) {
		kgb_builder__fail(b, "from %s to %s", kgb_ttir_type_name(&from, name),
				  kgb_ttir_type_name(&to, other));
		return;
	}
	op->element = from.element;
	op->to = to.element;
	op->number[0] = kgb_ttir_has_word(s, "rtz");
	choose(op, (enum kgb_cast)op->what, (enum kgb_ttir_element)from.element,
	       (enum kgb_ttir_element)to.element);
	uint32_t collapsed = kgb_builder__collapsed(b, op, 1);
	kgb_builder__plan(b, op, 1, &to, collapsed);
	(void)kgb_builder__result(b, op, &to, collapsed);
}

/* ---- execution: one chunk ---- */

union chunk {
	_Alignas(64) float floats[KGB_CHUNK];
	double doubles[KGB_CHUNK];
	int32_t integers[KGB_CHUNK];
	uint8_t bytes[KGB_CHUNK];
};

static void from_integer(struct kgb_execution *x, const struct kgb_operation *op, const void *from,
			 void *to, size_t n)
{
	const enum kgb_ttir_element element = (enum kgb_ttir_element)op->to;
	union chunk KGB_UNCLEARED source, wide;

	if (op->element == KGB_TTIR_I1 &&
	    (op->what == KGB_CAST_SIGN_EXTEND || op->what == KGB_CAST_SIGNED_TO_FLOAT ||
	     op->what == KGB_CAST_INDEX)) {
		x->lanes->negate(source.bytes, from, NULL, NULL, 1, n);
		from = source.bytes;
	}
	if (element == KGB_TTIR_I1) {
		op->lanes(wide.bytes, from, NULL, NULL, 1, n);
		x->lanes->low_bit(to, wide.bytes, NULL, NULL, 1, n);
	} else if (!kgb_ttir_is_narrow(element)) {
		op->lanes(to, from, NULL, NULL, 1, n);
	} else if (element == KGB_TTIR_F16) {
		op->lanes(wide.doubles, from, NULL, NULL, 1, n);
		kgb_narrow_round_double(element, wide.doubles, n, to);
	} else {
		op->lanes(wide.floats, from, NULL, NULL, 1, n);
		kgb_narrow_round(element, wide.floats, n, to);
	}
}

static void to_integer(struct kgb_execution *x, const struct kgb_operation *op, const void *from,
		       void *to, size_t n)
{
	union chunk KGB_UNCLEARED source, wide, narrow;

	if (kgb_ttir_is_narrow((enum kgb_ttir_element)op->element)) {
		kgb_narrow_widen((enum kgb_ttir_element)op->element, from, n, source.floats);
		from = source.floats;
	}
	if (!op->lanes_too) {
		op->lanes(to, from, NULL, NULL, 1, n);
		return;
	}
	op->lanes(wide.integers, from, NULL, NULL, 1, n);
	if (op->to == KGB_TTIR_I1) {
		op->lanes_too(narrow.bytes, wide.integers, NULL, NULL, 1, n);
		x->lanes->low_bit(to, narrow.bytes, NULL, NULL, 1, n);
	} else {
		op->lanes_too(to, wide.integers, NULL, NULL, 1, n);
	}
}

/* A float32 that is not farther from zero than x. */
static float toward_zero(double x)
{
	float y = (float)x;

	return fabs((double)y) > fabs(x) ? nextafterf(y, 0) : y;
}

static void from_double(const struct kgb_operation *op, const double *from, void *to, size_t n)
{
	const enum kgb_ttir_element element = (enum kgb_ttir_element)op->to;
	const bool truncates = op->number[0] != 0;
	union chunk KGB_UNCLEARED single;

	if (element == KGB_TTIR_F64) {
		memcpy(to, from, n * sizeof(*from));
		return;
	}
	if (element != KGB_TTIR_F32 && !truncates) {
		kgb_narrow_round_double(element, from, n, to);
		return;
	}
	for (size_t i = 0; i < n; i++)
		single.floats[i] = truncates ? toward_zero(from[i]) : (float)from[i];
	if (element == KGB_TTIR_F32) {
		memcpy(to, single.floats, n * sizeof(*single.floats));
		return;
	}
	kgb_narrow_truncate(element, single.floats, n);
	kgb_narrow_round(element, single.floats, n, to);
}

static void from_float(const struct kgb_operation *op, const float *from, void *to, size_t n)
{
	const enum kgb_ttir_element element = (enum kgb_ttir_element)op->to;
	union chunk KGB_UNCLEARED cut;

	if (element == KGB_TTIR_F64) {
		for (size_t i = 0; i < n; i++)
			((double *)to)[i] = (double)from[i];
	} else if (element == KGB_TTIR_F32) {
		memcpy(to, from, n * sizeof(*from));
	} else if (op->number[0]) {
		memcpy(cut.floats, from, n * sizeof(*from));
		kgb_narrow_truncate(element, cut.floats, n);
		kgb_narrow_round(element, cut.floats, n, to);
	} else {
		kgb_narrow_round(element, from, n, to);
	}
}

static void cast_chunk(struct kgb_execution *x, const struct kgb_operation *op, const void *from,
		       void *to, size_t n)
{
	const enum kgb_ttir_element element = (enum kgb_ttir_element)op->element;
	union chunk KGB_UNCLEARED wide;

	if (kgb_ttir_is_integer(element)) {
		from_integer(x, op, from, to, n);
	} else if (kgb_ttir_is_integer((enum kgb_ttir_element)op->to)) {
		to_integer(x, op, from, to, n);
	} else if (element == KGB_TTIR_F64) {
		from_double(op, from, to, n);
	} else if (element == KGB_TTIR_F32) {
		from_float(op, from, to, n);
	} else if (op->to == KGB_TTIR_F32) {
		kgb_narrow_widen(element, from, n, to);
	} else {
		kgb_narrow_widen(element, from, n, wide.floats);
		from_float(op, wide.floats, to, n);
	}
}

KGB_RUN(kgb_cast_run)
{
	const size_t n = op->is_wide ? x->width : kgb_execution__value(x, op->out[0])->n_stored;
	const size_t from_size = kgb_ttir_element_size((enum kgb_ttir_element)op->element);
	const size_t to_size = kgb_ttir_element_size((enum kgb_ttir_element)op->to);
	const uint8_t *from = x->at[op->in[0]];
	uint8_t *to = x->at[op->out[0]];

	for (size_t i = 0; i < n; i += KGB_CHUNK)
		cast_chunk(x, op, from + i * from_size, to + i * to_size,
			   n - i < KGB_CHUNK ? n - i : KGB_CHUNK);
	return 0;
}
