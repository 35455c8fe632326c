/* SPDX-License-Identifier: MIT */
/** \file
 * Stage correctness: every case twice, under different poison and at different addresses, by
 * replay but for the interpreter. The cheapest case is judged first, then the others, spread over
 * lanes.
 */
#include "verify/stages/stage_correctness.h"

#include "base/str.h"
#include "base/time.h"
#include "verify/lane/reached.h"
#include "verify/stages/lanes.h"
#include "verify/stages/stages.h"

enum { CASES_PER_LANE = 6 };

const struct kgb_case *kgb_correctness_case(const struct kgb_lane *lane,
					    const struct kgb_correctness *work, size_t turn)
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

/* Where calls are replayed the record has the launches: one that came to these ends may have made
 * none. */
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
	const bool launched = lane->launched || lane->judge->spec.triton == KGB_TRITON_NONE ||
			      (kgb_judge_replays(lane->judge->options) && !may_lack_launch(code));
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

/* A dead runner, a cheat, trouble of ours, and the end of the verification's time. */
static bool ends_all(const struct kgb_lane *lane, const struct kgb_failure *failure)
{
	return lane->runner.end != KGB_WORKER_ALIVE ||
	       kgb_code_status(failure->code) == KGB_STATUS_CHEATED ||
	       kgb_code_status(failure->code) == KGB_STATUS_INFRA_ERROR ||
	       kgb_mono_ms() >= lane->deadline_ms;
}

void kgb_case_settle(struct kgb_lane *lane, struct kgb_correctness *work, size_t turn,
		     struct kgb_failure *failure)
{
	const struct kgb_case *c = kgb_correctness_case(lane, work, turn);

	count_case(lane, c, failure ? failure->code : KGB_CODE_NONE);
	if (failure) {
		failure->turn = turn;
		record_failure(lane, c, failure);
	}
	kgb_case_queue_note(&work->queue, failure != NULL, failure && ends_all(lane, failure));
}

int kgb_correctness_load(struct kgb_lane *lane, struct kgb_err *err)
{
	struct kgb_failure failure = {0};
	int rc = kgb_lane_load(lane, &failure, err);

	if (rc == 1)
		kgb_verdict_decide(lane->verdict, KGB_STAGE_CORRECTNESS, &failure);
	return rc;
}

static int run_lane(struct kgb_lane *lane, size_t number, void *payload, struct kgb_err *err)
{
	struct kgb_correctness *work = payload;
	int rc = kgb_judge_replays(lane->judge->options)
			 ? kgb_correctness_by_replays(lane, number, work, err)
			 : kgb_correctness_by_calls(lane, number, work, err);

	if (rc != 0)
		kgb_case_queue_stop(&work->queue);
	return rc;
}

/* The layer that found it: what the record of the candidate's work shows is l3. */
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

/* The decisive failure: a cheat before everything else, what is wrong before what could not be
 * found out, else the first. */
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

static int judge_all(struct kgb_lane *lane, struct kgb_err *err)
{
	KGB_AUTO(free) size_t *order = kgb_xcalloc(lane->judge->cases.n + 1, sizeof(*order));
	struct kgb_correctness work = {.first = lane, .order = order};
	struct kgb_seats seats;

	kgb_case_order(&lane->judge->cases, order);
	kgb_case_queue_init(&work.queue, lane->judge->cases.n,
			    (int)lane->judge->options->request.max_failures);
	work.queue.n_lanes = kgb_lanes_count(lane->judge, CASES_PER_LANE, &seats);
	int rc = kgb_lanes_run(lane, work.queue.n_lanes, run_lane, &work, err);
	kgb_seats_give(&seats);
	kgb_case_queue_release(&work.queue);
	return rc;
}

int kgb_stage_correctness(struct kgb_lane *lane, struct kgb_err *err)
{
	if (lane->judge->options->device != KGB_DEVICE_CPU &&
	    kgb_lane_take_gpu(lane, KGB_STAGE_CORRECTNESS, false) != 0)
		return 1;
	int rc = judge_all(lane, err);
	/* A cheat that one lane found counts, whatever another one met with. */
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
