/* SPDX-License-Identifier: MIT */
/** \file
 * A checked program as the machine runs it. Inside of the room only. The program owns all of it, in
 * one arena; it is constant after the build, so any number of threads may run it at a time. */
#ifndef KGB_VERIFY_PROGRAM_PROGRAM_H
#define KGB_VERIFY_PROGRAM_PROGRAM_H

#include <string.h>

#include "base/mem.h"
#include "verify/lanes/lanes.h"
#include "verify/program/launch.h"
#include "verify/program/plan.h"
#include "verify/ttir/ttir_text.h"

struct kgb_execution;
struct kgb_operation;

/** Executes an operation; -1: a fault, which the execution has recorded. */
typedef int (*kgb_run_fn)(struct kgb_execution *x, const struct kgb_operation *op);

/** The lanes of a value are an array in row-major order. An axis along which all lanes are the same
 * is collapsed: one element is stored for it. So a splat is one element, and a broadcast costs
 * nothing. */
struct kgb_value {
	struct kgb_ttir_type type;
	uint32_t collapsed; /* bit for each axis that is stored once; set for axes of size 1 */
	uint32_t n_stored; /* elements; 1: the same in all lanes */
	uint32_t root; /* the value whose storage it shares, or itself */
	int32_t argument; /* of the kernel, or -1 */
	bool is_constant; /* `at` is a place in the program's constants */
	bool is_wide; /* a scalar in a combine region, with an element for each combination at a
			 time */
	const struct kgb_region *home; /* of a root: the region in which it is made */
	uint32_t first, last; /* of a root: positions between which it is needed */
	size_t bytes, at; /* of a root: its size, and its offset in an execution's arena */
	bool is_data; /* of a root: it depends on what the kernel read from memory */
	const struct kgb_operation *maker; /* of a root: what computes it; NULL: a region's
					      argument, or none */
	uint64_t follows; /* of a root: conditions that it follows from, kgb_condition__bit */
	size_t reach; /* of a root that follows from some: its place in a kgb_reach */
	/* Hints: number of lanes along an axis that are claimed to be contiguous, at most 16; 0: no
	 * claim. */
	uint8_t vector, vector_axis;
	uint32_t vector_from; /* the value from which the claim is inherited; 0: claimed directly */
	uint32_t vector_also; /* another value that must be claimed, too; 0: none */
};

struct kgb_machine_block {
	uint32_t first; /* index of its first operation */
	const uint32_t *arguments; /* values */
	uint32_t n_arguments;
	uint64_t dominators; /* bit for each block of the region */
};

struct kgb_region {
	struct kgb_operation *parent; /* NULL: the kernel itself */
	struct kgb_region *outer;
	struct kgb_operation **operations;
	struct kgb_machine_block *blocks;
	uint32_t n_operations, cap_operations, n_blocks;
	uint32_t building; /* the block that is being built */
	size_t width; /* of a combine region: combinations at a time at most; 0: any other region */
	bool has_loop; /* a branch goes backwards */
	bool is_narrow; /* a combine region that can do only one combination at a time */
	uint64_t follows; /* conditions that its operations follow from */
	bool is_blurred; /* it is not known which of its lanes reach memory: all count */
	bool is_branch; /* of an scf.if: its values pass into the region around it */
};

/** The conversion of operands of other types than the loop's. */
enum kgb_via {
	KGB_VIA_NOTHING,
	KGB_VIA_FLOAT, /* a narrow float is widened to float32, a result rounded */
	KGB_VIA_SIGNED, /* an i1 counts as 0 or -1; the result's lowest bit counts */
	KGB_VIA_LOW, /* the result's lowest bit counts */
};

/** The continuation after an operation. */
enum kgb_flow {
	KGB_FLOW_NEXT,
	KGB_FLOW_END, /* the region is done */
	KGB_FLOW_BRANCH, /* the block that the operation chose */
};

