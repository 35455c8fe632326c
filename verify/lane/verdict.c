/* SPDX-License-Identifier: MIT */
#include "verify/lane/verdict.h"

#include <math.h>

#include "base/formats/jsonw.h"
#include "base/str.h"
#include "base/time.h"

#ifndef KGB_VERSION
#error "CMake defines KGB_VERSION"
#endif

const char *kgb_stage_name(enum kgb_stage stage)
{
	static const char *const names[KGB_N_STAGES] = {
		[KGB_STAGE_CONTRACT] = "contract",
		[KGB_STAGE_L1] = "l1",
		[KGB_STAGE_CORRECTNESS] = "correctness",
		[KGB_STAGE_L2] = "l2",
		[KGB_STAGE_L3] = "l3",
		[KGB_STAGE_TIMING] = "timing",
	};

	return names[stage];
}

enum { CONDITIONS_SHOWN = 16 };

#define PHASE_NAME(name, text) [KGB_PHASE_##name] = (text),
static const char *const phase_names[KGB_N_PHASES] = {KGB_PHASES(PHASE_NAME)};

static const char *const stage_status_names[] = {
	[KGB_STAGE_SKIPPED] = "skipped",
	[KGB_STAGE_PASSED] = "passed",
	[KGB_STAGE_FAILED] = "failed",
};

void kgb_verdict_init(struct kgb_verdict *verdict)
{
	*verdict = (struct kgb_verdict){
		.platform = "cpu",
		.status = KGB_STATUS_INFRA_ERROR, /* until a stage decides */
		.deterministic = true,
		.timing_reason = "no GPU",
	};
	verdict->started_wall_ms = kgb_wall_ms();
}

void kgb_verdict_release(struct kgb_verdict *verdict)
{
	kgb_conditions_release(&verdict->conditions);
	kgb_arena_release(&verdict->arena);
}

void kgb_verdict_decide(struct kgb_verdict *verdict, enum kgb_stage stage,
			const struct kgb_failure *failure)
{
	struct kgb_stage_result *result = &verdict->stages[stage];

	if (verdict->code)
		return;
	verdict->code = failure->code;
	verdict->status = kgb_code_status(failure->code);
	verdict->decided_by = stage;
	verdict->message = failure->message;
	verdict->hint = failure->hint;
	result->status = KGB_STAGE_FAILED;
	result->code = failure->code;
	result->message = failure->message;
}

void kgb_verdict_withdraw(struct kgb_verdict *verdict)
{
	struct kgb_stage_result *stage = &verdict->stages[verdict->decided_by];

	stage->status = KGB_STAGE_SKIPPED;
	stage->code = KGB_CODE_NONE;
	stage->message = NULL;
	verdict->status = KGB_STATUS_INFRA_ERROR;
	verdict->code = KGB_CODE_NONE;
	verdict->message = verdict->hint = NULL;
}

void kgb_verdict_decide_infra(struct kgb_verdict *verdict, enum kgb_stage stage, enum kgb_code code,
			      const struct kgb_err *err)
{
	const struct kgb_failure failure = {
		.code = err->kind == KGB_ERR_BUSY ? KGB_CODE_INFRA_GPU_BUSY : code,
		.message = kgb_arena_strdup(&verdict->arena, err->msg),
		.hint = "This is a fault of the judge or its machine, not of the kernel: "
			"nothing was decided about the kernel.",
	};

	kgb_verdict_decide(verdict, stage, &failure);
}

