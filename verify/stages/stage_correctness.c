/* SPDX-License-Identifier: MIT */
/** \file
 * Stage correctness: every case is recorded in a runner, then replayed twice, under different
 * poison and at different addresses. The cheapest case is judged first, then the others, spread
 * over lanes. On a GPU lanes share the process that replays and the reference, because contexts
 * there are expensive; on the CPU each has its own.
 */
#include <pthread.h>

#include "base/str.h"
#include "base/time.h"
#include "verify/lane/case_judge.h"
#include "verify/lane/reached.h"
#include "verify/provenance/provenance.h"
#include "verify/replay/replay.h"
#include "verify/stages/benchmark.h"
#include "verify/stages/case_queue.h"
#include "verify/stages/lanes.h"
#include "verify/stages/stages.h"

enum { CASES_PER_LANE = 6, CASES_PER_CONTEXT = 48 };

/* What all lanes of the stage share. */
struct work {
	struct kgb_case_queue queue;
	const struct kgb_lane *first; /* lane 0 */
	const size_t *order; /* numbers of the cases in the order of their turns */
	const size_t *benchmarks; /* numbers of the benchmarks, the largest first */
};

static const struct kgb_case *case_of(const struct kgb_lane *lane, const struct work *work,
				      size_t turn)
{
	return &lane->judge->cases.items[work->order[turn]];
}

static void record_failure(struct kgb_lane *lane, const struct kgb_case *c,
			   struct kgb_failure *failure)
{
	struct kgb_verdict *verdict = lane->verdict;
	KGB_AUTO(buf) struct kgb_buf inputs = KGB_BUF_INIT(4096);

	kgb_case_describe(c, &inputs);
	failure->case_name = kgb_lane_text(lane, "%s", c->name);
	failure->interface = kgb_lane_text(lane, "%s", c->interface->entry);
	failure->inputs = kgb_lane_text(lane, "%s", inputs.ptr);
	kgb_verdict_add_failure(verdict, failure);
}

/* Whether a call on a GPU that failed with this code may have launched nothing: runners there count
 * no launches. */
static bool may_lack_launch(enum kgb_code code)
{
	static const enum kgb_code codes[] = {
		KGB_CODE_VERIFY_EXCEPTION, KGB_CODE_VERIFY_EXIT, KGB_CODE_VERIFY_CRASH,
		KGB_CODE_VERIFY_TIMEOUT,   KGB_CODE_VERIFY_OOM,  KGB_CODE_VERIFY_PROTOCOL,
		KGB_CODE_VERIFY_RETURN,
	};

	return kgb_code_is_among(code, codes, KGB_ARRAY_LEN(codes));
}

static void count_case(struct kgb_lane *lane, const struct kgb_case *c, enum kgb_code code)
{
	const bool on_gpu = lane->judge->options->device != KGB_DEVICE_CPU;
	const bool launched = lane->launched || lane->judge->spec.triton == KGB_TRITON_NONE ||
			      (on_gpu && !may_lack_launch(code));
	const struct kgb_tally one = {.passed = code == KGB_CODE_NONE,
				      .failed = code != KGB_CODE_NONE};
	struct kgb_interface_count count = {
		.passed = one.passed,
		.failed = one.failed,
		.best = kgb_reached_by_case(code, launched),
	};

	count.tiers[c->tier] = count.modes[c->mode] = count.dtypes[c->dtype] = one;
	lane->launched = false;
	lane->verdict->passed_tests += one.passed;
	lane->verdict->failed_tests += one.failed;
	kgb_interface_count_add(
		&lane->verdict->interfaces[c->interface - lane->judge->spec.interfaces], &count);
}

/* Whether a failure ends the verification: the runner is dead, a call did not end (others will not
 * either), the candidate cheats, the judge has a fault, or the verification's time is over. */
static bool ends_all(const struct kgb_lane *lane, const struct kgb_failure *failure)
{
	return lane->runner.end != KGB_WORKER_ALIVE || failure->code == KGB_CODE_VERIFY_TIMEOUT ||
	       kgb_code_status(failure->code) == KGB_STATUS_CHEATED ||
	       kgb_code_status(failure->code) == KGB_STATUS_INFRA_ERROR ||
	       kgb_mono_ms() >= kgb_lane_deadline(lane);
}

/* Count the case of this turn as passed (failure NULL) or failed, in the queue too. */
static void settle(struct kgb_lane *lane, struct work *work, size_t turn,
		   struct kgb_failure *failure)
{
	const struct kgb_case *c = case_of(lane, work, turn);

	count_case(lane, c, failure ? failure->code : KGB_CODE_NONE);
	if (failure) {
		failure->turn = turn;
		record_failure(lane, c, failure);
	}
	kgb_case_queue_note(&work->queue, failure != NULL, failure && ends_all(lane, failure));
}