struct kgb_operation {
	const char *name; /* of its row in the table */
	kgb_run_fn run;
	enum kgb_flow flow;
	const uint32_t *in, *out; /* values */
	uint32_t n_in, n_out;
	struct kgb_region *region; /* its position */
	struct kgb_region *regions[2];
	uint32_t n_regions;
	uint32_t position, end; /* end: position of the last operation in its regions */
	uint32_t cost; /* fuel */
	int line, kernel_line;
	const char *kernel_file; /* owned by the program */

	/* Further data of the operation; each family defines them. */
	const struct kgb_plan *plan;
	kgb_lanes_fn lanes, lanes_too; /* lanes_too: a second loop, of a cast */
	uint8_t element, to; /* enum kgb_ttir_element of operands and result */
	uint8_t via; /* enum kgb_via */
	bool is_wide;
	bool has_lanes; /* a load or store, each of whose lanes accesses memory */
	uint32_t rows, columns; /* of its block: all dimensions but the last; the last */
	bool acquires; /* an atomic that acquires, whose result is read */
	bool is_early; /* a load that a GPU executes some rounds of its loop ahead */
	bool is_pure; /* it may be dropped if its results are unread */
	bool is_lanewise; /* each lane of its result follows from the same lane of its operands */
	uint32_t condition; /* its number among the conditions, from 1; 0: none */
	/** Of a condition: masks of the loads that its lanes follow from. A lane that one of them
	 * excludes is beyond the data. */
	uint32_t *guards;
	uint32_t n_guards;
	uint64_t follows; /* conditions: itself, and those that its operands follow from */
	bool has_effect; /* if it follows from some: on memory, or on what runs */
	/** A mask for some operands, which have an effect only in lanes where it is true (bit k of
	 * `open`) or false (bit k of `shut`). The plan leads through it as through `gate_operand`,
	 * which it is, or is a part of. */
	uint32_t gate; /* 0: none */
	uint8_t gate_operand, open, shut;
	uint64_t place; /* of the statement (struct kgb_ttir_statement) */
	uint32_t what; /* a variant */
	int64_t number[4];
	const int64_t *list;
	const uint32_t *scratch; /* values without a name */
	uint32_t n_scratch;
	const char *text; /* of an assertion; owned by the program */
	uint32_t successors[2], successor_in[2]; /* blocks, and the first operand for each */
};

/** Whether it is an operation of this name: "tt.load". */
static inline bool kgb_operation__is(const struct kgb_operation *op, const char *name)
{
	return strcmp(op->name, name) == 0;
}

/** A bit for a condition with this number; that for the last numbers is one. */
#define KGB_CONDITIONS_SHARED (UINT64_C(1) << 63)
static inline uint64_t kgb_condition__bit(uint32_t condition)
{
	return condition < 64 ? UINT64_C(1) << (condition - 1) : KGB_CONDITIONS_SHARED;
}

struct kgb_machine_claim {
	int64_t divisibility; /* of an argument, 0: none claimed */
};

struct kgb_machine_program {
	struct kgb_arena arena;
	const char *name;
	struct kgb_value *values;
	uint32_t n_values;
	uint32_t *arguments; /* values */
	struct kgb_machine_claim *claims; /* of the arguments */
	uint32_t n_arguments;
	uint32_t n_operations;
	struct kgb_machine_condition *conditions; /* owned */
	uint32_t n_conditions;
	struct kgb_region *body;
	uint8_t *constants;
	size_t constant_bytes;
	size_t arena_bytes, reach_bytes; /* of an execution */
	uint32_t
		least_access; /* bytes of the smallest element that it touches in memory; 0: none */
	bool has_atomic;
	bool acquires; /* an operation acquires */
	bool may_wait; /* a loop without a known end has an atomic or volatile access */
};

/** Gives each root a place in the arena. Roots that are never needed at the same time may share
 * one. -1: the arena is too large. */
KGB_MUST_CHECK int kgb_program__lay_out(struct kgb_machine_program *program, struct kgb_err *err);

#endif
