/* SPDX-License-Identifier: MIT */
#include "verify/machine/families.h"

/* Names without the prefix "__nv_" and without the suffix "f" of functions of float32. */
static const struct kgb_named_function functions[] = {
	{"exp", KGB_LANES_EXP, 1},
	{"exp2", KGB_LANES_EXP2, 1},
	{"exp10", KGB_LANES_EXP10, 1},
	{"expm1", KGB_LANES_EXPM1, 1},
	{"log", KGB_LANES_LOG, 1},
	{"log2", KGB_LANES_LOG2, 1},
	{"log10", KGB_LANES_LOG10, 1},
	{"log1p", KGB_LANES_LOG1P, 1},
	{"sqrt", KGB_LANES_SQRT, 1},
	{"rsqrt", KGB_LANES_RSQRT, 1},
	{"cbrt", KGB_LANES_CBRT, 1},
	{"sin", KGB_LANES_SIN, 1},
	{"cos", KGB_LANES_COS, 1},
	{"tan", KGB_LANES_TAN, 1},
	{"asin", KGB_LANES_ASIN, 1},
	{"acos", KGB_LANES_ACOS, 1},
	{"atan", KGB_LANES_ATAN, 1},
	{"atan2", KGB_LANES_ATAN2, 2},
	{"sinh", KGB_LANES_SINH, 1},
	{"cosh", KGB_LANES_COSH, 1},
	{"tanh", KGB_LANES_TANH, 1},
	{"asinh", KGB_LANES_ASINH, 1},
	{"acosh", KGB_LANES_ACOSH, 1},
	{"atanh", KGB_LANES_ATANH, 1},
	{"erf", KGB_LANES_ERF, 1},
	{"erfc", KGB_LANES_ERFC, 1},
	{"lgamma", KGB_LANES_LGAMMA, 1},
	{"tgamma", KGB_LANES_TGAMMA, 1},
	{"j0", KGB_LANES_J0, 1},
	{"j1", KGB_LANES_J1, 1},
	{"y0", KGB_LANES_Y0, 1},
	{"y1", KGB_LANES_Y1, 1},
	{"pow", KGB_LANES_POW, 2},
	{"hypot", KGB_LANES_HYPOT, 2},
	{"fdim", KGB_LANES_FDIM, 2},
	{"fmod", KGB_LANES_REMF, 2},
	{"fmax", KGB_LANES_MAXNUMF, 2},
	{"fmin", KGB_LANES_MINNUMF, 2},
	{"fma", KGB_LANES_FMA, 3},
	{"remainder", KGB_LANES_REMAINDER, 2},
	{"nextafter", KGB_LANES_NEXTAFTER, 2},
	{"copysign", KGB_LANES_COPYSIGN, 2},
	{"fabs", KGB_LANES_ABSF, 1},
	{"floor", KGB_LANES_FLOOR, 1},
	{"ceil", KGB_LANES_CEIL, 1},
	{"trunc", KGB_LANES_TRUNC, 1},
	{"round", KGB_LANES_ROUND, 1},
	{"rint", KGB_LANES_RINT, 1},
	{"nearbyint", KGB_LANES_RINT, 1},
	{"isnan", KGB_LANES_ISNAN, 1},
	{"isinf", KGB_LANES_ISINF, 1},
	{"isfinite", KGB_LANES_ISFINITE, 1},
	{"finite", KGB_LANES_ISFINITE, 1},
	{"signbit", KGB_LANES_SIGNBIT, 1},
	{"fast_exp", KGB_LANES_ABOUT_EXP, 1},
	{"fast_exp10", KGB_LANES_ABOUT_EXP10, 1},
	{"fast_log", KGB_LANES_ABOUT_LOG, 1},
	{"fast_log2", KGB_LANES_ABOUT_LOG2, 1},
	{"fast_log10", KGB_LANES_ABOUT_LOG10, 1},
	{"fast_sin", KGB_LANES_ABOUT_SIN, 1},
	{"fast_cos", KGB_LANES_ABOUT_COS, 1},
	{"fast_tan", KGB_LANES_ABOUT_TAN, 1},
	{"fast_tanh", KGB_LANES_ABOUT_TANH, 1},
	{"fast_pow", KGB_LANES_ABOUT_POW, 2},
	{"fast_div", KGB_LANES_ABOUT_FAST_DIVF, 2},
	{"fast_fdivide", KGB_LANES_ABOUT_FAST_DIVF, 2},
	{"add_rn", KGB_LANES_ADDF, 2},
	{"dadd_rn", KGB_LANES_ADDF, 2},
	{"fadd_rn", KGB_LANES_ADDF, 2},
	{"fsub_rn", KGB_LANES_SUBF, 2},
	{"fmul_rn", KGB_LANES_MULF, 2},
	{"dmul_rn", KGB_LANES_MULF, 2},
	{"fdiv_rn", KGB_LANES_DIVF, 2},
	{"ddiv_rn", KGB_LANES_DIVF, 2},
	{"div_rn", KGB_LANES_DIVF, 2},
	{"fsqrt_rn", KGB_LANES_SQRT, 1},
	{"dsqrt_rn", KGB_LANES_SQRT, 1},
	{"sqrt_rn", KGB_LANES_SQRT, 1},
	{"fmaf_rn", KGB_LANES_FMA, 3},
	{"fma_rn", KGB_LANES_FMA, 3},
	{"frcp_rn", KGB_LANES_RECIPROCAL, 1},
	{"rcp64h", KGB_LANES_ABOUT_RECIPROCAL, 1},
	{"frsqrt_rn", KGB_LANES_RSQRT, 1},
};

