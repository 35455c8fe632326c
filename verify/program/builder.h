/* SPDX-License-Identifier: MIT */
/** \file
 * Builds a checked program from the tree of a text: names become values, every type is verified,
 * calls are expanded. The first error is kept; after it, functions return harmless values. */
#ifndef KGB_VERIFY_PROGRAM_BUILDER_H
#define KGB_VERIFY_PROGRAM_BUILDER_H

#include "base/vec.h"
#include "verify/program/program.h"

#define KGB_MACHINE_VALUES_MAX (1u << 17)
#define KGB_MACHINE_OPERATIONS_MAX (1u << 17)
#define KGB_MACHINE_CALLS_MAX 32 /* calls in each other */
#define KGB_MACHINE_CONSTANTS_MAX (64u << 20) /* bytes */

struct kgb_builder;
/** Checks a statement and completes the operation. op->in has the operands. */
typedef void (*kgb_build_fn)(struct kgb_builder *b, struct kgb_operation *op,
			     const struct kgb_ttir_statement *s);

/** A row of the table of operations (verify/machine/operations.c). */
struct kgb_build_rule {
	const char *name;
	kgb_build_fn build;
	kgb_run_fn run;
	uint16_t least_in, most_in;
	uint16_t what; /* a variant: for elementwise operations the loop (enum kgb_lanes_id) */
	uint8_t via; /* elementwise operations on i1 */
	uint8_t flags;
};
#define KGB_BUILD_INTEGER 1 /* operands are integers */
#define KGB_BUILD_FLOAT 2
#define KGB_BUILD_LANEWISE                                                    \
	4 /* fits into a combine region that does many combinations at a time \
	   */
#define KGB_BUILD_END 8 /* ends a region, and its block */
#define KGB_BUILD_BRANCH 16 /* ends a block */
#define KGB_BUILD_PURE 32 /* has no effect but its results */
#define KGB_BUILD_MOVES 64 /* moves values between lanes */
#define KGB_BUILD_BARRIER 128 /* all lanes wait for each other here */

/** The end of a region. */
enum kgb_end {
	KGB_END_YIELD,
	KGB_END_CONDITION,
	KGB_END_REDUCE,
	KGB_END_SCAN,
	KGB_END_MAP,
	KGB_END_RETURN,
};

struct kgb_builder_name {
	struct kgb_slice name;
	const uint32_t *values; /* owned by the program */
	uint32_t count;
	uint32_t next; /* the next name in the same chain: index + 1; 0: none */
	const struct kgb_region *region; /* in which it is defined; NULL: an argument */
	uint32_t block; /* of the region */
};

/* Of a root, while a region is pruned. */
struct kgb_builder_read {
	uint32_t n; /* number of reads */
	struct kgb_operation *maker; /* a pure one; NULL: none */
};

struct kgb_builder {
	struct kgb_machine_program *program; /* borrowed */
	const struct kgb_ttir_module *module;
	/* The row of an operation; NULL: unknown. */
	const struct kgb_build_rule *(*find_rule)(struct kgb_slice name);
	kgb_build_fn note_hints; /* of an operation that is placed */
	const struct kgb_ttir_function *function; /* that the statements belong to */
	const struct kgb_ttir_statement *at; /* for messages */
	const struct kgb_build_rule *rule; /* of `at` */
	struct kgb_region *region; /* where operations are added */
	const struct kgb_ttir_region *text; /* of the region */
	struct kgb_err *err;
	bool failed;
	KGB_VEC(struct kgb_value) values;
	KGB_VEC(struct kgb_builder_name) names;
	KGB_VEC(uint8_t) constants;
	KGB_VEC(struct kgb_builder_read) reads; /* all zero between uses */
	uint32_t chains[1024]; /* index + 1 of the last name with a hash */
	size_t scope; /* names before it belong to a caller */
	uint32_t position;
	uint32_t n_placed; /* operations, with those that are dropped again */
	/* Types that the end of the current region must yield. */
	const uint32_t *expected;
	uint32_t n_expected;
	enum kgb_end expected_end;
	unsigned n_calls; /* nested calls at the current place */
	unsigned n_loops; /* nested while loops at the current place */
};

void kgb_builder__fail(struct kgb_builder *b, const char *fmt, ...) KGB_PRINTF(2, 3);
/** The same for an operation, type or variant that the machine does not execute (NOT_FOUND). */
void kgb_builder__unsupported(struct kgb_builder *b, const char *fmt, ...) KGB_PRINTF(2, 3);

const struct kgb_value *kgb_builder__value(const struct kgb_builder *b, uint32_t value);
const struct kgb_ttir_type *kgb_builder__type(const struct kgb_builder *b, uint32_t value);
/** The value whose storage a value shares, or itself. */
struct kgb_value *kgb_builder__root(struct kgb_builder *b, uint32_t value);
/** Adds a value. `collapsed`: a bit for each axis that is collapsed; axes of size 1 always are. */
uint32_t kgb_builder__add_value(struct kgb_builder *b, const struct kgb_ttir_type *type,
				uint32_t collapsed);
