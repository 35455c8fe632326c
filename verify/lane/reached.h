/* SPDX-License-Identifier: MIT */
/** \file
 * The rung that a kernel reached (docs/results.md), and counts of cases. */
#ifndef KGB_VERIFY_LANE_REACHED_H
#define KGB_VERIFY_LANE_REACHED_H

#include <stdint.h>

#include "base/codes.h"
#include "verify/spec/spec.h"
#include "verify/tensor/dtype.h"

/** Each rung includes those before it. */
enum kgb_reached {
	KGB_REACHED_UNKNOWN, /* a fault of the judge, or a cheat, whose results mean nothing */
	KGB_REACHED_REFUSED, /* by its text */
	KGB_REACHED_NOTHING, /* the text was accepted, but no kernel compiled */
	KGB_REACHED_COMPILES, /* a call whose launches all went through Triton's compiler */
	KGB_REACHED_RUNS, /* a call returned results of the right number, shape and type */
	KGB_REACHED_CORE, /* all cases of the tier core are right */
	KGB_REACHED_CORRECT, /* all cases are right */
	KGB_REACHED_TIMED, /* and the speed was measured */
	KGB_N_REACHED,
};

struct kgb_tally {
	int64_t total, passed, failed; /* the rest was not run */
};
struct kgb_interface_count {
	const char *entry;
	int64_t total, passed, failed;
	struct kgb_tally tiers[KGB_N_TIERS], modes[KGB_N_JUDGED_MODES], dtypes[KGB_N_DTYPES];
	enum kgb_reached best; /* of its cases, RUNS at most */
};
/** "refused" ... "timed"; NULL for UNKNOWN. */
const char *kgb_reached_name(enum kgb_reached reached);
/** UNKNOWN for NULL and for other names. */
enum kgb_reached kgb_reached_find(const char *name);

/** The rung that one judged case shows, RUNS at most.
 * \param code of its failure; NONE: it is right
 * \param launched a kernel was launched if the case needs one, and Triton's compiler refused
 * none */
enum kgb_reached kgb_reached_by_case(enum kgb_code code, bool launched);

/** Add the numbers, and keep the better rung; `entry` stays. */
void kgb_interface_count_add(struct kgb_interface_count *to,
			     const struct kgb_interface_count *from);

#endif
