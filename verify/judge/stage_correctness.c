/* SPDX-License-Identifier: MIT */
/** \file
 * Stage correctness: every case twice, under different poison and at different addresses. While the
 * runner computes one case, the reference computes the next.
 */
#include "base/time.h"
#include "verify/judge/call.h"
#include "verify/judge/judge.h"
#include "verify/judge/replay.h"

enum { REPETITIONS = 2, REFERENCE_MS = 120 * 1000 };

#define say(judge, ...) kgb_arena_printf(&(judge)->verdict->arena, __VA_ARGS__)

static struct kgb_interface_count *count_of(const struct kgb_judge *judge, const struct kgb_case *c)
{
	return &judge->verdict->interfaces[c->interface - judge->spec.interfaces];
}

/* The cheapest ordinary case goes first, so that a broken kernel is told so at once; the others
 * follow as listed. */
static void choose_order(const struct kgb_cases *cases, size_t *order)
{
	size_t smoke = 0;
	size_t n = 1;

	for (size_t i = 1; i < cases->n; i++) {
		const struct kgb_case *c = &cases->items[i];
		bool ordinary = c->mode == KGB_MODE_STANDARD && kgb_case_elements(c) > 0;
		if (ordinary && (kgb_case_elements(&cases->items[smoke]) == 0 ||
				 kgb_case_elements(c) < kgb_case_elements(&cases->items[smoke])))
			smoke = i;
	}
	order[0] = smoke;
	for (size_t i = 0; i < cases->n; i++)
		if (i != smoke)
			order[n++] = i;
}

/* ---- one case ---- */

/* Did the case need a kernel at all? Not when there is nothing to read or nothing to write. */
static bool needs_launch(const struct kgb_judge *judge, const struct kgb_data *data)
{
	const struct kgb_case *c = data->kase;
	bool writes = false;

	if (judge->spec.triton != KGB_TRITON_REQUIRED)
		return false;
	for (size_t i = 0; i < c->n_args; i++)
		if (c->args[i].param->kind == KGB_PARAM_TENSOR && !c->args[i].is_absent &&
		    kgb_view_numel(&c->args[i].view) == 0)
			return false;
	for (size_t i = 0; i < data->n_results; i++)
		writes |= kgb_view_numel(&data->results[i].view) > 0;
	return writes;
}

/* 0 right, 1 *failure, -1 *err. */
static int run_repetition(struct kgb_judge *judge, const struct kgb_data *data, int repetition,
			  struct kgb_call *call, struct kgb_failure *failure, struct kgb_err *err)
{
	const struct kgb_call_spec spec = {
		.repetition = repetition, .places = repetition, .keep = repetition > 0};
	int rc = kgb_call_run(judge, data, &spec, call, failure, err);

	if (rc != 0)
		return rc;
	for (uint32_t i = 0; i < call->reply.n_launches; i++)
		kgb_verdict_count_launches(judge->verdict, call->reply.launches[i].name,
					   call->reply.launches[i].count);
	if (!kgb_call_check(judge, data, call, failure))
		return 1;
	return kgb_call_check_values(judge, data, call, failure) ? 0 : 1;
}

static int run_case(struct kgb_judge *judge, const struct kgb_data *data,
		    struct kgb_failure *failure, struct kgb_err *err)
{
	struct kgb_call calls[REPETITIONS] = {0};
	int rc = 0;

	if (judge->replay && needs_launch(judge, data))
		return kgb_replay_check(judge, data, failure, err);
	for (int i = 0; i < REPETITIONS && rc == 0; i++)
		rc = run_repetition(judge, data, i, &calls[i], failure, err);
	if (rc == 0 && kgb_call_shares_memory(data, &calls[0], &calls[1])) {
		*failure = (struct kgb_failure){
			.code = "verify.alias",
			.message =
				"the result lies in the memory of an earlier result that is still in use",
			.hint = "Allocate a new tensor for every call; a buffer kept between calls changes results that "
				"the caller still holds.",
		};
		rc = 1;
	}
	if (rc == 0 && !kgb_call_same_bits(data, &calls[0], &calls[1])) {
		judge->verdict->deterministic = false;
		judge->verdict->n_nondeterministic++;
	}
	if (rc == 0 && !judge->no_launch_case && calls[0].reply.n_launches == 0 &&
	    needs_launch(judge, data))
		judge->no_launch_case = data->kase->name;
	for (int i = 0; i < REPETITIONS; i++)
		kgb_call_release(&calls[i]);
	return rc;
}

static void record_failure(struct kgb_judge *judge, const struct kgb_case *c,
			   struct kgb_failure *failure)
{
	struct kgb_verdict *verdict = judge->verdict;
	KGB_AUTO(buf) struct kgb_buf inputs = KGB_BUF_INIT(4096);

	kgb_case_describe(c, &inputs);
	failure->case_name = say(judge, "%s", c->name);
	failure->interface = say(judge, "%s", c->interface->entry);
	failure->inputs = say(judge, "%s", inputs.ptr);
	verdict->failed_tests++;
	count_of(judge, c)->failed++;
	if (verdict->n_failures < KGB_VERDICT_FAILURES_MAX)
		verdict->failures[verdict->n_failures++] = *failure;
}

/* ---- all cases ---- */

