/* SPDX-License-Identifier: MIT */
/** \file
 * Memory that belongs to an argument but must not be read: gaps between the columns of a matrix,
 * its other triangle, blocks of a cache without a sequence. `read` of a parameter
 * (docs/operator-spec.md) declares the part that is read; every bit of all other elements is set,
 * which is NaN in every floating-point type and -1 in whole numbers (uint8: 255). */
#ifndef KGB_VERIFY_CASES_READ_MASK_H
#define KGB_VERIFY_CASES_READ_MASK_H

#include "base/err.h"
#include "verify/cases/case.h"

/** Parse the `read` of argument `i` of the case into c->args[i].read. All arguments must be
 * expanded. The message names neither case nor argument. */
KGB_MUST_CHECK int kgb_read_parse(struct kgb_case *c, size_t i, const char *text,
				  struct kgb_err *err);

/** Set every byte of unread elements in the arguments' storages to `byte`; where that is UINT8_MAX,
 * those of matrices that the call changes to another one, which is finite in each type. */
void kgb_read_mask_fill(const struct kgb_case *c, void *const *storages, uint8_t byte);

#endif
