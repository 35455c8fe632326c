/* SPDX-License-Identifier: MIT */
/** \file
 * What becomes of a plan: it is printed (--dry-run), or the run is created, driven and reported.
 */
#ifndef KGB_AGENT_RUN_RUN_STAGES_H
#define KGB_AGENT_RUN_RUN_STAGES_H

#include "agent/run/run_plan.h"
#include "agent/sched/sched.h"

/** All that a run has before its first attempt: folder, settings, journal, kernels to start from. A
 * new run that cannot begin is removed: its folder would only be taken for the latest run. */
KGB_MUST_CHECK int kgb_run_create(struct kgb_run_plan *plan, const char *method, bool is_new,
				  struct kgb_err *err);
/** Let the scheduler do the work. */
KGB_MUST_CHECK int kgb_run_drive(struct kgb_run_plan *plan, struct kgb_sched_outcome *outcome,
				 struct kgb_err *err);
/** Write results.json and print the same for the user. Returns the exit status. */
int kgb_run_report(struct kgb_run_plan *plan, const struct kgb_sched_outcome *outcome);
/** Create, drive and report a plan, and release it. Returns the exit status. */
int kgb_run_carry_out(struct kgb_run_plan *plan, const char *method, bool is_new);
/** Print the plan to stdout. Returns the exit status. */
int kgb_run_print_plan(const struct kgb_run_plan *plan, const char *method);

#endif