/* 0, 1 decided (the candidate does not load), -1 *err. */
static int load(struct kgb_lane *lane, const struct kgb_case *c, struct kgb_err *err)
{
	struct kgb_failure failure = {0};
	int rc = kgb_lane_load(lane, c, &failure, err);

	if (rc == 1 && c->style.without_asserts)
		failure.message = kgb_lane_text(
			lane, "%s; kernel.py without asserts and docstrings, as by python -OO",
			failure.message);
	if (rc == 1)
		kgb_verdict_decide(lane->verdict, KGB_STAGE_CORRECTNESS, &failure);
	return rc;
}

static int record_and_replay(struct kgb_lane *lane, const struct kgb_case_data *data,
			     struct kgb_failure *failure, struct kgb_err *err)
{
	const bool only_recorded = lane->only_records;
	struct kgb_recorded recorded;
	int rc = kgb_replay_record(lane, data, &recorded, failure, err);

	if (rc == 0)
		rc = kgb_replay_check(lane, &recorded, failure, err);
	kgb_recorded_release(&recorded);
	if (rc != 1 || lane->only_records == only_recorded)
		return rc;
	/* A kernel has to be launched: start again, with launches. The call that stopped halfway
	 * may have left the candidate's own state half made. */
	kgb_worker_stop(&lane->runner);
	rc = kgb_lane_load(lane, data->kase, failure, err);
	return rc == 0 ? record_and_replay(lane, data, failure, err) : rc;
}

/* 0 judged, 1 decided, -1 *err. */
static int judge_case(struct kgb_lane *lane, struct work *work, size_t turn, struct kgb_err *err)
{
	struct kgb_case_data data;
	struct kgb_failure failure = {0};
	int rc = load(lane, case_of(lane, work, turn), err);

	if (rc != 0)
		return rc;
	kgb_lane_fill(lane, &data, case_of(lane, work, turn), 0);
	rc = kgb_lane_fetch_truth(lane, &data, err);
	/* Where nothing is computed there is nothing to replay: shape and type come from the
	 * runner's reply (docs/gpu.md). */
	if (rc == 0)
		rc = kgb_case_computes(lane->judge, &data)
			     ? record_and_replay(lane, &data, &failure, err)
			     : kgb_case_judge(lane, &data, &failure, err);
	if (rc >= 0)
		settle(lane, work, turn, rc == 0 ? NULL : &failure);
	kgb_case_data_release(&data);
	return rc < 0 ? -1 : 0;
}

/* Lane 0, after its first case: begin to start the processes for timing, unless something failed.
 * They end with the thread that starts them, and that of lane 0 goes on. 0, -1 *err. */
static int begin_timing(struct kgb_lane *lane, size_t number, struct work *work,
			struct kgb_err *err)
{
	const uint32_t most = kgb_benchmark_level(lane->judge)->max_processes;

	if (number > 0 || work->queue.n_benchmarks == 0 || kgb_case_queue_has_failed(&work->queue))
		return 0;
	return kgb_timing_processes_begin(
		&work->first->benchmarks->processes, lane,
		KGB_TIMING_PAIRS_STARTED < most ? KGB_TIMING_PAIRS_STARTED : most, err);
}

static int judge_cases(struct kgb_lane *lane, size_t number, bool from_end, struct work *work,
		       struct kgb_err *err)
{
	struct kgb_case_share share = {.from_end = from_end};
	size_t turn, n_judged = 0;
	int rc = 0;

	while (rc == 0 && (turn = kgb_case_queue_take(&work->queue, &share)) < work->queue.n) {
		rc = judge_case(lane, work, turn, err);
		if (rc == 0 && n_judged++ == 0)
			rc = begin_timing(lane, number, work, err);
	}
	return rc;
}

/* Prepare benchmarks until there are none. */
static void prepare_benchmarks(struct kgb_lane *lane, struct work *work)
{
	struct kgb_benchmarks *benchmarks = work->first->benchmarks;
	size_t i;

	if (work->queue.n_benchmarks == 0)
		return;
	while ((i = kgb_case_queue_take_benchmark(&work->queue)) < benchmarks->n) {
		struct kgb_benchmark *b = &benchmarks->items[work->benchmarks[i]];
		kgb_benchmark_prepare(lane, b);
		if (b->state == KGB_BENCHMARK_REFUSED || b->state == KGB_BENCHMARK_BROKEN)
			kgb_case_queue_end_benchmarks(&work->queue);
	}
}

/* The case whose runner a lane starts first: the last one in the lane's part of the order, if all
 * parts are equal; for lane 0 the first case. */