/** Adds a value of a type that shares the storage of another value. */
uint32_t kgb_builder__add_view(struct kgb_builder *b, uint32_t of, const struct kgb_ttir_type *type,
			       uint32_t collapsed);
/** Give a value the contiguity claim of another (verify/program/hints.h). */
void kgb_builder__inherit_vector(struct kgb_builder *b, uint32_t to, uint32_t from);
/** Storage that lives as long as the operation runs. */
uint32_t kgb_builder__add_scratch(struct kgb_builder *b, enum kgb_ttir_element element, size_t n);
/** A constant of these elements. */
uint32_t kgb_builder__add_constant(struct kgb_builder *b, const struct kgb_ttir_type *type,
				   uint32_t collapsed, const void *elements);
/** Makes these values the scratch of an operation. */
void kgb_builder__set_scratch(struct kgb_builder *b, struct kgb_operation *op, uint32_t n,
			      const uint32_t *values);
/** A new list of n values: operands or results of an operation. */
uint32_t *kgb_builder__list(struct kgb_builder *b, size_t n);
void kgb_builder__set_in(struct kgb_builder *b, struct kgb_operation *op, uint32_t k,
			 uint32_t value);
void kgb_builder__set_out(struct kgb_builder *b, struct kgb_operation *op, uint32_t n,
			  const uint32_t *values);
/** Adds the only result of an operation; returns its value. */
uint32_t kgb_builder__result(struct kgb_builder *b, struct kgb_operation *op,
			     const struct kgb_ttir_type *type, uint32_t collapsed);
/** The last type that the statement names. */
struct kgb_ttir_type kgb_builder__last_type(struct kgb_builder *b);
/** All axes, as a mask of collapsed axes. */
#define KGB_COLLAPSED_ALL UINT32_MAX

/** A value with the same lanes and without collapsed axes: the value itself if it is dense. */
uint32_t kgb_builder__dense(struct kgb_builder *b, uint32_t value);
/** Make all operands from `first` on dense. */
void kgb_builder__dense_in(struct kgb_builder *b, struct kgb_operation *op, uint32_t first);
/** Plans the loop over up to three operands and a result of this type and these collapsed axes. If
 * runs would be too short, the operands get the result's axes. Sets op->plan and op->is_wide. */
void kgb_builder__plan(struct kgb_builder *b, struct kgb_operation *op, uint32_t n_operands,
		       const struct kgb_ttir_type *type, uint32_t collapsed);
/** The axes that all of the first n operands collapse. */
uint32_t kgb_builder__collapsed(const struct kgb_builder *b, const struct kgb_operation *op,
				uint32_t n);

/** Add an operation at the end of the current region; it gets its position. */
void kgb_builder__place(struct kgb_builder *b, struct kgb_operation *op);
struct kgb_operation *kgb_builder__add_operation(struct kgb_builder *b, const char *name,
						 kgb_run_fn run);
/** Add a barrier, at which all lanes wait for each other: an operation that counts it. */
void kgb_builder__barrier(struct kgb_builder *b);
/** A region of an operation that was placed (NULL: the kernel itself). `arguments` are the values
 * of the first block. `width` is the most combinations that a combine region does at a time, 0 for
 * other regions. */
struct kgb_region *kgb_builder__region(struct kgb_builder *b, struct kgb_operation *op,
				       const struct kgb_ttir_region *text,
				       const uint32_t *arguments, size_t width);
/** The same, with a check: each block ends with a branch, or with `end`, which yields values of the
 * types of the `expected` values. */
struct kgb_region *kgb_builder__region_with_end(struct kgb_builder *b, struct kgb_operation *op,
						const struct kgb_ttir_region *text,
						const uint32_t *arguments, size_t width,
						enum kgb_end end, const uint32_t *expected,
						uint32_t n_expected);
/** Drop pure operations of a complete region with unread results. */
void kgb_builder__prune(struct kgb_builder *b, struct kgb_region *region);
/** The value with this name; an error if it is not visible here. */
uint32_t kgb_builder__find(struct kgb_builder *b, struct kgb_ttir_operand operand);
size_t kgb_builder__mark(const struct kgb_builder *b);
void kgb_builder__name(struct kgb_builder *b, struct kgb_slice name, const uint32_t *values,
		       uint32_t count);
void kgb_builder__forget(struct kgb_builder *b, size_t mark);
/** Add the first n statements of a block to the current region. */
void kgb_builder__statements(struct kgb_builder *b, const struct kgb_ttir_block *block, uint32_t n);

#endif