/* The first stage without the status that a passed kernel needs; KGB_N_STAGES: all have it. */
static enum kgb_stage missing_stage(const struct kgb_verdict *verdict, bool needs_kernels)
{
	const struct kgb_stage_result *stages = verdict->stages;
	const enum kgb_stage_status traced = needs_kernels ? KGB_STAGE_PASSED : KGB_STAGE_SKIPPED;
	const bool all_passed = verdict->total_tests > 0 && verdict->failed_tests == 0 &&
				verdict->passed_tests == verdict->total_tests;
	const bool is_fine[KGB_N_STAGES] = {
		[KGB_STAGE_CONTRACT] = stages[KGB_STAGE_CONTRACT].status == KGB_STAGE_PASSED,
		[KGB_STAGE_L1] = stages[KGB_STAGE_L1].status == KGB_STAGE_PASSED,
		[KGB_STAGE_CORRECTNESS] =
			all_passed && stages[KGB_STAGE_CORRECTNESS].status == KGB_STAGE_PASSED,
		[KGB_STAGE_L2] = !needs_kernels || stages[KGB_STAGE_L2].status == KGB_STAGE_PASSED,
		[KGB_STAGE_L3] = stages[KGB_STAGE_L3].status == traced,
		[KGB_STAGE_TIMING] = stages[KGB_STAGE_TIMING].status != KGB_STAGE_FAILED,
	};
	int stage = 0;

	while (stage < KGB_N_STAGES && is_fine[stage])
		stage++;
	return (enum kgb_stage)stage;
}

void kgb_verdict_close(struct kgb_verdict *verdict, bool needs_kernels)
{
	const enum kgb_stage missing = missing_stage(verdict, needs_kernels);
	struct kgb_err err = KGB_ERR_INIT;

	kgb_conditions_unite(&verdict->conditions);
	if (verdict->code)
		return;
	if (missing == KGB_N_STAGES) {
		verdict->status = KGB_STATUS_PASSED;
		return;
	}
	(void)kgb_fail(&err, KGB_ERR_FAILED, "nothing was decided, and stage %s was not passed",
		       kgb_stage_name(missing));
	kgb_verdict_decide_infra(verdict, missing, KGB_CODE_INFRA_UNDECIDED, &err);
}

void kgb_verdict_count_launches(struct kgb_verdict *verdict, const char *name, int64_t count)
{
	size_t i = 0;

	while (i < verdict->n_kernels && strcmp(verdict->kernels[i].name, name) != 0)
		i++;
	if (i == KGB_VERDICT_KERNELS_MAX) {
		i = KGB_VERDICT_KERNELS_MAX - 1;
		verdict->kernels[i].name = "(others)";
	} else if (i == verdict->n_kernels) {
		verdict->n_kernels++;
		verdict->kernels[i] = (struct kgb_kernel_count){
			.name = kgb_arena_strdup(&verdict->arena, name), .count = 0};
	}
	verdict->kernels[i].count += count;
}

static bool is_cheat(enum kgb_code code)
{
	return kgb_code_status(code) == KGB_STATUS_CHEATED;
}

const struct kgb_failure *kgb_verdict_cheat(const struct kgb_verdict *verdict)
{
	for (size_t i = 0; i < verdict->n_failures; i++)
		if (is_cheat(verdict->failures[i].code))
			return &verdict->failures[i];
	return NULL;
}

/* Drop the last failure that is no cheat if `failure` is more important: a cheat, or of an earlier
 * turn. False: nothing was dropped. */
static bool make_room(struct kgb_verdict *verdict, const struct kgb_failure *failure)
{
	size_t i = verdict->n_failures;

	while (i > 0 && is_cheat(verdict->failures[i - 1].code))
		i--;
	if (i == 0 || (!is_cheat(failure->code) && verdict->failures[i - 1].turn < failure->turn))
		return false;
	memmove(&verdict->failures[i - 1], &verdict->failures[i],
		(verdict->n_failures - i) * sizeof(verdict->failures[0]));
	verdict->n_failures--;
	return true;
}

void kgb_verdict_add_failure(struct kgb_verdict *verdict, const struct kgb_failure *failure)
{
	if (verdict->n_failures == KGB_VERDICT_FAILURES_MAX && !make_room(verdict, failure))
		return;
	size_t at = verdict->n_failures++;
	for (; at > 0 && verdict->failures[at - 1].turn > failure->turn; at--)
		verdict->failures[at] = verdict->failures[at - 1];
	verdict->failures[at] = *failure;
}

