/* SPDX-License-Identifier: MIT */
/** \file
 * Stage timing on the cpu platform: our own clock around whole requests. An interpreter's time says
 * nothing of a GPU's, so the numbers are recorded and marked not comparable. Timed results are
 * checked like all others.
 */
#include "base/system/cache_dir.h"
#include "base/time.h"
#include "verify/lane/candidate_call.h"
#include "verify/lane/judge.h"
#include "verify/stages/replay.h"

enum { REPETITIONS = 3, FIRST_REPETITION = 20, REFERENCE_MS = 120 * 1000, MACHINE_MS = 60 * 1000 };

#define say(judge, ...) kgb_arena_printf(&(judge)->verdict->arena, __VA_ARGS__)

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
static int time_candidate(struct kgb_judge *judge, const struct kgb_case_data *data, double *out_ms,
			  struct kgb_err *err)
{
	int64_t ns[REPETITIONS] = {0};

	for (int i = 0; i < REPETITIONS; i++) {
		const struct kgb_candidate_call_spec spec = {.repetition = FIRST_REPETITION + i,
							     .places = FIRST_REPETITION + i};
		struct kgb_candidate_call call;
		struct kgb_failure failure;
		int rc = kgb_candidate_call_run(judge, data, &spec, &call, &failure, err);
		if (rc == 0 && !kgb_candidate_call_check(judge, data, &call, &failure))
			rc = 1;
		if (rc == 0 && !kgb_candidate_call_check_values(judge, data, &call, &failure))
			rc = 1;
		ns[i] = call.wall_ns;
		kgb_candidate_call_release(&call);
		if (rc == 1) {
			failure.message = say(judge, "timed call of case %s: %s", data->kase->name,
					      failure.message);
			kgb_verdict_decide(judge->verdict, KGB_STAGE_TIMING, &failure);
		}
		if (rc != 0)
			return rc;
	}
	*out_ms = median_ms(ns);
	return 0;
}

static int time_baseline(struct kgb_judge *judge, const struct kgb_case *c, double *out_ms,
			 struct kgb_err *err)
{
	int64_t ns[REPETITIONS] = {0};
	struct kgb_case_data data;
	int rc = 0;

	kgb_case_data_fill(&data, c, &judge->verdict->seed, 0);
	for (int i = 0; i < REPETITIONS && rc == 0; i++) {
		int64_t deadline = kgb_mono_ms() + REFERENCE_MS;
		int64_t started_ns = kgb_mono_ns();
		rc = kgb_case_data_ask(&data, &judge->reference->worker, &judge->reference->memory,
				       false, deadline, err);
		if (rc == 0)
			rc = kgb_case_data_learn(&data, &judge->reference->worker,
						 &judge->reference->memory, false, deadline, err);
		ns[i] = kgb_mono_ns() - started_ns;
	}
	kgb_case_data_release(&data);
	*out_ms = median_ms(ns);
	return rc;
}

static int time_case(struct kgb_judge *judge, const struct kgb_case *c, struct kgb_err *err)
{
	struct kgb_verdict *verdict = judge->verdict;
	struct kgb_timing timing = {.case_name = say(judge, "%s", c->name)};
	struct kgb_case_data data;

	kgb_case_data_fill(&data, c, &verdict->seed, 0);
	int rc = kgb_judge_learn(judge, &data, err);
	if (rc == 0)
		rc = time_candidate(judge, &data, &timing.candidate_ms, err);
	kgb_case_data_release(&data);
	if (rc == 0)
		rc = time_baseline(judge, c, &timing.baseline_ms, err);
	if (rc == 0 && verdict->n_timings < KGB_VERDICT_TIMINGS_MAX)
		verdict->timings[verdict->n_timings++] = timing;
	return rc;
}

/* All benchmark cases, with the GPU to ourselves. */
static int time_on_gpu(struct kgb_judge *judge, struct kgb_err *err)
{
	struct kgb_verdict *verdict = judge->verdict;
	const struct kgb_exec_spec spec = {.device = (uint32_t)judge->options->device,
					   .cupti = judge->options->request.cupti};
	const char *const baselines[] = {
		[KGB_BASELINE_TORCH] = kgb_spec_baseline(&judge->spec),
		[KGB_BASELINE_COMPILE] = "torch.compile",
		[KGB_BASELINE_KERNEL] = "kernel",
	};
	KGB_AUTO(free) char *cache = kgb_cache_dir("machines");
	int rc = 0;

	verdict->timing_comparable = judge->cases.n_benchmarks > 0;
	verdict->timing_reason =
		verdict->timing_comparable ? NULL : "the operator has no benchmark case";
	verdict->timing_baseline = baselines[judge->options->baseline];
	if (!verdict->timing_comparable)
		return 0;
	if (kgb_judge_take_gpu(judge, KGB_STAGE_TIMING, true) != 0)
		return 1;
	if (kgb_replay_start_exec(judge, err) < 0 ||
	    kgb_gpu_peak_find(&verdict->machine, &spec, &judge->replay->replayer->exec.machine,
			      cache, MACHINE_MS, err) < 0)
		return -1;
	verdict->has_machine = true;
	for (size_t i = 0; i < judge->cases.n_benchmarks && rc == 0; i++)
		rc = kgb_time_on_gpu(judge, &judge->cases.items[judge->cases.n + i], err);
	return rc;
}

int kgb_stage_timing(struct kgb_judge *judge)
{
	struct kgb_stage_result *stage = &judge->verdict->stages[KGB_STAGE_TIMING];
	struct kgb_err err = KGB_ERR_INIT;
	int64_t started_ms = kgb_mono_ms();
	int rc = 0;

	if (!judge->options->request.timing) {
		stage->message = "not asked for";
		return 0;
	}
	if (judge->replay)
		rc = time_on_gpu(judge, &err);
	for (size_t i = 0; i < judge->spec.n_timing_cases && !judge->replay && rc == 0; i++) {
		const struct kgb_case *c = find_case(&judge->cases, judge->spec.timing_cases[i]);
		KGB_ASSERT(c); /* kgb_cases_expand has checked */
		rc = time_case(judge, c, &err);
	}
	stage->wall_ms = kgb_mono_ms() - started_ms;
	if (rc == 0)
		stage->status = KGB_STAGE_PASSED;
	if (rc < 0)
		kgb_verdict_decide_infra(judge->verdict, KGB_STAGE_TIMING, KGB_CODE_INFRA_TIMING,
					 &err);
	return rc == 0 ? 0 : 1;
}
