/* SPDX-License-Identifier: MIT */
/** \file
 * Whether the right results of a case depend on the elements of its arguments. A result that does
 * not (a softmax along a dimension of one element, the index there, a product with alpha = beta =
 * 0) may be written without a kernel, because no computation elsewhere is possible. */
#ifndef KGB_VERIFY_ABLATION_DEPENDENCE_H
#define KGB_VERIFY_ABLATION_DEPENDENCE_H

#include "verify/lane/lane.h"

/** Request the right results for other inputs of the case. *depends is true if an element of a
 * result is another number for them, unless the call leaves it, in an argument that it writes to,
 * as it was. True, without a request, for benchmarks, draws, and operators that are a fill or a
 * copy themselves. `data` has its truth. No request to the reference may be open. */
KGB_MUST_CHECK int kgb_case_depends_on_inputs(struct kgb_lane *lane,
					      const struct kgb_case_data *data, bool *depends,
					      struct kgb_err *err);

#endif
