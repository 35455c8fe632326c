/* SPDX-License-Identifier: MIT */
#include "agent/report/sample_rung.h"

#include "base/str.h"
#include "verify/lane/reached.h"

const char *kgb_sample_rung_name(enum kgb_sample_rung rung)
{
	static const char *const names[KGB_N_SAMPLE_RUNGS] = {"compiles", "core", "correct"};
	return names[rung];
}

bool kgb_sample_has_reached(const struct kgb_sample *sample, enum kgb_sample_rung rung)
{
	if (rung == KGB_SAMPLE_CORRECT)
		return sample->has_verdict && kgb_str_eq(sample->status, "passed");
	return sample->has_verdict &&
	       kgb_reached_find(sample->reached) >= kgb_reached_find(kgb_sample_rung_name(rung));
}
