/* SPDX-License-Identifier: MIT */
/** \file
 * Operations of control flow: loops, conditions, branches, calls, assertions. */
#ifndef KGB_VERIFY_PROGRAM_CONTROL_H
#define KGB_VERIFY_PROGRAM_CONTROL_H

#include "verify/program/builder.h"
#include "verify/program/execution.h"

#define KGB_BUILD(name)                                            \
	void name(struct kgb_builder *b, struct kgb_operation *op, \
		  const struct kgb_ttir_statement *s)
#define KGB_RUN(name) int name(struct kgb_execution *x, const struct kgb_operation *op)

KGB_BUILD(kgb_for_build);
KGB_BUILD(kgb_if_build);
KGB_BUILD(kgb_while_build);
KGB_BUILD(kgb_yield_build);
KGB_BUILD(kgb_return_build);
KGB_BUILD(kgb_branch_build);
KGB_BUILD(kgb_call_build);
KGB_BUILD(kgb_assert_build);
KGB_BUILD(kgb_nothing_build);
KGB_RUN(kgb_for_run);
KGB_RUN(kgb_if_run);
KGB_RUN(kgb_while_run);
KGB_RUN(kgb_end_run);
KGB_RUN(kgb_branch_run);
KGB_RUN(kgb_call_run);
KGB_RUN(kgb_assert_run);

#endif
