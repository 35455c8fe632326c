/* SPDX-License-Identifier: MIT */
/** \file
 * What a kernel claims of a value: tl.multiple_of, tl.max_contiguous, tl.max_constancy. A compiler
 * believes them. Multiples and constancy are verified where the value is made. Contiguity is not,
 * as honest kernels claim it of indices that wrap; what loads and stores do with it is done here,
 * too: a vector of up to 16 bytes is at the address of its first lane.
 */
#ifndef KGB_VERIFY_PROGRAM_HINTS_H
#define KGB_VERIFY_PROGRAM_HINTS_H

#include "verify/program/builder.h"

/** Verifies the hints of a statement whose operation is placed, and notes what its result inherits
 * from its operands. */
void kgb_hints__note(struct kgb_builder *b, struct kgb_operation *op,
		     const struct kgb_ttir_statement *s);
/** A loop yields a value for one that it carries: what both claim holds. */
void kgb_hints__meet(struct kgb_builder *b, uint32_t carried, uint32_t yielded);
/** Before a load or store is built: its pointers become what vectors make of them. `mask` is the
 * operand with its mask. */
void kgb_hints__access(struct kgb_builder *b, struct kgb_operation *op, uint32_t mask);

#endif
