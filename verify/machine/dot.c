/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "verify/lanes/narrow.h"
#include "verify/machine/families.h"

/* Rounding of float32 operands before the multiplication. */
enum {
	IEEE,
	TF32,
	TF32X3,
};

/* Products that a tensor core adds up before it rounds a float16 sum: K of one instruction
 * (mma.m16n8k16, wgmma.m64nNk16). */
enum { TERMS_OF_HALF = 16 };

/* ---- checks ---- */

static bool fits(const struct kgb_ttir_type *a, const struct kgb_ttir_type *b,
		 const struct kgb_ttir_type *c)
{
	const int rank = c->rank;

	if ((rank != 2 && rank != 3) || a->rank != rank || b->rank != rank)
		return false;
	if (rank == 3 && (a->shape[0] != c->shape[0] || b->shape[0] != c->shape[0]))
		return false;
	return a->shape[rank - 2] == c->shape[rank - 2] &&
	       b->shape[rank - 1] == c->shape[rank - 1] && a->shape[rank - 1] == b->shape[rank - 2];
}

static bool multiplies(enum kgb_ttir_element a, enum kgb_ttir_element b, enum kgb_ttir_element c)
{
	if (kgb_ttir_is_narrow(a) && kgb_ttir_is_narrow(b))
		return (a == b ||
			(kgb_ttir_element_size(a) == 1 && kgb_ttir_element_size(b) == 1)) &&
		       (c == KGB_TTIR_F32 || c == KGB_TTIR_F16);
	return a == b && (a == KGB_TTIR_I8 ? c == KGB_TTIR_I32
					   : (a == KGB_TTIR_F32 || a == KGB_TTIR_F64) && c == a);
}

KGB_BUILD(kgb_dot_build)
{
	const struct kgb_ttir_type a = *kgb_builder__type(b, op->in[0]);
	const struct kgb_ttir_type right = *kgb_builder__type(b, op->in[1]);
	const struct kgb_ttir_type c = *kgb_builder__type(b, op->in[2]);
	const size_t lanes[2] = {kgb_ttir_lanes(&a), kgb_ttir_lanes(&right)};
	uint32_t scratch[5];

	if (!fits(&a, &right, &c) ||
	    !multiplies((enum kgb_ttir_element)a.element, (enum kgb_ttir_element)right.element,
			(enum kgb_ttir_element)c.element)) {
		kgb_builder__unsupported(
			b, "%s times %s to %s",
			kgb_ttir_element_name((enum kgb_ttir_element)a.element),
			kgb_ttir_element_name((enum kgb_ttir_element)right.element),
			kgb_ttir_element_name((enum kgb_ttir_element)c.element));
		return;
	}
	if (kgb_ttir_has_word(s, "bf16x3") || kgb_ttir_has_word(s, "bf16x6")) {
		kgb_builder__unsupported(b, "products of float32 in parts of bfloat16");
		return;
	}
	if (a.element == KGB_TTIR_F32) /* other types name a precision, too, which is ignored */
		op->what = kgb_ttir_has_word(s, "tf32x3") ? TF32X3
			   : kgb_ttir_has_word(s, "tf32") ? TF32
							  : IEEE;
	kgb_builder__dense_in(b, op, 0);
	for (int k = 0; k < 4; k++) /* both operands as float32, and what rounding removed */
		scratch[k] = kgb_builder__add_scratch(
			b, KGB_TTIR_F32, k < 2 || op->what == TF32X3 ? lanes[k % 2] : 1);
	if (c.element == KGB_TTIR_F16) /* columns of the left operand */
		scratch[2] = kgb_builder__add_scratch(b, KGB_TTIR_F32,
						      (size_t)a.shape[a.rank - 2] * TERMS_OF_HALF);
	scratch[4] = kgb_builder__add_scratch(b, KGB_TTIR_F32, kgb_ttir_lanes(&c));
	kgb_builder__set_scratch(b, op, 5, scratch);
	const int rank = c.rank;
	op->number[0] = c.shape[rank - 2];
	op->number[1] = c.shape[rank - 1];
	op->number[2] = a.shape[rank - 1];
	op->number[3] = rank == 3 ? c.shape[0] : 1;
	op->element = a.element;
	op->to = c.element;
	op->cost += (uint32_t)(kgb_ttir_lanes(&c) / 256 * (size_t)op->number[2]);
	(void)kgb_builder__result(b, op, &c, 0);
}

/* ---- execution ---- */

/* 10 bits of mantissa: a tensor core ignores the others (seen on an H200). A NaN stays one. */
static float to_tf32(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	if (!isnan(x))
		bits &= 0xffffe000;
	memcpy(&x, &bits, sizeof(x));
	return x;
}

/* Returns operand k as float32, rounded to the precision of the product. scratch[k] may hold it;
 * scratch[k + 2] gets what TF32X3 rounded off. */
