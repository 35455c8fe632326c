/* SPDX-License-Identifier: MIT */
/** \file
 * A kernel's claims about a value: tl.multiple_of, tl.max_contiguous, tl.max_constancy. Compilers
 * rely on them. Multiples and constancy are verified where the value is made. Contiguity is not,
 * because honest kernels claim it of indices that wrap; instead loads and stores use it like
 * compiled code: a vector of up to 16 bytes is at the address of its first lane. */
#ifndef KGB_VERIFY_PROGRAM_HINTS_H
#define KGB_VERIFY_PROGRAM_HINTS_H

#include "verify/program/builder.h"

/** Verifies the hints of a statement whose operation is placed, and records the claims that its
 * result inherits from its operands. */
void kgb_hints__note(struct kgb_builder *b, struct kgb_operation *op,
		     const struct kgb_ttir_statement *s);
/** A loop yields a value for one that it carries: the claims of both hold. */
void kgb_hints__meet(struct kgb_builder *b, uint32_t carried, uint32_t yielded);
/** Before a load or store is built: replace its pointers by those of the vectors. `mask` is the
 * operand with its mask. */
void kgb_hints__access(struct kgb_builder *b, struct kgb_operation *op, uint32_t mask);

#endif
