/* SPDX-License-Identifier: MIT */
/** \file
 * One thread that runs programs of a launch. Inside of the room only.
 */
#ifndef KGB_VERIFY_PROGRAM_EXECUTION_H
#define KGB_VERIFY_PROGRAM_EXECUTION_H

#include "verify/program/launch.h"
#include "verify/program/memory.h"
#include "verify/program/program.h"
#include "verify/program/reach.h"

#define KGB_CHUNK 512 /* elements that are converted at a time, so that they stay in the cache */

struct kgb_execution {
	const struct kgb_machine_program *program;
	const struct kgb_lanes *lanes;
	uint8_t **at; /* address of each value's elements */
	uint8_t *arena; /* owned */
	uint8_t *spare; /* owned; for kgb_execution__move */
	size_t spare_bytes;
	struct kgb_memory *memory; /* borrowed; shared by threads */
	struct kgb_memory_view view;
	uint32_t program_id[3], grid[3];
	struct kgb_thread thread; /* of the program, and of the current access */
	size_t width; /* combinations at a time in a combine region */
	uint64_t random;
	uint64_t reordering; /* drawn for each program: the order of elements that is left open */
	int64_t fuel;
	uint32_t next_block; /* target of the last branch */
	const struct kgb_operation *last; /* the end of the region that ran last; NULL: none */
	struct kgb_machine_fault *fault;
	struct kgb_reach reach;
	const bool *has_failed; /* borrowed; a program of the launch has failed; read atomically */
};

/** Records a fault of an operation; returns -1. */
int kgb_execution__fault(struct kgb_execution *x, const struct kgb_operation *op,
			 enum kgb_machine_fault_kind kind, const char *fmt, ...) KGB_PRINTF(4, 5);
/** The same with the address of an access. */
int kgb_execution__fault_at(struct kgb_execution *x, const struct kgb_operation *op,
			    enum kgb_machine_fault_kind kind, uint64_t address, const char *what);

const struct kgb_value *kgb_execution__value(const struct kgb_execution *x, uint32_t value);
/** Begins a round of a loop. -1: no fuel is left (a fault), or another program has failed: this
 * program may wait for that one. */
KGB_MUST_CHECK int kgb_execution__round(struct kgb_execution *x, const struct kgb_operation *op);
/** Runs the operations of a region from its first block to its end. */
KGB_MUST_CHECK int kgb_execution__region(struct kgb_execution *x, const struct kgb_region *region);
/** Copies from[i] to to[i], for all i as if at the same time; no axis of them is collapsed. */
void kgb_execution__move(struct kgb_execution *x, const uint32_t *to, const uint32_t *from,
			 uint32_t n);
/** An integer scalar, sign extended. */
int64_t kgb_execution__integer(const struct kgb_execution *x, uint32_t value);

uint64_t kgb_execution__draw(struct kgb_execution *x);
/** n random elements; an i1 stays 0 or 1. */
void kgb_execution__draw_lanes(struct kgb_execution *x, enum kgb_ttir_element element, void *to,
			       size_t n);
/** The lane that comes i-th in a drawn order of n lanes, a power of two. */
static inline size_t kgb_execution__lane(uint64_t drawn, size_t i, size_t n)
{
	return ((drawn | 1) * i ^ drawn >> 32) & (n - 1);
}
/** Writes n copies of the element at `one`. */
void kgb_execution__fill(void *to, const void *one, size_t size, size_t n);

/** Copies a value to one with fewer collapsed axes. */
int kgb_execution__expand(struct kgb_execution *x, const struct kgb_operation *op);

/** Prepares a thread's state for programs of a launch; release it. arguments[i] points to the
 * elements of argument i. */
void kgb_execution__init(struct kgb_execution *x, const struct kgb_machine_program *program,
			 uint8_t *const *arguments);
void kgb_execution__release(struct kgb_execution *x);
/** Runs the program with this number in the grid. */
KGB_MUST_CHECK int kgb_execution__program(struct kgb_execution *x, uint64_t number, uint64_t seed,
					  int64_t fuel);

#endif
