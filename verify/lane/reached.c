/* SPDX-License-Identifier: MIT */
#include "verify/lane/reached.h"

#include "base/mem.h"
#include "base/str.h"

const char *kgb_reached_name(enum kgb_reached reached)
{
	static const char *const names[] = {
		[KGB_REACHED_UNKNOWN] = NULL,      [KGB_REACHED_REFUSED] = "refused",
		[KGB_REACHED_NOTHING] = "nothing", [KGB_REACHED_COMPILES] = "compiles",
		[KGB_REACHED_RUNS] = "runs",       [KGB_REACHED_CORE] = "core",
		[KGB_REACHED_CORRECT] = "correct", [KGB_REACHED_TIMED] = "timed",
	};

	return names[reached];
}

enum kgb_reached kgb_reached_find(const char *name)
{
	for (int i = 0; i < KGB_N_REACHED; i++)
		if (name && kgb_str_eq(name, kgb_reached_name((enum kgb_reached)i)))
			return (enum kgb_reached)i;
	return KGB_REACHED_UNKNOWN;
}

/* Whether a failure of this code is found only after the results had the right number, shape and
 * type. */
static bool is_about_results(enum kgb_code code)
{
	static const enum kgb_code codes[] = {KGB_CODE_VERIFY_MISMATCH,
					      KGB_CODE_VERIFY_UNSTABLE,
					      KGB_CODE_VERIFY_SEED,
					      KGB_CODE_VERIFY_DISTRIBUTION,
					      KGB_CODE_VERIFY_STRIDES,
					      KGB_CODE_VERIFY_LAYOUT,
					      KGB_CODE_VERIFY_ALIAS,
					      KGB_CODE_VERIFY_RECORD,
					      KGB_CODE_VERIFY_NOT_REPLAYABLE,
					      KGB_CODE_VERIFY_HOST_DEPENDENT,
					      KGB_CODE_VERIFY_VARYING_PARAMETERS};

	return code == KGB_CODE_NONE || kgb_code_is_among(code, codes, KGB_ARRAY_LEN(codes));
}

enum kgb_reached kgb_reached_by_case(enum kgb_code code, bool launched)
{
	if (!launched)
		return KGB_REACHED_NOTHING;
	return is_about_results(code) ? KGB_REACHED_RUNS : KGB_REACHED_COMPILES;
}

static void add_tally(struct kgb_tally *to, const struct kgb_tally *from)
{
	to->total += from->total;
	to->passed += from->passed;
	to->failed += from->failed;
}

void kgb_interface_count_add(struct kgb_interface_count *to, const struct kgb_interface_count *from)
{
	to->total += from->total;
	to->passed += from->passed;
	to->failed += from->failed;
	for (int i = 0; i < KGB_N_TIERS; i++)
		add_tally(&to->tiers[i], &from->tiers[i]);
	for (int i = 0; i < KGB_N_JUDGED_MODES; i++)
		add_tally(&to->modes[i], &from->modes[i]);
	for (int i = 0; i < KGB_N_DTYPES; i++)
		add_tally(&to->dtypes[i], &from->dtypes[i]);
	if (from->best > to->best)
		to->best = from->best;
}