static const struct kgb_case *early_case(const struct kgb_lane *lane, size_t number,
					 const struct work *work)
{
	const struct kgb_case_queue *queue = &work->queue;

	return case_of(lane, work, number == 0 ? 0 : (number + 1) * queue->n / queue->n_lanes - 1);
}

/* Judge cases from the queue until there are none. Lane 0 makes what the others share. Lanes that
 * start another runner than lane 0 take cases from the end. 0 done, 1 decided, -1 *err. */
static int judge_in_lane(struct kgb_lane *lane, size_t number, struct work *work,
			 struct kgb_err *err)
{
	const bool on_gpu = lane->judge->options->device != KGB_DEVICE_CPU;
	const bool owns = number == 0 || !on_gpu;
	const struct kgb_case *c = early_case(lane, number, work);
	const bool from_end =
		c->style.without_asserts != case_of(lane, work, 0)->style.without_asserts;

	const bool is_new = !lane->replay; /* lane 0 may have judged other cases before */
	const int64_t n_inline_before =
		is_new ? 0 : kgb_provenance_n_inline(lane->replay->provenance);

	if (is_new && owns && kgb_replay_begin(lane, err) < 0)
		return -1;
	lane->only_records = lane->judge->spec.launches == KGB_LAUNCHES_FIXED;
	int rc = load(lane, c, err);
	if (rc != 0)
		return rc;
	if (is_new && owns && kgb_lane_start_reference(lane, err) < 0)
		return -1;
	if (is_new && on_gpu && number == 0 && kgb_gpu_facts_new(lane, err) < 0)
		return -1;
	if (number > 0 && !kgb_case_queue_wait_for_go(&work->queue))
		return 0;
	if (!owns)
		kgb_replay_borrow(lane, work->first);
	if (is_new)
		kgb_replay_new(lane);
	if (number == 0)
		kgb_case_queue_let_go(&work->queue);
	rc = judge_cases(lane, number, from_end, work, err);
	if (rc == 0)
		rc = kgb_replay_take_conditions(lane, err);
	if (rc == 0)
		rc = begin_timing(lane, number, work, err);
	if (rc == 0)
		prepare_benchmarks(lane, work);
	lane->verdict->n_inline_ptx +=
		kgb_provenance_n_inline(lane->replay->provenance) - n_inline_before;
	return rc;
}

static int run_lane(struct kgb_lane *lane, size_t number, void *payload, struct kgb_err *err)
{
	struct work *work = payload;
	int rc = judge_in_lane(lane, number, work, err);

	if (rc != 0)
		kgb_case_queue_stop(&work->queue);
	return rc;
}

/* The stage of a failure: l3 if the record of the candidate's work shows it. */
static enum kgb_stage stage_of(enum kgb_code code)
{
	static const enum kgb_code of_trace[] = {
		KGB_CODE_CHEAT_LIBRARY_COMPUTE, KGB_CODE_INFRA_RECOMPILE,
		KGB_CODE_VERIFY_RECORD,         KGB_CODE_VERIFY_HOST_DEPENDENT,
		KGB_CODE_VERIFY_NOT_REPLAYABLE, KGB_CODE_VERIFY_VARYING_PARAMETERS,
	};

	if (kgb_code_is_among(code, of_trace, KGB_ARRAY_LEN(of_trace)))
		return KGB_STAGE_L3;
	return code == KGB_CODE_CHEAT_NO_LAUNCH ? KGB_STAGE_L2 : KGB_STAGE_CORRECTNESS;
}

/* The decisive failure: the first cheat, else the first that is no infrastructure error, else the
 * first. */
static const struct kgb_failure *choose(const struct kgb_verdict *verdict)
{
	const struct kgb_failure *cheat = kgb_verdict_cheat(verdict);

	if (cheat)
		return cheat;
	for (size_t i = 0; i < verdict->n_failures; i++)
		if (kgb_code_status(verdict->failures[i].code) != KGB_STATUS_INFRA_ERROR)
			return &verdict->failures[i];
	return &verdict->failures[0];
}

/* The first turn that needs another runner than the first case; the number of turns if none does.
 */
static size_t find_border(const struct kgb_lane *lane, const struct work *work)
{
	size_t turn = 0;

	while (turn < work->queue.n && case_of(lane, work, turn)->style.without_asserts ==
					       case_of(lane, work, 0)->style.without_asserts)
		turn++;
	return turn;
}

/* The last lane to end has a small one then. */
static void order_benchmarks(const struct kgb_cases *cases, size_t *order)
{
	const struct kgb_case *benchmarks = &cases->items[cases->n];

	for (size_t i = 0; i < cases->n_benchmarks; i++) {
		size_t k = i;
		for (; k > 0 && kgb_case_elements(&benchmarks[order[k - 1]]) <
					kgb_case_elements(&benchmarks[i]);
		     k--)
			order[k] = order[k - 1];
		order[k] = i;
	}
}

