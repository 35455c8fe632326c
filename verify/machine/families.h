/* SPDX-License-Identifier: MIT */
/** \file
 * The entries of the table of operations: checks and executions, by family. */
#ifndef KGB_VERIFY_MACHINE_FAMILIES_H
#define KGB_VERIFY_MACHINE_FAMILIES_H

#include "verify/program/control.h"

/** The row of an operation in the table; NULL: unknown. */
const struct kgb_build_rule *kgb_build_rule_find(struct kgb_slice name);

/* elementwise.c: the same for each lane */
KGB_BUILD(kgb_elementwise_build);
KGB_BUILD(kgb_compare_build);
KGB_BUILD(kgb_select_build);
KGB_BUILD(kgb_clamp_build);
KGB_BUILD(kgb_extern_build);
KGB_BUILD(kgb_inline_assembly_build);
KGB_BUILD(kgb_advance_build); /* tt.addptr */
KGB_RUN(kgb_elementwise_run);
/** Chooses the loop of an elementwise operation whose operands are set. -1: there is no loop for
 * the element; an error is recorded. */
int kgb_elementwise__choose(struct kgb_builder *b, struct kgb_operation *op, enum kgb_lanes_id id,
			    enum kgb_ttir_element element);

/* libdevice.c: functions and instructions that kernels call by name */
struct kgb_named_function {
	const char *name;
	enum kgb_lanes_id id;
	uint8_t n_operands;
};
/** A function of libdevice ("__nv_expf") for float32 or float64; NULL: unknown. */
const struct kgb_named_function *kgb_libdevice_find(struct kgb_slice symbol, bool is_double);
/** An instruction on float32 ("ex2.approx.f32 $0, $1;"). */
const struct kgb_named_function *kgb_instruction_find(struct kgb_slice text);

/* cast.c: conversions of elements */
enum kgb_cast {
	KGB_CAST_SIGN_EXTEND,
	KGB_CAST_ZERO_EXTEND,
	KGB_CAST_TRUNCATE,
	KGB_CAST_INDEX,
	KGB_CAST_SIGNED_TO_FLOAT,
	KGB_CAST_UNSIGNED_TO_FLOAT,
	KGB_CAST_FLOAT_TO_SIGNED,
	KGB_CAST_FLOAT_TO_UNSIGNED,
	KGB_CAST_WIDEN,
	KGB_CAST_NARROW,
	KGB_CAST_FLOAT,
};
KGB_BUILD(kgb_cast_build);
KGB_RUN(kgb_cast_run);

/* constant.c: values without operands */
KGB_BUILD(kgb_constant_build);
KGB_BUILD(kgb_range_build);
KGB_BUILD(kgb_program_id_build);
KGB_BUILD(kgb_poison_build);
KGB_RUN(kgb_program_id_run);
KGB_RUN(kgb_poison_run);

/* shape.c: the same elements in other places */
KGB_BUILD(kgb_splat_build);
KGB_BUILD(kgb_expand_dims_build);
KGB_BUILD(kgb_reshape_build);
KGB_BUILD(kgb_bitcast_build);
KGB_BUILD(kgb_broadcast_build);
KGB_BUILD(kgb_transpose_build);
KGB_BUILD(kgb_join_build);
KGB_BUILD(kgb_cat_build);
KGB_BUILD(kgb_split_build);
KGB_BUILD(kgb_gather_build);
KGB_BUILD(kgb_histogram_build);
KGB_RUN(kgb_reorder_run); /* tt.reshape allow_reorder */
KGB_RUN(kgb_transpose_run);
KGB_RUN(kgb_join_run);
KGB_RUN(kgb_cat_run);
KGB_RUN(kgb_split_run);
KGB_RUN(kgb_gather_run);
KGB_RUN(kgb_histogram_run);

/* access.c: loads and stores */
KGB_BUILD(kgb_load_build);
KGB_BUILD(kgb_store_build);
KGB_RUN(kgb_load_run);
KGB_RUN(kgb_store_run);
/** The bytes at an address, which the access may touch; NULL: a fault. */
uint8_t *kgb_access__check(struct kgb_execution *x, const struct kgb_operation *op,
			   uint64_t address, size_t bytes, size_t size, enum kgb_access access);

/* atomic.c */
enum kgb_atomic {
	KGB_ATOMIC_ADD,
	KGB_ATOMIC_FADD,
	KGB_ATOMIC_MAX,
	KGB_ATOMIC_UMAX,
	KGB_ATOMIC_MIN,
	KGB_ATOMIC_UMIN,
	KGB_ATOMIC_AND,
	KGB_ATOMIC_OR,
	KGB_ATOMIC_XOR,
	KGB_ATOMIC_EXCHANGE,
	KGB_ATOMIC_COMPARE,
	KGB_N_ATOMICS,
};
KGB_BUILD(kgb_atomic_build);
KGB_RUN(kgb_atomic_run);
/** The variant that a statement's words name; KGB_N_ATOMICS: none. */
enum kgb_atomic kgb_atomic__find(const struct kgb_ttir_statement *s);
/** One element; *old gets its old value. -1: a fault. */
int kgb_atomic__apply(struct kgb_execution *x, const struct kgb_operation *op,
		      enum kgb_atomic atomic, enum kgb_access access, uint64_t address,
		      uint64_t operand, uint64_t other, uint64_t *old);

/* descriptor.c */
KGB_BUILD(kgb_descriptor_make_build);
KGB_BUILD(kgb_descriptor_load_build);
KGB_BUILD(kgb_descriptor_store_build);
KGB_BUILD(kgb_descriptor_gather_build);
KGB_RUN(kgb_descriptor_make_run);
KGB_RUN(kgb_descriptor_run);

/* combine.c: reductions and scans */
KGB_BUILD(kgb_reduce_build);
KGB_BUILD(kgb_scan_build);
KGB_BUILD(kgb_map_build);
KGB_RUN(kgb_reduce_run);
KGB_RUN(kgb_scan_run);
KGB_RUN(kgb_map_run);

/* dot.c */
KGB_BUILD(kgb_dot_build);
KGB_RUN(kgb_dot_run);

#endif
