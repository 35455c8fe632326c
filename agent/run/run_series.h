/* SPDX-License-Identifier: MIT */
/** \file
 * A series: a run for each of several methods and each repetition, in one command, one folder
 * (agent/store/series.h) and one schedule, in which the operators of the runs take turns. Devices,
 * judges and accounts are shared; each run has separate budgets. */
#ifndef KGB_AGENT_RUN_RUN_SERIES_H
#define KGB_AGENT_RUN_RUN_SERIES_H

#include "agent/cli/cmd.h"

/** The methods that the user names, in that order. A repeated or unknown name is a fault. */
void kgb_run_series_methods(const struct kgb_cli *cli, struct kgb_strv *methods,
			    struct kgb_faults *faults);
/** Whether the user asks for more than one run. */
bool kgb_run_series_is_asked(const struct kgb_cli *cli);
/** Make a series, or print its plan. Returns the exit status: the highest of the runs'. */
int kgb_run_series(struct kgb_cli *cli);
/** Continue the runs of a series that did not reach their end. Returns the exit status. */
int kgb_run_series_resume(struct kgb_cli *cli, const char *path, const struct kgb_strv *runs);

#endif