void kgb_verdict_note_closest(struct kgb_verdict *verdict, const char *case_name, double share)
{
	struct kgb_closest *closest = &verdict->closest;

	if (!closest->case_name || share > closest->share)
		*closest =
			(struct kgb_closest){kgb_arena_strdup(&verdict->arena, case_name), share};
}

void kgb_verdict_merge(struct kgb_verdict *to, struct kgb_verdict *from)
{
	if (from->code && to->code && is_cheat(from->code) && !is_cheat(to->code))
		kgb_verdict_withdraw(to);
	if (from->code && !to->code) {
		const struct kgb_failure failure = {
			.code = from->code, .message = from->message, .hint = from->hint};
		kgb_verdict_decide(to, from->decided_by, &failure);
	}
	to->passed_tests += from->passed_tests;
	to->failed_tests += from->failed_tests;
	for (size_t i = 0; i < to->n_interfaces && i < from->n_interfaces; i++)
		kgb_interface_count_add(&to->interfaces[i], &from->interfaces[i]);
	for (size_t i = 0; i < from->n_failures; i++)
		kgb_verdict_add_failure(to, &from->failures[i]);
	if (from->closest.case_name)
		kgb_verdict_note_closest(to, from->closest.case_name, from->closest.share);
	to->deterministic &= from->deterministic;
	to->n_nondeterministic += from->n_nondeterministic;
	to->n_replayed_on_gpu += from->n_replayed_on_gpu;
	to->n_in_sandbox += from->n_in_sandbox;
	for (size_t i = 0; i < from->n_ablations && to->n_ablations < KGB_VERDICT_ABLATIONS_MAX;
	     i++)
		to->ablations[to->n_ablations++] = from->ablations[i];
	for (size_t i = 0; i < from->n_kernels; i++)
		kgb_verdict_count_launches(to, from->kernels[i].name, from->kernels[i].count);
	to->n_truths_recalled += from->n_truths_recalled;
	to->n_proofs_recalled += from->n_proofs_recalled;
	for (size_t i = 0; i < from->conditions.n; i++)
		kgb_conditions_add(&to->conditions, &from->conditions.items[i]);
	to->n_inline_ptx += from->n_inline_ptx;
	for (size_t i = 0; i < KGB_N_PHASES; i++)
		to->phase_ns[i] += from->phase_ns[i];
	kgb_arena_join(&to->arena, &from->arena);
}

void kgb_verdict_add_timing(struct kgb_verdict *verdict, const struct kgb_timer *timer,
			    const struct kgb_timer_result *result, bool samples)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf rates = KGB_BUF_INIT(0);
	struct kgb_jsonw w;

	if (verdict->n_timings == KGB_VERDICT_TIMINGS_MAX)
		return;
	kgb_jsonw_init(&w, &rates, 0);
	kgb_timed_case_write(timer, result, &w);
	kgb_jsonw_init(&w, &text, 0);
	kgb_jsonw_object(&w);
	kgb_timing_write(timer, result, samples, &w);
	kgb_jsonw_object_end(&w);
	verdict->timings[verdict->n_timings++] = (struct kgb_timing){
		.case_name = kgb_arena_strdup(&verdict->arena, timer->config.case_name),
		.candidate_ms = result->median_ns[KGB_SIDE_B][KGB_RULER_EVENT] / 1e6,
		.baseline_ms = result->median_ns[KGB_SIDE_A][KGB_RULER_EVENT] / 1e6,
		.speedup = result->speedup,
		.process_reach = result->process_reach,
		.json = kgb_arena_strdup(&verdict->arena, text.ptr),
		.rates = kgb_arena_strdup(&verdict->arena, rates.ptr),
	};
}

/* ---- the ladder ---- */

static bool is_timed(const struct kgb_verdict *verdict, const char *entry)
{
	const size_t len = entry ? strlen(entry) : 0;

	if (!verdict->timing_comparable ||
	    verdict->stages[KGB_STAGE_TIMING].status != KGB_STAGE_PASSED)
		return false;
	for (size_t i = 0; i < verdict->n_timings; i++) {
		const char *name = verdict->timings[i].case_name;
		if (!entry || (strncmp(name, entry, len) == 0 && name[len] == '/'))
			return true;
	}
	return false;
}

