/* SPDX-License-Identifier: MIT */
/** \file
 * Ops that move bytes: memsets, copies, uploads, and torch's fills and copies.
 */
#ifndef KGB_VERIFY_EXEC_CPU_MOVE_H
#define KGB_VERIFY_EXEC_CPU_MOVE_H

#include "verify/exec/cpu/memory.h"
#include "verify/protocol/record.h"
#include "verify/protocol/torch_move.h"

/** Carry out a MEMSET, COPY or UPLOAD that was checked (kgb_exec_check_memory). */
void kgb_cpu_move(const struct kgb_cpu_memory *memory, const struct kgb_op *op);

/** Carry out a fill or copy of torch. BAD_PLAN: it reaches outside of memory. */
KGB_MUST_CHECK int kgb_cpu_torch_move(const struct kgb_cpu_memory *memory,
				      const struct kgb_torch_move *move, struct kgb_err *err);

#endif
