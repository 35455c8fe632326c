/* SPDX-License-Identifier: MIT */
/** \file
 * The rung that a sample of a bare model reached. */
#ifndef KGB_AGENT_REPORT_SAMPLE_RUNG_H
#define KGB_AGENT_REPORT_SAMPLE_RUNG_H

#include "agent/store/sample.h"

/** The rungs of the ladder for which pass@k is reported. */
enum kgb_sample_rung {
	KGB_SAMPLE_COMPILES,
	KGB_SAMPLE_CORE,
	KGB_SAMPLE_CORRECT,
	KGB_N_SAMPLE_RUNGS
};

/** Whether a sample reached a rung. A verdict of `cheated` shows none. */
bool kgb_sample_has_reached(const struct kgb_sample *sample, enum kgb_sample_rung rung);
/** "compiles", "core", "correct". */
const char *kgb_sample_rung_name(enum kgb_sample_rung rung);

#endif