/* Single instructions of PTX on float32, as kernels write them; the output is $0. */
static const struct kgb_named_function instructions[] = {
	{"ex2.approx.f32", KGB_LANES_ABOUT_EXP2, 1},
	{"ex2.approx.ftz.f32", KGB_LANES_ABOUT_EXP2, 1},
	{"lg2.approx.f32", KGB_LANES_ABOUT_LOG2, 1},
	{"lg2.approx.ftz.f32", KGB_LANES_ABOUT_LOG2, 1},
	{"rcp.approx.f32", KGB_LANES_ABOUT_RECIPROCAL, 1},
	{"rcp.approx.ftz.f32", KGB_LANES_ABOUT_RECIPROCAL, 1},
	{"rcp.rn.f32", KGB_LANES_RECIPROCAL, 1},
	{"tanh.approx.f32", KGB_LANES_ABOUT_TANH, 1},
	{"sqrt.approx.f32", KGB_LANES_ABOUT_SQRT, 1},
	{"sqrt.rn.f32", KGB_LANES_SQRT, 1},
	{"rsqrt.approx.f32", KGB_LANES_ABOUT_RSQRT, 1},
	{"rsqrt.approx.ftz.f32", KGB_LANES_ABOUT_RSQRT, 1},
	{"sin.approx.f32", KGB_LANES_ABOUT_SIN, 1},
	{"cos.approx.f32", KGB_LANES_ABOUT_COS, 1},
	{"add.f32", KGB_LANES_ADDF, 2},
	{"sub.f32", KGB_LANES_SUBF, 2},
	{"mul.f32", KGB_LANES_MULF, 2},
	{"add.rn.f32", KGB_LANES_ADDF, 2},
	{"mul.rn.f32", KGB_LANES_MULF, 2},
	{"div.full.f32", KGB_LANES_ABOUT_DIVF, 2},
	{"div.rn.f32", KGB_LANES_DIVF, 2},
	{"fma.rn.f32", KGB_LANES_FMA, 3},
};

const struct kgb_named_function *kgb_libdevice_find(struct kgb_slice symbol, bool is_double)
{
	if (symbol.n < 6 || memcmp(symbol.s, "__nv_", 5) != 0)
		return NULL;
	struct kgb_slice name = {symbol.s + 5, symbol.n - 5};
	struct kgb_slice shorter = {name.s, name.n - 1};
	bool has_f = !is_double && name.s[name.n - 1] == 'f';

	for (size_t i = 0; i < KGB_ARRAY_LEN(functions); i++) {
		const char *known = functions[i].name;
		if ((has_f && kgb_slice_is(shorter, known)) || kgb_slice_is(name, known))
			return &functions[i];
		/* "__nv_isnand", "__nv_signbitd", "__nv_isfinited" */
		if (is_double && name.s[name.n - 1] == 'd' && kgb_slice_is(shorter, known))
			return &functions[i];
	}
	return NULL;
}

/* Whether the operands are $0, $1, ... in this order, with nothing behind. */
static bool has_plain_operands(struct kgb_slice text, unsigned n)
{
	size_t at = 0;

	for (unsigned k = 0; k <= n; k++) {
		while (at < text.n && strchr(" \t,", text.s[at]))
			at++;
		if (at + 1 >= text.n || text.s[at] != '$' || text.s[at + 1] != (char)('0' + k))
			return false;
		at += 2;
	}
	while (at < text.n && strchr(" \t;", text.s[at]))
		at++;
	return at == text.n;
}

const struct kgb_named_function *kgb_instruction_find(struct kgb_slice text)
{
	size_t skipped = 0, n = 0;

	while (skipped < text.n && strchr(" \t", text.s[skipped]))
		skipped++;
	struct kgb_slice name = {text.s + skipped, text.n - skipped};
	while (n < name.n && !strchr(" \t", name.s[n]))
		n++;
	struct kgb_slice rest = {name.s + n, name.n - n};
	name.n = n;
	for (size_t i = 0; i < KGB_ARRAY_LEN(instructions); i++)
		if (kgb_slice_is(name, instructions[i].name))
			return has_plain_operands(rest, instructions[i].n_operands)
				       ? &instructions[i]
				       : NULL;
	return NULL;
}
