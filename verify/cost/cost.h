/* SPDX-License-Identifier: MIT */
/** \file
 * The least cost of a call, by the spec's `bytes` and `flops` expressions: the basis of physical
 * floors and rooflines. */
#ifndef KGB_VERIFY_COST_COST_H
#define KGB_VERIFY_COST_COST_H

#include "base/err.h"
#include "verify/cases/cases.h"

struct kgb_cost {
	int64_t bytes; /* memory that must be read or written; 0: the spec does not give it */
	int64_t written_bytes; /* the results' part, at most `bytes` */
	int64_t flops; /* 0: the spec does not give it */
	int64_t traffic; /* approximate bytes that a call reads and writes; `bytes` unless the spec
			    gives it */
};

/** Cost of one case. `results` are the views of the results, as the reference gave them (dtype and
 * sizes count). INVALID names the spec's file and line, the case and the expression without a
 * value. */
KGB_MUST_CHECK int kgb_case_cost(const struct kgb_spec *spec, const struct kgb_case *c,
				 const struct kgb_tensor_view *results, size_t n_results,
				 struct kgb_cost *out, struct kgb_err *err);

/** About the number of terms of an element of result `i`: the spec's `terms`, else its `flops` for
 * each element, which is twice that number for a product of matrices. 0: not known. */
double kgb_case_terms(const struct kgb_case *c, const struct kgb_tensor_view *results,
		      size_t n_results, size_t i);

#endif
