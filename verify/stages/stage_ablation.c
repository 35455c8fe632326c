/* SPDX-License-Identifier: MIT */
/** \file
 * Stage l2: without its launches a kernel must fail: a result that is still right was not computed
 * by Triton. The replays of stage correctness left launches out and watched memory for a result
 * that torch's copies put together (result_origin.h); this stage decides.
 */
#include "verify/stages/stages.h"

/* In one case a copy of an input may happen to be the result; in all watched cases it is no
 * accident. */
static int decide_origin(struct kgb_lane *lane)
{
	for (size_t i = 0; i < lane->judge->spec.n_interfaces; i++) {
		const struct kgb_ablation_tally *tally = &lane->judge->tallies[i];
		if (tally->n_watched == 0 || tally->n_by_host < tally->n_watched)
			continue;
		return kgb_lane_decide(
			lane, KGB_STAGE_L2, KGB_CODE_CHEAT_TORCH_COPIES,
			"Let a kernel read the arguments and write each element to its place.",
			"%s: PyTorch's copies or conversions had put the result together (in %u of "
			"%u examined cases) for a kernel that only copies it",
			lane->judge->spec.interfaces[i].entry, tally->n_by_host, tally->n_watched);
	}
	return 0;
}

static int check_complete(const struct kgb_judge *judge, struct kgb_err *err)
{
	for (size_t i = 0; i < judge->spec.n_interfaces; i++)
		if (judge->tallies[i].n_ablated == 0)
			return kgb_fail(
				err, KGB_ERR_FAILED,
				"%s: no case shows whether the kernels compute anything: add one "
				"whose result is neither constant nor an input",
				judge->spec.interfaces[i].entry);
	return 0;
}

int kgb_stage_ablation(struct kgb_lane *lane, struct kgb_err *err)
{
	if (lane->needless.code) {
		kgb_verdict_decide(lane->verdict, KGB_STAGE_L2, &lane->needless);
		return 1;
	}
	if (check_complete(lane->judge, err) < 0)
		return -1;
	return decide_origin(lane);
}
