/* SPDX-License-Identifier: MIT */
/** \file
 * Errors that are found side by side, so that the user reads all of them at once. All zero is an
 * empty list; KGB_VEC_RELEASE(&faults->list) frees it.
 */
#ifndef KGB_BASE_FAULTS_H
#define KGB_BASE_FAULTS_H

#include "base/err.h"
#include "base/vec.h"

struct kgb_faults {
	KGB_VEC(struct kgb_err) list; /* in the order in which they were found */
};

#endif
