/* SPDX-License-Identifier: MIT */
/** \file
 * The part of CUPTI that delivers callbacks, opened at run time.
 */
#ifndef KGB_VERIFY_CUDA_CUPTI_H
#define KGB_VERIFY_CUDA_CUPTI_H

#include <cupti.h>

#include "base/err.h"

/* clang-format off */
#define KGB_CUPTI_FUNCTIONS(X) \
	X(cuptiGetVersion) \
	X(cuptiGetResultString) \
	X(cuptiSubscribe) \
	X(cuptiUnsubscribe) \
	X(cuptiEnableCallback)
/* clang-format on */

struct kgb_cupti {
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration */
#define KGB_CUPTI_MEMBER(name) __typeof__(name) *name;
	KGB_CUPTI_FUNCTIONS(KGB_CUPTI_MEMBER)
#undef KGB_CUPTI_MEMBER
	const char *path; /* of the library that was opened */
};

/** Find CUPTI: the library that the process has loaded (torch brings one), else one on the loader's
 * path, else $KGB_CUPTI. UNAVAILABLE names the paths that were tried. */
KGB_MUST_CHECK int kgb_cupti_load(struct kgb_cupti *out, struct kgb_err *err);

#endif