static int ask(struct kgb_judge *judge, const struct kgb_data *data, struct kgb_err *err)
{
	return kgb_data_ask(data, &judge->reference, &judge->reference_memory, true,
			    kgb_mono_ms() + REFERENCE_MS, err);
}

/* One step of the pipeline: the truth of `data` is asked for already; ask for that of `next` before
 * running. */
static int run_step(struct kgb_judge *judge, struct kgb_data *data, const struct kgb_data *next,
		    struct kgb_err *err)
{
	int64_t deadline = kgb_mono_ms() + REFERENCE_MS;
	struct kgb_failure failure = {0};

	if (kgb_data_learn(data, &judge->reference, &judge->reference_memory, true, deadline, err) <
	    0)
		return -1;
	/* A replay asks the reference too: then there is no asking ahead. */
	if (next && !judge->replay && ask(judge, next, err) < 0)
		return -1;
	int rc = run_case(judge, data, &failure, err);
	if (rc < 0 || (next && judge->replay && ask(judge, next, err) < 0))
		return -1;
	if (rc == 0) {
		judge->verdict->passed_tests++;
		count_of(judge, data->kase)->passed++;
		return 0;
	}
	record_failure(judge, data->kase, &failure);
	return 0;
}

/* A dead runner, a cheat and enough failures end the stage. */
static bool is_over(const struct kgb_judge *judge)
{
	const struct kgb_verdict *verdict = judge->verdict;

	if (judge->runner.end != KGB_WORKER_ALIVE ||
	    verdict->failed_tests >= judge->options->max_failures)
		return true;
	return verdict->n_failures > 0 && strncmp(verdict->failures[verdict->n_failures - 1].code,
						  "cheat.", strlen("cheat.")) == 0;
}

static int run_cases(struct kgb_judge *judge, const size_t *order, struct kgb_err *err)
{
	const struct kgb_cases *cases = &judge->cases;
	struct kgb_data data[2] = {0};
	int rc = 0;

	kgb_data_fill(&data[0], &cases->items[order[0]], &judge->verdict->seed, 0);
	rc = ask(judge, &data[0], err);
	for (size_t i = 0; i < cases->n && rc == 0 && !is_over(judge); i++) {
		struct kgb_data *next = i + 1 < cases->n ? &data[(i + 1) % 2] : NULL;
		if (next)
			kgb_data_fill(next, &cases->items[order[i + 1]], &judge->verdict->seed, 0);
		rc = run_step(judge, &data[i % 2], next, err);
		kgb_data_release(&data[i % 2]);
	}
	kgb_data_release(&data[0]);
	kgb_data_release(&data[1]);
	return rc;
}

/* The decisive failure: a cheat before everything else, else the first. */
static void decide(struct kgb_judge *judge)
{
	struct kgb_verdict *verdict = judge->verdict;
	const struct kgb_failure *chosen = &verdict->failures[0];

	for (size_t i = 0; i < verdict->n_failures; i++)
		if (strncmp(verdict->failures[i].code, "cheat.", strlen("cheat.")) == 0)
			chosen = &verdict->failures[i];
	kgb_verdict_decide(verdict, KGB_STAGE_CORRECTNESS, chosen);
}

static int run_stage(struct kgb_judge *judge, struct kgb_err *err)
{
	KGB_AUTO(free) size_t *order = kgb_xcalloc(judge->cases.n + 1, sizeof(*order));
	struct kgb_failure failure = {0};

	if (judge->options->device != KGB_DEVICE_CPU &&
	    kgb_lease_take(&judge->lease, judge->options->device, false, judge->deadline_ms, err) <
		    0)
		return -1;
	int rc = kgb_judge_load(judge, &failure, err);
	if (rc == 1)
		kgb_verdict_decide(judge->verdict, KGB_STAGE_CORRECTNESS, &failure);
	if (rc != 0)
		return rc;
	if (kgb_judge_start_reference(judge, err) < 0)
		return -1;
	if (judge->options->device != KGB_DEVICE_CPU && kgb_replay_new(judge, err) < 0)
		return -1;
	choose_order(&judge->cases, order);
	if (run_cases(judge, order, err) < 0)
		return -1;
	if (judge->verdict->failed_tests > 0) {
		decide(judge);
		return 1;
	}
	if (judge->verdict->passed_tests != judge->verdict->total_tests)
		return kgb_fail(err, KGB_ERR_FAILED, "only %lld of %lld cases were run",
				(long long)judge->verdict->passed_tests,
				(long long)judge->verdict->total_tests);
	return 0;
}

int kgb_stage_correctness(struct kgb_judge *judge)
{
	struct kgb_stage_result *stage = &judge->verdict->stages[KGB_STAGE_CORRECTNESS];
	struct kgb_err err = KGB_ERR_INIT;
	int64_t started_ms = kgb_mono_ms();
	int rc = run_stage(judge, &err);

	stage->wall_ms = kgb_mono_ms() - started_ms;
	if (rc == 0)
		stage->status = KGB_STAGE_PASSED;
	if (rc < 0)
		kgb_verdict_decide_infra(judge->verdict, KGB_STAGE_CORRECTNESS, "infra.correctness",
					 &err);
	return rc == 0 ? 0 : 1;
}
