/* SPDX-License-Identifier: MIT */
#include "verify/machine/families.h"

#define INTEGER KGB_BUILD_INTEGER
#define FLOAT KGB_BUILD_FLOAT
#define LANEWISE KGB_BUILD_LANEWISE
#define END KGB_BUILD_END
#define BRANCH KGB_BUILD_BRANCH
#define PURE (KGB_BUILD_LANEWISE | KGB_BUILD_PURE)
#define MOVES KGB_BUILD_MOVES
#define BARRIER KGB_BUILD_BARRIER
#define MANY KGB_TTIR_LIST_MAX

/* One loop over lanes: arith.addi and its relatives. */
#define LANES(name, n, id, via, class)                                                       \
	{                                                                                    \
		name, kgb_elementwise_build, kgb_elementwise_run, n, n, KGB_LANES_##id, via, \
			(class) | PURE                                                       \
	}
#define INTEGERS(name, n, id, via) LANES(name, n, id, via, INTEGER)
#define FLOATS(name, n, id) LANES(name, n, id, KGB_VIA_NOTHING, FLOAT)
#define CAST(name, what)                                                           \
	{                                                                          \
		name, kgb_cast_build, kgb_cast_run, 1, 1, KGB_CAST_##what, 0, PURE \
	}
/* The result shares the operand's storage: nothing is executed. */
#define VIEW(name, build, what, flags)                               \
	{                                                            \
		name, build, NULL, 1, 1, what, 0, LANEWISE | (flags) \
	}

