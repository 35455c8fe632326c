/* SPDX-License-Identifier: MIT */
/** \file
 * Stage timing on the cpu platform: our own clock around whole requests. An interpreter's time is
 * no measure of a GPU's, so the numbers are marked not comparable. Timed results are checked like
 * all others.
 */
#include "base/system/cache_dir.h"
#include "base/time.h"
#include "verify/lane/candidate_check.h"
#include "verify/replay/replay.h"
#include "verify/stages/stages.h"

enum { REPETITIONS = 3, FIRST_REPETITION = 20, REFERENCE_MS = 120 * 1000, MACHINE_MS = 60 * 1000 };

static double median_ms(const int64_t ns[REPETITIONS])
{
	int64_t low = ns[0] < ns[1] ? ns[0] : ns[1];
	int64_t high = ns[0] < ns[1] ? ns[1] : ns[0];
	int64_t middle = ns[2] < low ? low : ns[2] > high ? high : ns[2];

	return (double)middle / 1e6;
}

static const struct kgb_case *find_case(const struct kgb_cases *cases, const char *name)
{
	for (size_t i = 0; i < cases->n; i++)
		if (strcmp(cases->items[i].name, name) == 0)
			return &cases->items[i];
	return NULL;
}

/* 0, 1 decided, -1 *err. */
static int time_candidate(struct kgb_lane *lane, const struct kgb_case_data *data, double *out_ms,
			  struct kgb_err *err)
{
	int64_t ns[REPETITIONS] = {0};

	for (int i = 0; i < REPETITIONS; i++) {
		const struct kgb_candidate_call_spec spec = {.repetition = FIRST_REPETITION + i,
							     .places = FIRST_REPETITION + i};
		struct kgb_candidate_call call;
		struct kgb_failure failure;
		int rc = kgb_candidate_call_run(lane, data, &spec, &call, &failure, err);
		if (rc == 0 && !kgb_candidate_call_check(lane, data, &call, &failure))
			rc = 1;
		if (rc == 0 && !kgb_candidate_call_check_values(lane, data, &call, &failure))
			rc = 1;
		ns[i] = call.wall_ns;
		kgb_candidate_call_release(&call);
		if (rc == 1) {
			failure.message = kgb_lane_text(lane, "timed call of case %s: %s",
							data->kase->name, failure.message);
			kgb_verdict_decide(lane->verdict, KGB_STAGE_TIMING, &failure);
		}
		if (rc != 0)
			return rc;
	}
	*out_ms = median_ms(ns);
	return 0;
}

static int time_baseline(struct kgb_lane *lane, const struct kgb_case *c, double *out_ms,
			 struct kgb_err *err)
{
	int64_t ns[REPETITIONS] = {0};
	struct kgb_case_data data;
	int rc = 0;

	kgb_case_data_fill(&data, c, &lane->verdict->seed, 0);
	for (int i = 0; i < REPETITIONS && rc == 0; i++) {
		int64_t started_ns = kgb_mono_ns();
		rc = kgb_case_data_fetch(&data, lane->reference, false,
					 kgb_mono_ms() + REFERENCE_MS, err);
		ns[i] = kgb_mono_ns() - started_ns;
	}
	kgb_case_data_release(&data);
	*out_ms = median_ms(ns);
	return rc;
}

static int time_case(struct kgb_lane *lane, const struct kgb_case *c, struct kgb_err *err)
{
	struct kgb_verdict *verdict = lane->verdict;
	struct kgb_timing timing = {.case_name = kgb_lane_text(lane, "%s", c->name)};
	struct kgb_case_data data;

	kgb_case_data_fill(&data, c, &verdict->seed, 0);
	int rc = kgb_lane_fetch_truth(lane, &data, err);
	if (rc == 0)
		rc = time_candidate(lane, &data, &timing.candidate_ms, err);
	kgb_case_data_release(&data);
	if (rc == 0)
		rc = time_baseline(lane, c, &timing.baseline_ms, err);
	if (rc == 0 && verdict->n_timings < KGB_VERDICT_TIMINGS_MAX)
		verdict->timings[verdict->n_timings++] = timing;
	return rc;
}

/* All benchmark cases, with the GPU to ourselves. */
static int time_on_gpu(struct kgb_lane *lane, struct kgb_err *err)
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

int kgb_stage_timing(struct kgb_lane *lane, struct kgb_err *err)
{
	const struct kgb_judge *judge = lane->judge;
	int rc = 0;

	if (judge->options->device != KGB_DEVICE_CPU)
		return time_on_gpu(lane, err);
	for (size_t i = 0; i < judge->spec.timing.n && rc == 0; i++) {
		const struct kgb_case *c = find_case(&judge->cases, judge->spec.timing.items[i]);
		KGB_ASSERT(c); /* kgb_cases_expand has checked */
		rc = time_case(lane, c, err);
	}
	return rc;
}