enum kgb_reached kgb_verdict_reached(const struct kgb_verdict *verdict,
				     const struct kgb_interface_count *count)
{
	const struct kgb_stage_result *stages = verdict->stages;
	const struct kgb_tally *core = &count->tiers[KGB_TIER_CORE];

	if (verdict->status == KGB_STATUS_INFRA_ERROR)
		return KGB_REACHED_UNKNOWN;
	if (stages[KGB_STAGE_CONTRACT].status == KGB_STAGE_FAILED ||
	    stages[KGB_STAGE_L1].status == KGB_STAGE_FAILED)
		return KGB_REACHED_REFUSED;
	if (verdict->status == KGB_STATUS_CHEATED)
		return KGB_REACHED_UNKNOWN;
	if (count->passed + count->failed == 0)
		return count->entry ? KGB_REACHED_UNKNOWN : KGB_REACHED_NOTHING;
	if (count->best < KGB_REACHED_RUNS || core->passed < core->total)
		return count->best;
	if (count->passed < count->total || stages[KGB_STAGE_L2].status == KGB_STAGE_FAILED ||
	    verdict->code == KGB_CODE_COVERAGE_CONDITION)
		return KGB_REACHED_CORE;
	return is_timed(verdict, count->entry) ? KGB_REACHED_TIMED : KGB_REACHED_CORRECT;
}

/* ---- writing ---- */

/* JSON has no NaN and no infinity: they are written as strings. */
static void write_number(struct kgb_jsonw *w, const char *key, double value)
{
	if (isnan(value))
		kgb_jsonw_kstr(w, key, "nan");
	else if (isinf(value))
		kgb_jsonw_kstr(w, key, value > 0 ? "inf" : "-inf");
	else
		kgb_jsonw_knum(w, key, value);
}

static void write_stages(const struct kgb_verdict *verdict, struct kgb_jsonw *w)
{
	kgb_jsonw_put(w, "stages: [");
	for (int i = 0; i < KGB_N_STAGES; i++) {
		const struct kgb_stage_result *stage = &verdict->stages[i];
		kgb_jsonw_put(w, "{name: %s, status: %s, wall_ms: %ld, code: %s",
			      kgb_stage_name((enum kgb_stage)i), stage_status_names[stage->status],
			      stage->wall_ms, kgb_code_name(stage->code));
		kgb_jsonw_put(w, "message: %s}", stage->message);
	}
	kgb_jsonw_array_end(w);
}

/* Phases that took no time are left out. */
static void write_phases(const struct kgb_verdict *verdict, struct kgb_jsonw *w)
{
	kgb_jsonw_put(w, "lanes: %d, phases_ms: {", verdict->lanes);
	for (int i = 0; i < KGB_N_PHASES; i++)
		if (verdict->phase_ns[i] > 0)
			kgb_jsonw_knum(w, phase_names[i],
				       round((double)verdict->phase_ns[i] / 1e3) / 1e3);
	kgb_jsonw_object_end(w);
}

static void write_tally(const char *name, const struct kgb_tally *tally, struct kgb_jsonw *w)
{
	kgb_jsonw_key(w, name);
	kgb_jsonw_put(w, "{total: %ld, passed: %ld, failed: %ld}", tally->total, tally->passed,
		      tally->failed);
}

static void write_tiers(const struct kgb_interface_count *count, struct kgb_jsonw *w)
{
	kgb_jsonw_put(w, "tiers: {");
	for (int i = 0; i < KGB_N_TIERS; i++)
		write_tally(kgb_tier_name((enum kgb_tier)i), &count->tiers[i], w);
	kgb_jsonw_object_end(w);
}

