/* SPDX-License-Identifier: MIT */
/** \file
 * The arguments of one case, from the spec's parameters and the variables of a case line.
 */
#ifndef KGB_VERIFY_CASES_CASE_ARGS_H
#define KGB_VERIFY_CASES_CASE_ARGS_H

#include "base/err.h"
#include "base/mem.h"
#include "verify/cases/case.h"
#include "verify/draw/dictionary.h"

/** Position in the expansion of a spec; messages name it. Everything is borrowed. */
struct kgb_case_expander {
	const struct kgb_spec *spec;
	const struct kgb_dictionary *numbers; /* of kernel.py; NULL: none */
	uint32_t first_line; /* number of the first line that is drawn from each template */
	struct kgb_arena *arena; /* owns the texts and lists of the arguments */
	const struct kgb_interface *interface;
	const struct kgb_case_set *set;
	const struct kgb_case_vars *line;
	enum kgb_dtype dtype;
	const struct kgb_param *param; /* set by kgb_case_args_expand */
	struct kgb_err *err;
};

/** Set the arguments of a case whose other fields are set. Fails at the case's line in its set. */
KGB_MUST_CHECK int kgb_case_args_expand(struct kgb_case_expander *x, struct kgb_case *c);

#endif
