/* SPDX-License-Identifier: MIT */
/** \file
 * Lanes (lane.h) judge the cases of a verification side by side. When all have ended, their
 * verdicts are merged into that of lane 0.
 */
#ifndef KGB_VERIFY_STAGES_LANES_H
#define KGB_VERIFY_STAGES_LANES_H

#include "verify/lane/lane.h"

/** End the lane's processes, free its memory and leave the lane as after kgb_lane_init, except for
 * the fields of lane 0 alone. */
void kgb_lane_close(struct kgb_lane *lane);
/** End the runner: no code of the candidate runs on the host afterwards. Who takes the GPU alone
 * waits until its context is gone. */
KGB_MUST_CHECK int kgb_lane_end_runner(struct kgb_lane *lane, struct kgb_err *err);

/** The number of lanes to run: the number in the options, at most one per case. Without it up to 4
 * (with a GPU 3), as far as seats are free (gpu_lease.h; the caller gives *seats back), at most one
 * per `least` cases. */
size_t kgb_lanes_count(const struct kgb_judge *judge, size_t least, struct kgb_seats *seats);

/** 0 done, 1 something was decided (in lane->verdict), -1 *err. */
typedef int kgb_lane_fn(struct kgb_lane *lane, size_t number, void *payload, struct kgb_err *err);

/** Run `fn` in `n` lanes, in this thread for lane 0 (`first`), until all have returned. Lanes only
 * read what they share besides *payload. Fewer lanes run if threads cannot be created; the verdict
 * has their number. Returns -1 if a lane returned -1, else 1 if one returned 1, else 0. */
KGB_MUST_CHECK int kgb_lanes_run(struct kgb_lane *first, size_t n, kgb_lane_fn *fn, void *payload,
				 struct kgb_err *err);

#endif