/* Write the sum of all interfaces with the entry of interface i, only at the first of them. */
static void write_counts(const struct kgb_verdict *verdict, size_t i, struct kgb_jsonw *w)
{
	const struct kgb_interface_count *all = verdict->interfaces;
	struct kgb_interface_count sum = all[i];

	for (size_t k = 0; k < verdict->n_interfaces; k++) {
		if (k == i || !kgb_str_eq(all[k].entry, all[i].entry))
			continue;
		if (k < i)
			return;
		kgb_interface_count_add(&sum, &all[k]);
	}
	kgb_jsonw_key(w, sum.entry);
	kgb_jsonw_put(w, "{total: %ld, passed: %ld, failed: %ld, reached: %s", sum.total,
		      sum.passed, sum.failed, kgb_reached_name(kgb_verdict_reached(verdict, &sum)));
	write_tiers(&sum, w);
	kgb_jsonw_object_end(w);
}

static void write_tests(const struct kgb_verdict *verdict, struct kgb_jsonw *w)
{
	struct kgb_interface_count sum = {0};

	for (size_t i = 0; i < verdict->n_interfaces; i++)
		kgb_interface_count_add(&sum, &verdict->interfaces[i]);
	kgb_jsonw_put(w, "total_tests: %ld, passed_tests: %ld, failed_tests: %ld",
		      verdict->total_tests, verdict->passed_tests, verdict->failed_tests);
	kgb_jsonw_put(w, "drawn_tests: %ld, not_run_tests: %ld, reached: %s", verdict->drawn_tests,
		      verdict->total_tests - verdict->passed_tests - verdict->failed_tests,
		      kgb_reached_name(kgb_verdict_reached(verdict, &sum)));
	write_tiers(&sum, w);
	kgb_jsonw_put(w, "modes: {");
	for (int i = 0; i < KGB_N_JUDGED_MODES; i++)
		write_tally(kgb_mode_name((enum kgb_mode)i), &sum.modes[i], w);
	kgb_jsonw_put(w, "}, dtypes: {");
	for (int i = 0; i < KGB_N_DTYPES; i++)
		if (sum.dtypes[i].total > 0)
			write_tally(kgb_dtype_name((enum kgb_dtype)i), &sum.dtypes[i], w);
	kgb_jsonw_put(w, "}, interfaces: {");
	for (size_t i = 0; i < verdict->n_interfaces; i++)
		write_counts(verdict, i, w);
	kgb_jsonw_object_end(w);
}

static void write_closest(const struct kgb_closest *closest, struct kgb_jsonw *w)
{
	kgb_jsonw_key(w, "closest");
	if (!closest->case_name) {
		kgb_jsonw_null(w);
		return;
	}
	kgb_jsonw_put(w, "{case: %s", closest->case_name);
	write_number(w, "error_of_allowed", closest->share);
	kgb_jsonw_object_end(w);
}

static void write_failure(const struct kgb_failure *failure, struct kgb_jsonw *w)
{
	kgb_jsonw_put(w, "{case: %s, interface: %s, code: %s, message: %s", failure->case_name,
		      failure->interface, kgb_code_name(failure->code), failure->message);
	kgb_jsonw_put(w, "hint: %s, inputs: %s", failure->hint, failure->inputs);
	if (failure->has_values) {
		kgb_jsonw_put(w, "index: [");
		for (int i = 0; i < failure->ndim; i++)
			kgb_jsonw_i64(w, failure->index[i]);
		kgb_jsonw_put(w, "], index_is_first: %hhd", failure->index_is_first);
		write_number(w, "expected", failure->expected);
		write_number(w, "got", failure->got);
		kgb_jsonw_put(w, "n_wrong: %ld, n_elements: %ld", failure->n_wrong,
			      failure->n_elements);
		write_number(w, "max_abs_err", failure->max_abs_err);
		write_number(w, "allowed_abs_err", failure->allowed_abs_err);
	}
	kgb_jsonw_object_end(w);
}

