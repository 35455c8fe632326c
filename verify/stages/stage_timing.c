/* SPDX-License-Identifier: MIT */
/** \file
 * Stage timing: all benchmark cases, with exclusive use of the GPU.
 */
#include "base/system/cache_dir.h"
#include "verify/replay/replay.h"
#include "verify/stages/stages.h"

enum { MACHINE_MS = 60 * 1000 };

int kgb_stage_timing(struct kgb_lane *lane, struct kgb_err *err)
{
	struct kgb_verdict *verdict = lane->verdict;
	const struct kgb_exec_spec spec = {.device = (uint32_t)lane->judge->options->device,
					   .cupti = lane->judge->options->request.cupti};
	const char *const baselines[] = {
		[KGB_BASELINE_TORCH] = kgb_spec_baseline(&lane->judge->spec),
		[KGB_BASELINE_COMPILE] = "torch.compile",
		[KGB_BASELINE_KERNEL] = "kernel",
	};
	KGB_AUTO(free) char *cache = kgb_cache_dir("machines");
	int rc = 0;

	verdict->timing_comparable = lane->judge->cases.n_benchmarks > 0;
	verdict->timing_reason =
		verdict->timing_comparable ? NULL : "the operator has no benchmark case";
	verdict->timing_baseline = baselines[lane->judge->options->baseline];
	verdict->timing_precision =
		kgb_timing_precision_names[lane->judge->options->request.timing_precision];
	if (!verdict->timing_comparable)
		return 0;
	if (kgb_lane_take_gpu(lane, KGB_STAGE_TIMING, true) != 0)
		return 1;
	if (kgb_replay_start_exec(lane, err) < 0 ||
	    kgb_gpu_peak_find(&verdict->machine, &spec, &lane->replay->replayer->exec.machine,
			      cache, MACHINE_MS, err) < 0)
		return -1;
	verdict->has_machine = true;
	for (size_t i = 0; i < lane->judge->cases.n_benchmarks && rc == 0; i++)
		rc = kgb_time_on_gpu(lane, &lane->judge->cases.items[lane->judge->cases.n + i],
				     err);
	return rc;
}
