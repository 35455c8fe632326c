/* SPDX-License-Identifier: MIT */
/** \file
 * Reasons why the figures of runs cannot be compared: they measure different things. */
#ifndef KGB_AGENT_COMPARE_UNLIKE_H
#define KGB_AGENT_COMPARE_UNLIKE_H

#include "agent/answers/runs.h"

/** Add the differences between the first run and the others, each reason once: offline against
 * live, the platform, specifications, GPUs, baselines and precisions of operators, and the settings
 * that bound what an attempt may spend, from config.yaml. Facts that a run does not record are not
 * compared. */
KGB_MUST_CHECK int kgb_runs_find_unlike(const struct kgb_runs *runs, struct kgb_strv *reasons,
					struct kgb_err *err);
/** The same: with `force` the reasons become the first of the notes, else INVALID lists them. */
KGB_MUST_CHECK int kgb_runs_check_alike(const struct kgb_runs *runs, bool force,
					struct kgb_strv *notes, struct kgb_err *err);

#endif