static void write_ablations(const struct kgb_verdict *verdict, struct kgb_jsonw *w)
{
	kgb_jsonw_put(w, "ghost: {");
	for (int pass = 0; pass < 2; pass++) {
		kgb_jsonw_key(w, pass == 0 ? "cases" : "ablation");
		kgb_jsonw_array(w);
		for (size_t i = 0; i < verdict->n_ablations; i++) {
			const struct kgb_ablation_run *run = &verdict->ablations[i];
			if ((run->kernel == NULL) != (pass == 0))
				continue;
			kgb_jsonw_put(w, "{case: %s", run->case_name);
			if (run->kernel)
				kgb_jsonw_kstr(w, "kernel", run->kernel);
			kgb_jsonw_put(w, "broken: %hhd}", run->broken);
		}
		kgb_jsonw_array_end(w);
	}
	kgb_jsonw_put(w, "}, launches: {");
	for (size_t i = 0; i < verdict->n_kernels; i++)
		kgb_jsonw_ki64(w, verdict->kernels[i].name, verdict->kernels[i].count);
	kgb_jsonw_put(w, "}, inline_ptx: %ld, recalled: {truths: %ld, proofs: %ld}",
		      verdict->n_inline_ptx, verdict->n_truths_recalled,
		      verdict->n_proofs_recalled);
}

static void write_conditions(const struct kgb_conditions *conditions, struct kgb_jsonw *w)
{
	size_t shown = 0;

	kgb_jsonw_put(w, "conditions: {total: %zu, uncovered: [", conditions->n);
	for (size_t i = 0; i < conditions->n; i++) {
		const struct kgb_exec_condition *condition = &conditions->items[i];
		if (kgb_condition_is_uncovered(condition) && shown++ < CONDITIONS_SHOWN)
			kgb_jsonw_put(w, "{line: %ld, never: %s}", (int64_t)condition->line,
				      kgb_condition_missing(condition));
	}
	kgb_jsonw_put(w, "]}");
}

/* Write the mean over all cases; if one case has no speedup, the operator has none. */
static void write_speedup(const struct kgb_verdict *verdict, struct kgb_jsonw *w)
{
	struct kgb_interval speedups[KGB_VERDICT_TIMINGS_MAX];
	double common[KGB_VERDICT_TIMINGS_MAX]; /* the cases share their processes */

	for (size_t i = 0; i < verdict->n_timings; i++) {
		speedups[i] = verdict->timings[i].speedup;
		common[i] = verdict->timings[i].process_reach;
	}
	kgb_interval_write(w, "speedup", kgb_geometric_mean(speedups, common, verdict->n_timings));
}

static void write_notes(const struct kgb_notes *notes, struct kgb_jsonw *w)
{
	kgb_jsonw_put(w, "noted: {total: %ld, places: [", notes->n_seen);
	for (size_t i = 0; i < notes->n; i++)
		kgb_jsonw_put(w, "{code: %s, line: %ld, message: %s}",
			      kgb_code_name(notes->items[i].code), (int64_t)notes->items[i].line,
			      notes->items[i].message);
	kgb_jsonw_put(w, "]}");
}

static void write_timing(const struct kgb_verdict *verdict, struct kgb_jsonw *w)
{
	kgb_jsonw_put(w, "timing: {comparable: %hhd, reason: %s", verdict->timing_comparable,
		      verdict->timing_reason);
	if (verdict->timing_comparable) {
		kgb_jsonw_kstr(w, "baseline", verdict->timing_baseline);
		kgb_jsonw_kstr(w, "precision", verdict->timing_precision);
		write_speedup(verdict, w);
	}
	if (verdict->has_machine) {
		kgb_jsonw_key(w, "machine");
		kgb_gpu_peak_write(&verdict->machine, w);
	}
	kgb_jsonw_put(w, "cases: [");
	for (size_t i = 0; i < verdict->n_timings; i++)
		kgb_jsonw_raw(w, verdict->timings[i].json);
	kgb_jsonw_put(w, "]}");
}

/* Null where no device was measured. */
static void write_timed_cases(const struct kgb_verdict *verdict, struct kgb_jsonw *w)
{
	kgb_jsonw_key(w, "timed_cases");
	if (!verdict->timing_comparable || verdict->n_timings == 0) {
		kgb_jsonw_null(w);
		return;
	}
	kgb_jsonw_object(w);
	for (size_t i = 0; i < verdict->n_timings; i++) {
		kgb_jsonw_key(w, verdict->timings[i].case_name);
		kgb_jsonw_raw(w, verdict->timings[i].rates);
	}
	kgb_jsonw_object_end(w);
}