static int judge_all(struct kgb_lane *lane, struct kgb_err *err)
{
	const struct kgb_cases *cases = &lane->judge->cases;
	KGB_AUTO(free) size_t *order = kgb_xcalloc(cases->n + 1, sizeof(*order));
	KGB_AUTO(free) size_t *benchmarks = kgb_xcalloc(cases->n_benchmarks + 1, sizeof(*order));
	KGB_AUTO(free) bool *follows = kgb_xcalloc(cases->n + 1, sizeof(*follows));
	struct work work = {.first = lane, .order = order, .benchmarks = benchmarks};
	struct kgb_seats seats;

	kgb_case_order(cases, order, follows);
	order_benchmarks(cases, benchmarks);
	kgb_case_queue_init(&work.queue, cases->n, (int)lane->judge->options->request.max_failures);
	work.queue.follows = follows;
	work.queue.border = find_border(lane, &work);
	if (lane->judge->options->device != KGB_DEVICE_CPU)
		work.queue.turns_for_a_runner = CASES_PER_CONTEXT;
	if (kgb_stage_timing_is_wanted(lane->judge) && !lane->benchmarks) {
		lane->benchmarks = kgb_benchmarks_new(lane->judge);
		work.queue.n_benchmarks = lane->benchmarks->n;
	}
	work.queue.n_lanes = kgb_lanes_count(lane->judge, CASES_PER_LANE, &seats);
	int rc = kgb_lanes_run(lane, work.queue.n_lanes, run_lane, &work, err);
	kgb_seats_give(&seats);
	kgb_case_queue_release(&work.queue);
	return rc;
}

/* ---- conditions ---- */

enum { CONDITIONS_SHOWN = 3, LINE_SHOWN = 100 };

/* Adds a line of kernel.py without its indentation. */
static void add_line(const struct kgb_judge *judge, uint32_t number, struct kgb_buf *out)
{
	const char *at = judge->source.ptr, *end = at + judge->source.len;

	for (; number > 1 && at < end; number--) {
		const char *next = memchr(at, '\n', (size_t)(end - at));
		at = next ? next + 1 : end;
	}
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	const char *stop = memchr(at, '\n', (size_t)(end - at));
	const size_t n = (size_t)((stop ? stop : end) - at);
	kgb_escape(out, at, n < LINE_SHOWN ? n : LINE_SHOWN);
}

static void describe(const struct kgb_judge *judge, const struct kgb_exec_condition *condition,
		     struct kgb_buf *out)
{
	kgb_buf_addf(out, "%skernel.py:%u: ", out->len > 0 ? "; " : "", condition->line);
	add_line(judge, condition->line, out);
	kgb_buf_addf(out, ": a condition here was never %s", kgb_condition_missing(condition));
}

/* Each condition must have been true and false: code behind an outcome that no case has was not
 * judged. */
int kgb_stage_correctness_refuse_uncovered(struct kgb_lane *lane)
{
	const struct kgb_conditions *conditions = &lane->verdict->conditions;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(2048);
	size_t n = 0;

	for (size_t i = 0; i < conditions->n; i++)
		if (kgb_condition_is_uncovered(&conditions->items[i]) && n++ < CONDITIONS_SHOWN)
			describe(lane->judge, &conditions->items[i], &text);
	return kgb_lane_decide(
		lane, KGB_STAGE_CORRECTNESS, KGB_CODE_COVERAGE_CONDITION,
		"Remove conditions on elements that come out the same for all valid inputs: what "
		"waits behind them cannot be judged.",
		"in all cases: %s", text.ptr);
}

int kgb_stage_correctness(struct kgb_lane *lane, struct kgb_err *err)
{
	if (kgb_lane_await_gpu(lane, KGB_STAGE_CORRECTNESS) != 0)
		return 1;
	int rc = judge_all(lane, err);
	/* A cheat that one lane found counts, even if another lane failed. */
	if (rc != 0 && !kgb_verdict_cheat(lane->verdict))
		return rc;
	if (lane->verdict->code)
		kgb_verdict_withdraw(lane->verdict);
	if (lane->verdict->failed_tests > 0) {
		const struct kgb_failure *failure = choose(lane->verdict);
		kgb_verdict_decide(lane->verdict, stage_of(failure->code), failure);
		return 1;
	}
	if (lane->verdict->passed_tests != lane->verdict->total_tests)
		return kgb_fail(err, KGB_ERR_FAILED, "only %lld of %lld cases were run",
				(long long)lane->verdict->passed_tests,
				(long long)lane->verdict->total_tests);
	return 0;
}
