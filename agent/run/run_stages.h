/* SPDX-License-Identifier: MIT */
/** \file
 * The stages after planning: a plan is printed (--dry-run), or the run is created, driven and
 * reported. */
#ifndef KGB_AGENT_RUN_RUN_STAGES_H
#define KGB_AGENT_RUN_RUN_STAGES_H

#include "agent/run/run_plan.h"
#include "agent/sched/sched.h"
#include "base/vec.h"

/** Create everything that a run has before its first attempt: folder, settings, journal, initial
 * kernels. A new run that cannot begin is removed: its folder would be taken for the latest run. */
KGB_MUST_CHECK int kgb_run_create(struct kgb_run_plan *plan, const char *method, bool is_new,
				  struct kgb_err *err);
/** Another remedy than making the folder of runs writable. */
#define KGB_RUN_OTHER_PLACE ", or name another with --runs-dir"

/** Runs that are driven together; borrowed. */
struct kgb_run_plans {
	struct kgb_run_plan **items; /* owned, as a KGB_VEC */
	size_t n, cap;
};
/** Let the scheduler do the work of these runs, at least one, with operators in turns. The first
 * has the settings that they share. \param shown The runs that the terminal shows; the style is
 * chosen here. \param outcomes one for each plan. */
KGB_MUST_CHECK int kgb_run_drive(const struct kgb_run_plans *plans,
				 const struct kgb_display_spec *shown,
				 struct kgb_sched_outcome *outcomes, struct kgb_err *err);
/** Print a note if the model is the built-in script. */
void kgb_run_announce_model(const struct kgb_run_plan *plan);
/** Write results.json. Returns the run's exit status, without the signal that ended it. */
int kgb_run_conclude(struct kgb_run_plan *plan, const struct kgb_sched_outcome *outcome,
		     bool *is_written);
/** Write results.json and print the same for the user. Returns the exit status. */
int kgb_run_report(struct kgb_run_plan *plan, const struct kgb_sched_outcome *outcome);
/** Create, drive and report a plan, and release it. Returns the exit status. */
int kgb_run_carry_out(struct kgb_run_plan *plan, const char *method, bool is_new);
/** Print the plan to stdout. Returns the exit status. */
int kgb_run_print_plan(const struct kgb_run_plan *plan, const char *method);

#endif