static const float *prepare(struct kgb_execution *x, const struct kgb_operation *op, int k)
{
	const struct kgb_value *value = kgb_execution__value(x, op->in[k]);
	const size_t n = kgb_ttir_lanes(&value->type);
	const float *from = (const void *)x->at[op->in[k]];
	float *to = (void *)x->at[op->scratch[k]], *rest = (void *)x->at[op->scratch[k + 2]];

	if (kgb_ttir_is_narrow((enum kgb_ttir_element)value->type.element)) {
		kgb_narrow_widen((enum kgb_ttir_element)value->type.element, from, n, to);
		return to;
	}
	if (op->what == IEEE)
		return from;
	for (size_t i = 0; i < n; i++)
		to[i] = to_tf32(from[i]);
	for (size_t i = 0; op->what == TF32X3 && i < n; i++)
		rest[i] = to_tf32(from[i] - to[i]);
	return to;
}

static void multiply(struct kgb_execution *x, const struct kgb_operation *op, float *c,
		     const float *a, const float *b)
{
	const size_t m = (size_t)op->number[0], n = (size_t)op->number[1];
	const size_t k = (size_t)op->number[2], batch = (size_t)op->number[3];

	for (size_t i = 0; i < batch; i++)
		x->lanes->product_f32(c + i * m * n, a + i * m * k, b + i * k * n, m, n, k);
}

static void multiply_floats(struct kgb_execution *x, const struct kgb_operation *op, float *c)
{
	const size_t n = (size_t)(op->number[0] * op->number[1] * op->number[3]);
	const float *a = prepare(x, op, 0), *b = prepare(x, op, 1);
	float *sum = (void *)x->at[op->scratch[4]];

	if (op->what != TF32X3) {
		multiply(x, op, c, a, b);
		return;
	}
	/* The products with what was rounded off come first. A sum of them that is NaN counts as
	 * 0: the product of the rounded operands then decides. */
	memset(sum, 0, n * sizeof(*sum));
	multiply(x, op, sum, (const void *)x->at[op->scratch[2]], b);
	multiply(x, op, sum, a, (const void *)x->at[op->scratch[3]]);
	for (size_t i = 0; i < n; i++)
		c[i] += isnan(sum[i]) ? 0 : sum[i];
	multiply(x, op, c, a, b);
}

/* Add the products of columns [from, from + n_terms) of one matrix to c, m times n. */
static void add_terms(struct kgb_execution *x, const struct kgb_operation *op, float *c,
		      const float *a, const float *b, size_t from, size_t n_terms)
{
	const size_t m = (size_t)op->number[0], n = (size_t)op->number[1];
	const size_t k = (size_t)op->number[2];
	float *columns = (void *)x->at[op->scratch[2]];

	for (size_t i = 0; i < m; i++)
		memcpy(columns + i * n_terms, a + i * k + from, n_terms * sizeof(*a));
	x->lanes->product_f32(c, columns, b + from * n, m, n, n_terms);
}

/* float16 sums, with a rounding after every TERMS_OF_HALF products. */
static void multiply_to_half(struct kgb_execution *x, const struct kgb_operation *op, void *c)
{
	const size_t m = (size_t)op->number[0], n = (size_t)op->number[1];
	const size_t k = (size_t)op->number[2], batch = (size_t)op->number[3];
	const float *a = prepare(x, op, 0), *b = prepare(x, op, 1);
	float *sums = (void *)x->at[op->scratch[4]];

	memcpy(c, x->at[op->in[2]], batch * m * n * kgb_ttir_element_size(KGB_TTIR_F16));
	for (size_t from = 0; from < k; from += TERMS_OF_HALF) {
		const size_t n_terms = k - from < TERMS_OF_HALF ? k - from : TERMS_OF_HALF;
		kgb_narrow_widen(KGB_TTIR_F16, c, batch * m * n, sums);
		for (size_t i = 0; i < batch; i++)
			add_terms(x, op, sums + i * m * n, a + i * m * k, b + i * k * n, from,
				  n_terms);
		kgb_narrow_round(KGB_TTIR_F16, sums, batch * m * n, c);
	}
}

KGB_RUN(kgb_dot_run)
{
	const size_t m = (size_t)op->number[0], n = (size_t)op->number[1];
	const size_t k = (size_t)op->number[2], batch = (size_t)op->number[3];
	const size_t lanes = batch * m * n;
	void *c = x->at[op->out[0]];
	const void *a = x->at[op->in[0]], *b = x->at[op->in[1]];

	if (op->to == KGB_TTIR_F16) {
		multiply_to_half(x, op, c);
		return 0;
	}
	memcpy(c, x->at[op->in[2]], lanes * kgb_ttir_element_size((enum kgb_ttir_element)op->to));
	if (op->to == KGB_TTIR_F32) {
		multiply_floats(x, op, c);
		return 0;
	}
	for (size_t i = 0; i < batch; i++) {
		if (op->element == KGB_TTIR_I8)
			x->lanes->product_i8((int32_t *)c + i * m * n,
					     (const int8_t *)a + i * m * k,
					     (const int8_t *)b + i * k * n, m, n, k);
		else
			x->lanes->product_f64((double *)c + i * m * n,
					      (const double *)a + i * m * k,
					      (const double *)b + i * k * n, m, n, k);
	}
	return 0;
}