/* Null where there is no GPU. */
static void write_health(const struct kgb_verdict *verdict, struct kgb_jsonw *w)
{
	const struct kgb_gpu_health *health = &verdict->health;

	kgb_jsonw_key(w, "gpu_health");
	if (kgb_str_eq(verdict->platform, "cpu")) {
		kgb_jsonw_null(w);
		return;
	}
	kgb_jsonw_put(w, "{tested: %hhd", health->tested);
	if (health->tested)
		kgb_jsonw_kbool(w, "well", health->well);
	else
		kgb_jsonw_knull(w, "well");
	kgb_jsonw_put(w, "wall_ms: %ld, notes: [", health->wall_ms);
	for (size_t i = 0; i < health->n_notes; i++)
		kgb_jsonw_str(w, health->notes[i]);
	kgb_jsonw_put(w, "]}");
}

static void write_environment(const struct kgb_verdict *verdict, struct kgb_jsonw *w)
{
	write_health(verdict, w);
	kgb_jsonw_key(w, "isolation");
	if (verdict->has_isolation)
		kgb_isolation_write(&verdict->isolation, w);
	else
		kgb_jsonw_null(w);
	kgb_jsonw_put(w, "versions: {judge: %s, python: %s, torch: %s, triton: %s}", KGB_VERSION,
		      verdict->python[0] ? verdict->python : NULL,
		      verdict->torch[0] ? verdict->torch : NULL,
		      verdict->triton[0] ? verdict->triton : NULL);
}

void kgb_verdict_write(const struct kgb_verdict *verdict, struct kgb_buf *out)
{
	char seed[2 * sizeof(verdict->seed.bytes) + 1];
	char started[KGB_TIME_LEN];
	struct kgb_jsonw w;

	kgb_hex(verdict->seed.bytes, sizeof(verdict->seed.bytes), seed);
	kgb_time_format(verdict->started_wall_ms, started);
	kgb_jsonw_init(&w, out, 0);
	kgb_jsonw_put(&w, "{schema: %s, operator: %s, platform: %s, mode: %s", KGB_VERDICT_SCHEMA,
		      verdict->operator_name, verdict->platform,
		      verdict->final_mode ? "final" : "agent");
	kgb_jsonw_put(&w, "status: %s, code: %s, stage: %s, message: %s",
		      kgb_status_name(verdict->status), kgb_code_name(verdict->code),
		      verdict->code ? kgb_stage_name(verdict->decided_by) : NULL, verdict->message);
	kgb_jsonw_put(&w, "hint: %s, kernel_sha256: %s, spec_sha256: %s, seed: %s", verdict->hint,
		      verdict->kernel_sha256, verdict->spec_sha256, seed);
	kgb_jsonw_put(&w, "started: %s, wall_ms: %ld", started, verdict->wall_ms);
	write_stages(verdict, &w);
	write_phases(verdict, &w);
	write_tests(verdict, &w);
	write_notes(&verdict->notes, &w);
	kgb_jsonw_put(&w, "failures: [");
	for (size_t i = 0; i < verdict->n_failures; i++)
		write_failure(&verdict->failures[i], &w);
	kgb_jsonw_put(&w, "], deterministic: %hhd", verdict->deterministic);
	write_closest(&verdict->closest, &w);
	kgb_jsonw_put(
		&w,
		"nondeterministic_tests: %ld, gpu_replayed_tests: %ld, sandbox_judged_tests: %ld",
		verdict->n_nondeterministic, verdict->n_replayed_on_gpu, verdict->n_in_sandbox);
	write_conditions(&verdict->conditions, &w);
	write_ablations(verdict, &w);
	write_timing(verdict, &w);
	write_timed_cases(verdict, &w);
	write_environment(verdict, &w);
	kgb_jsonw_object_end(&w);
}
