/* SPDX-License-Identifier: MIT */
/** \file
 * A received plan, checked, and the checks of a request to run it. */
#ifndef KGB_VERIFY_EXEC_EXEC_PLAN_H
#define KGB_VERIFY_EXEC_EXEC_PLAN_H

#include "verify/exec/exec_arena.h"
#include "verify/protocol/plan_check.h"
#include "verify/protocol/record.h"

struct kgb_exec_plan {
	unsigned char *bytes; /* owned; the record points into them; NULL: no such plan */
	struct kgb_record record;
	const struct kgb_window *window;
	struct kgb_spans blocks; /* of the window, overlaps joined */
};

/** Read a memfd with a record and check it. BAD_PLAN names the part that cannot be replayed.
 * Release *plan also after a failure. */
KGB_MUST_CHECK int kgb_exec_plan_read(struct kgb_exec_plan *plan, int fd,
				      kgb_exec_check_image_fn check_image, struct kgb_err *err);
void kgb_exec_plan_release(struct kgb_exec_plan *plan);

/** The objects of a request to run a plan. */
struct kgb_exec_run_names {
	const struct kgb_exec_arena *arena;
	const struct kgb_exec_plan *plan;
	const struct kgb_exec_plan *prologue; /* NULL: none */
	const struct kgb_spans *memory; /* that plans may use */
};
/** Check that a RUN or TIME can be carried out: slots exist, the op can be left out, the results
 * fit, ranges and ops lie in memory. *out: the place of the results. */
KGB_MUST_CHECK int kgb_exec_check_run(const struct kgb_exec_request *request,
				      const struct kgb_exec_run_names *names,
				      struct kgb_exec_layout *out, struct kgb_err *err);

#endif
