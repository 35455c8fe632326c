/* SPDX-License-Identifier: MIT */
/** \file
 * Stage timing: all benchmark cases, each with exclusive use of the GPU.
 */
#include "base/system/cache_dir.h"
#include "verify/replay/replay.h"
#include "verify/stages/benchmark.h"
#include "verify/stages/lanes.h"
#include "verify/stages/stages.h"

enum { MACHINE_MS = 60 * 1000 };

/* Times on the CPU do not predict those on a GPU. */
bool kgb_stage_timing_is_wanted(const struct kgb_judge *judge)
{
	return judge->options->request.timing && judge->options->device != KGB_DEVICE_CPU;
}

/* 0: every benchmark is ready or may be skipped. Else the first that is not decides: 1, or -1 with
 * *err. */
static int refuse(struct kgb_lane *lane, struct kgb_err *err)
{
	const struct kgb_benchmarks *benchmarks = lane->benchmarks;

	for (size_t i = 0; i < benchmarks->n; i++) {
		const struct kgb_benchmark *b = &benchmarks->items[i];
		if (b->state == KGB_BENCHMARK_REFUSED) {
			kgb_verdict_decide(lane->verdict, KGB_STAGE_TIMING, &b->failure);
			return 1;
		}
		if (b->state == KGB_BENCHMARK_BROKEN) {
			*err = b->err;
			return -1;
		}
	}
	for (size_t i = 0; i < benchmarks->n; i++)
		if (benchmarks->items[i].state == KGB_BENCHMARK_UNTOUCHED)
			return kgb_fail(err, KGB_ERR_FAILED, "case '%s' was not prepared",
					benchmarks->items[i].kase->name);
	return 0;
}

/* Find the performance of the GPU in a process of ours that ran nothing yet. */
static int find_peak(struct kgb_lane *lane, struct kgb_err *err)
{
	struct kgb_verdict *verdict = lane->verdict;
	const struct kgb_exec_spec spec = kgb_replay_gpu_spec(lane);
	KGB_AUTO(free) char *cache = kgb_cache_dir("machines");

	struct kgb_timing_process *process = &lane->benchmarks->processes.pairs[0][KGB_SIDE_A];
	if (kgb_timing_process_open(process, lane, err) < 0 ||
	    kgb_gpu_peak_find(&verdict->machine, &spec, &process->exec.machine, cache, MACHINE_MS,
			      err) < 0)
		return -1;
	verdict->has_machine = true;
	return 0;
}

static int measure(struct kgb_lane *lane, struct kgb_benchmark *b, struct kgb_err *err)
{
	struct kgb_failure failure;

	if (!lane->verdict->has_machine && find_peak(lane, err) < 0)
		return -1;
	const int rc = kgb_benchmark_measure(lane, b, &lane->benchmarks->processes, &failure, err);
	if (rc == 1)
		kgb_verdict_decide(lane->verdict, KGB_STAGE_TIMING, &failure);
	return rc;
}

/* One after the other, with the GPU alone for all of them: to get it takes as long as a short
 * benchmark. */
static int measure_all(struct kgb_lane *lane, struct kgb_err *err)
{
	struct kgb_gpu_share *share = lane->judge->share;
	struct kgb_benchmarks *benchmarks = lane->benchmarks;
	bool alone = false;
	int rc = 0;

	for (size_t i = 0; i < benchmarks->n && rc == 0; i++) {
		struct kgb_benchmark *b = &benchmarks->items[i];
		if (b->state != KGB_BENCHMARK_READY)
			continue;
		if (!alone && (kgb_gpu_share_enter_line(share, err) < 0 ||
			       kgb_benchmarks_rehearse(lane, benchmarks, err) < 0 ||
			       kgb_gpu_share_take_alone(share, err) < 0))
			return -1;
		alone = true;
		rc = measure(lane, b, err);
	}
	kgb_gpu_share_give_alone(share);
	kgb_gpu_share_leave_line(share);
	return rc;
}

int kgb_stage_timing(struct kgb_lane *lane, struct kgb_err *err)
{
	struct kgb_verdict *verdict = lane->verdict;
	const char *const baselines[] = {
		[KGB_BASELINE_TORCH] = kgb_spec_baseline(&lane->judge->spec),
		[KGB_BASELINE_COMPILE] = "torch.compile",
		[KGB_BASELINE_KERNEL] = "kernel",
	};
	int rc = 0;

	verdict->timing_comparable = lane->judge->cases.n_benchmarks > 0;
	verdict->timing_reason =
		verdict->timing_comparable ? NULL : "the operator has no benchmark case";
	verdict->timing_baseline = baselines[lane->judge->options->baseline];
	verdict->timing_precision =
		kgb_timing_precision_names[lane->judge->options->request.timing_precision];
	if (!verdict->timing_comparable)
		return 0;
	rc = refuse(lane, err);
	if (rc != 0)
		return rc;
	struct kgb_benchmarks *benchmarks = lane->benchmarks;
	kgb_timing_processes_adopt(&benchmarks->processes, lane->replay->replayer);
	if (kgb_timing_processes_await(&benchmarks->processes, lane, err) < 0)
		return -1;
	/* No code of the candidate runs on the host from here on. */
	if (kgb_lane_end_runner(lane, err) < 0)
		return -1;
	return measure_all(lane, err);
}
