/* SPDX-License-Identifier: MIT */
/** \file
 * A kernel's claims about a value: tl.multiple_of, tl.max_contiguous, tl.max_constancy. Compilers
 * rely on them. Multiples and constancy are verified where the value is made. Contiguity is not
 * verified, because honest kernels claim it of indices that wrap. Instead, loads and stores use the
 * claim as compiled code does: a vector of up to 16 bytes starts at the address of its first
 * lane. */
#ifndef KGB_VERIFY_PROGRAM_HINTS_H
#define KGB_VERIFY_PROGRAM_HINTS_H

#include "verify/program/builder.h"

/** Verifies the hints of a statement whose operation is placed, and records the claims that its
 * result inherits from its operands. */
void kgb_hints__note(struct kgb_builder *b, struct kgb_operation *op,
		     const struct kgb_ttir_statement *s);
/** A loop yields a value for one that it carries: the carried value keeps its claim of contiguity
 * only if the yielded value has the same claim, or a longer one along the same axis. */
void kgb_hints__meet(struct kgb_builder *b, uint32_t carried, uint32_t yielded);
/** Called before a load or store is built: if its pointers are claimed to be contiguous, replaces
 * them by the addresses that vectors access. `mask`: number of the operand with the mask. */
void kgb_hints__access(struct kgb_builder *b, struct kgb_operation *op, uint32_t mask);

#endif
