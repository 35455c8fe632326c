/* SPDX-License-Identifier: MIT */
/** \file
 * Does what is right in a case depend on what its arguments hold? A result that does not (a softmax
 * along a dimension of one element, the index there, a product with alpha = beta = 0) may be
 * written without a kernel: nothing was computed elsewhere.
 */
#ifndef KGB_VERIFY_ABLATION_DEPENDENCE_H
#define KGB_VERIFY_ABLATION_DEPENDENCE_H

#include "verify/lane/lane.h"

/** Ask the reference for other inputs of the case: *depends says whether some element of a result
 * is then neither the same number nor, in an argument that the call writes to, what it was before.
 * True without asking for benchmarks, draws, and operators that are a fill or a copy themselves.
 * `data` has its truth. No request for a truth may be under way. */
KGB_MUST_CHECK int kgb_case_depends_on_inputs(struct kgb_lane *lane,
					      const struct kgb_case_data *data, bool *depends,
					      struct kgb_err *err);

#endif
