/* SPDX-License-Identifier: MIT */
/** \file
 * Lanes (lane.h) judge the cases of a verification side by side. When all have ended, what lanes 1
 * and up found is added to the verdict of lane 0.
 */
#ifndef KGB_VERIFY_STAGES_LANES_H
#define KGB_VERIFY_STAGES_LANES_H

#include "verify/lane/lane.h"

/** End the lane's processes, free its memory and leave it as kgb_lane_init did, but for what lane 0
 * alone has. */
void kgb_lane_close(struct kgb_lane *lane);

/** How many lanes are worth their start: the number in the options, never more than cases; or else
 * up to 4 (on a GPU 2), as far as there are seats for them (lease.h; *seats is to be given back),
 * never more than one for `least` of the cases. */
size_t kgb_lanes_count(const struct kgb_judge *judge, size_t least, struct kgb_seats *seats);

/** 0 done, 1 something was decided (in lane->verdict), -1 *err. */
typedef int kgb_lane_fn(struct kgb_lane *lane, size_t number, void *payload, struct kgb_err *err);

/** Run `fn` in `n` lanes, in this thread for lane 0 (`first`), until all have returned. What lanes
 * share besides *payload, they only read. Fewer run when threads cannot be had: the verdict has
 * their number. -1 when one returned it, else 1 when one returned that, else 0. */
KGB_MUST_CHECK int kgb_lanes_run(struct kgb_lane *first, size_t n, kgb_lane_fn *fn, void *payload,
				 struct kgb_err *err);

#endif