/* All operations that the machine executes. A row adds one. */
static const struct kgb_build_rule rules[] = {
	INTEGERS("arith.addi", 2, ADDI, KGB_VIA_LOW),
	INTEGERS("arith.subi", 2, SUBI, KGB_VIA_LOW),
	INTEGERS("arith.muli", 2, MULI, KGB_VIA_NOTHING),
	INTEGERS("arith.andi", 2, ANDI, KGB_VIA_NOTHING),
	INTEGERS("arith.ori", 2, ORI, KGB_VIA_NOTHING),
	INTEGERS("arith.xori", 2, XORI, KGB_VIA_NOTHING),
	INTEGERS("arith.divsi", 2, DIVSI, KGB_VIA_SIGNED),
	INTEGERS("arith.divui", 2, DIVUI, KGB_VIA_LOW),
	INTEGERS("arith.remsi", 2, REMSI, KGB_VIA_SIGNED),
	INTEGERS("arith.remui", 2, REMUI, KGB_VIA_LOW),
	INTEGERS("arith.ceildivsi", 2, CEILDIVSI, KGB_VIA_SIGNED),
	INTEGERS("arith.ceildivui", 2, CEILDIVUI, KGB_VIA_LOW),
	INTEGERS("arith.floordivsi", 2, FLOORDIVSI, KGB_VIA_SIGNED),
	INTEGERS("arith.shli", 2, SHLI, KGB_VIA_LOW),
	INTEGERS("arith.shrui", 2, SHRUI, KGB_VIA_LOW),
	INTEGERS("arith.shrsi", 2, SHRSI, KGB_VIA_SIGNED),
	INTEGERS("arith.maxsi", 2, MAXSI, KGB_VIA_SIGNED),
	INTEGERS("arith.minsi", 2, MINSI, KGB_VIA_SIGNED),
	INTEGERS("arith.maxui", 2, MAXUI, KGB_VIA_NOTHING),
	INTEGERS("arith.minui", 2, MINUI, KGB_VIA_NOTHING),
	INTEGERS("math.absi", 1, ABSI, KGB_VIA_SIGNED),
	INTEGERS("tt.mulhiui", 2, MULHIUI, KGB_VIA_LOW),
	INTEGERS("math.ctpop", 1, POPCOUNT, KGB_VIA_LOW),
	INTEGERS("math.ctlz", 1, COUNT_LEADING_ZEROS, KGB_VIA_LOW),
	FLOATS("arith.addf", 2, ADDF),
	FLOATS("arith.subf", 2, SUBF),
	FLOATS("arith.mulf", 2, MULF),
	FLOATS("arith.divf", 2, ABOUT_DIVF),
	FLOATS("arith.remf", 2, REMF),
	FLOATS("arith.negf", 1, NEGF),
	FLOATS("arith.maxnumf", 2, MAXNUMF),
	FLOATS("arith.minnumf", 2, MINNUMF),
	FLOATS("arith.maximumf", 2, MAXIMUMF),
	FLOATS("arith.minimumf", 2, MINIMUMF),
	FLOATS("tt.precise_divf", 2, DIVF),
	FLOATS("tt.precise_sqrt", 1, SQRT),
	FLOATS("math.absf", 1, ABSF),
	FLOATS("math.exp", 1, EXP_BY_EXP2),
	FLOATS("math.exp2", 1, EXP2),
	FLOATS("math.expm1", 1, EXPM1),
	FLOATS("math.log", 1, LOG),
	FLOATS("math.log2", 1, LOG2),
	FLOATS("math.log10", 1, LOG10),
	FLOATS("math.log1p", 1, LOG1P),
	FLOATS("math.sqrt", 1, SQRT),
	FLOATS("math.rsqrt", 1, RSQRT),
	FLOATS("math.cbrt", 1, CBRT),
	FLOATS("math.sin", 1, SIN),
	FLOATS("math.cos", 1, COS),
	FLOATS("math.tan", 1, TAN),
	FLOATS("math.asin", 1, ASIN),
	FLOATS("math.acos", 1, ACOS),
	FLOATS("math.atan", 1, ATAN),
	FLOATS("math.atan2", 2, ATAN2),
	FLOATS("math.sinh", 1, SINH),
	FLOATS("math.cosh", 1, COSH),
	FLOATS("math.tanh", 1, TANH),
	FLOATS("math.asinh", 1, ASINH),
	FLOATS("math.acosh", 1, ACOSH),
	FLOATS("math.atanh", 1, ATANH),
	FLOATS("math.erf", 1, ERF),
	FLOATS("math.erfc", 1, ERFC),
	FLOATS("math.powf", 2, POW),
	FLOATS("math.floor", 1, FLOOR),
	FLOATS("math.ceil", 1, CEIL),
	FLOATS("math.trunc", 1, TRUNC),
	FLOATS("math.round", 1, ROUND),
	FLOATS("math.roundeven", 1, RINT),
	FLOATS("math.copysign", 2, COPYSIGN),
	FLOATS("math.fma", 3, FMA),
	{"tt.clampf", kgb_clamp_build, kgb_elementwise_run, 3, 3, 0, 0, FLOAT | PURE},
	{"arith.cmpi", kgb_compare_build, kgb_elementwise_run, 2, 2, 0, 0, INTEGER | PURE},
	{"arith.cmpf", kgb_compare_build, kgb_elementwise_run, 2, 2, 0, 0, FLOAT | LANEWISE},
	{"arith.select", kgb_select_build, kgb_elementwise_run, 3, 3, 0, 0, PURE},
	{"tt.addptr", kgb_advance_build, kgb_elementwise_run, 2, 2, 0, 0, PURE},
	{"tt.extern_elementwise", kgb_extern_build, kgb_elementwise_run, 1, 3, 0, 0, FLOAT | PURE},
	{"tt.elementwise_inline_asm", kgb_inline_assembly_build, kgb_elementwise_run, 1, 3, 0, 0,
	 FLOAT | PURE},

	CAST("arith.extsi", SIGN_EXTEND),
	CAST("arith.extui", ZERO_EXTEND),
	CAST("arith.trunci", TRUNCATE),
	CAST("arith.index_cast", INDEX),
	CAST("arith.sitofp", SIGNED_TO_FLOAT),
	CAST("arith.uitofp", UNSIGNED_TO_FLOAT),
	CAST("arith.fptosi", FLOAT_TO_SIGNED),
	CAST("arith.fptoui", FLOAT_TO_UNSIGNED),
	CAST("arith.extf", WIDEN),
	CAST("arith.truncf", NARROW),
	CAST("tt.fp_to_fp", FLOAT),

	{"arith.constant", kgb_constant_build, NULL, 0, 0, 0, 0, LANEWISE},
	{"tt.make_range", kgb_range_build, NULL, 0, 0, 0, 0, LANEWISE},
	{"ub.poison", kgb_poison_build, kgb_poison_run, 0, 0, 0, 0, LANEWISE},
	{"tt.get_program_id", kgb_program_id_build, kgb_program_id_run, 0, 0, 0, 0, LANEWISE},
	{"tt.get_num_programs", kgb_program_id_build, kgb_program_id_run, 0, 0, 1, 0, LANEWISE},

	VIEW("tt.splat", kgb_splat_build, 0, 0),
	VIEW("tt.expand_dims", kgb_expand_dims_build, 0, 0),
	VIEW("tt.broadcast", kgb_broadcast_build, 0, 0),
	VIEW("tt.reshape", kgb_reshape_build, 0, MOVES),
	VIEW("tt.bitcast", kgb_bitcast_build, 0, 0),
	VIEW("arith.bitcast", kgb_bitcast_build, 0, 0),
	VIEW("tt.int_to_ptr", kgb_bitcast_build, 0, 0),
	VIEW("tt.ptr_to_int", kgb_bitcast_build, 0, 0),
	VIEW("tt.unsplat", kgb_bitcast_build, 1, 0),
	{"tt.trans", kgb_transpose_build, kgb_transpose_run, 1, 1, 0, 0, MOVES},
	{"tt.join", kgb_join_build, kgb_join_run, 2, 2, 0, 0, MOVES},
	{"tt.cat", kgb_cat_build, kgb_cat_run, 2, 2, 0, 0, MOVES},
	{"tt.split", kgb_split_build, kgb_split_run, 1, 1, 0, 0, MOVES},
	{"tt.gather", kgb_gather_build, kgb_gather_run, 2, 2, 0, 0, BARRIER},
	{"tt.histogram", kgb_histogram_build, kgb_histogram_run, 1, 2, 0, 0, BARRIER},

	{"tt.load", kgb_load_build, kgb_load_run, 1, 3, 0, 0, 0},
	{"tt.store", kgb_store_build, kgb_store_run, 2, 3, 0, 0, 0},
	{"tt.atomic_rmw", kgb_atomic_build, kgb_atomic_run, 2, 3, 0, 0, 0},
	{"tt.atomic_cas", kgb_atomic_build, kgb_atomic_run, 3, 3, KGB_ATOMIC_COMPARE, 0, 0},
	{"tt.make_tensor_descriptor", kgb_descriptor_make_build, kgb_descriptor_make_run, 3, 11, 0,
	 0, 0},
	{"tt.descriptor_load", kgb_descriptor_load_build, kgb_descriptor_run, 2, 6, 0, 0, BARRIER},
	{"tt.descriptor_store", kgb_descriptor_store_build, kgb_descriptor_run, 3, 7, 1, 0,
	 BARRIER},
	{"tt.descriptor_reduce", kgb_descriptor_store_build, kgb_descriptor_run, 3, 7, 2, 0,
	 BARRIER},
	{"tt.descriptor_gather", kgb_descriptor_gather_build, kgb_descriptor_run, 3, 3, 3, 0,
	 BARRIER},
	{"tt.descriptor_scatter", kgb_descriptor_gather_build, kgb_descriptor_run, 4, 4, 4, 0,
	 BARRIER},

	{"tt.reduce", kgb_reduce_build, kgb_reduce_run, 1, 16, 0, 0, BARRIER},
	{"tt.scan", kgb_scan_build, kgb_scan_run, 1, 16, 0, 0, BARRIER},
	{"tt.map_elementwise", kgb_map_build, kgb_map_run, 1, 16, 0, 0, 0},
	{"tt.dot", kgb_dot_build, kgb_dot_run, 3, 3, 0, 0, BARRIER},

	{"scf.for", kgb_for_build, kgb_for_run, 3, MANY, 0, 0, 0},
	{"scf.if", kgb_if_build, kgb_if_run, 1, 1, 0, 0, 0},
	{"scf.while", kgb_while_build, kgb_while_run, 0, MANY, 0, 0, 0},
	{"scf.yield", kgb_yield_build, kgb_end_run, 0, MANY, KGB_END_YIELD, 0, END | LANEWISE},
	{"scf.condition", kgb_yield_build, kgb_end_run, 1, MANY, KGB_END_CONDITION, 0,
	 END | LANEWISE},
	{"tt.reduce.return", kgb_yield_build, kgb_end_run, 0, 16, KGB_END_REDUCE, 0,
	 END | LANEWISE},
	{"tt.scan.return", kgb_yield_build, kgb_end_run, 0, 16, KGB_END_SCAN, 0, END | LANEWISE},
	{"tt.map_elementwise.return", kgb_yield_build, kgb_end_run, 0, 16, KGB_END_MAP, 0,
	 END | LANEWISE},
	{"tt.return", kgb_return_build, kgb_end_run, 0, MANY, 0, 0, END | LANEWISE},
	{"cf.br", kgb_branch_build, kgb_branch_run, 0, MANY, 0, 0, BRANCH},
	{"cf.cond_br", kgb_branch_build, kgb_branch_run, 1, MANY, 1, 0, BRANCH},
	{"tt.call", kgb_call_build, kgb_call_run, 0, MANY, 0, 0, 0},

	{"tt.assert", kgb_assert_build, kgb_assert_run, 1, 1, 0, 0, LANEWISE},
	{"llvm.intr.assume", kgb_assert_build, kgb_assert_run, 1, 1, 0, 0, LANEWISE},
	{"tt.print", kgb_nothing_build, NULL, 0, MANY, 0, 0, LANEWISE},
	{"gpu.barrier", kgb_nothing_build, NULL, 0, 0, 0, 0, LANEWISE | BARRIER},
	{"ttg.barrier", kgb_nothing_build, NULL, 0, 0, 0, 0, LANEWISE | BARRIER},
};

const struct kgb_build_rule *kgb_build_rule_find(struct kgb_slice name)
{
	for (size_t i = 0; i < KGB_ARRAY_LEN(rules); i++)
		if (kgb_slice_is(name, rules[i].name))
			return &rules[i];
	return NULL;
}
