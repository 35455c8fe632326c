/* SPDX-License-Identifier: MIT */
/** \file
 * `runs prune`.
 */
#ifndef KGB_AGENT_ANSWERS_PRUNE_RUNS_H
#define KGB_AGENT_ANSWERS_PRUNE_RUNS_H

#include "agent/cli/cmd.h"

/** Prune the runs that the command line names, or all runs older than --older-than; returns the
 * exit status. */
int kgb_prune_runs(struct kgb_cli *cli);

#endif
