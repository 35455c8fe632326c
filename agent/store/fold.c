/* SPDX-License-Identifier: MIT */
#include "agent/store/state.h"

#include <inttypes.h>
#include <math.h>

#include "agent/store/chains.h"
#include "agent/store/events_json.h"
#include "base/codes.h"
#include "base/formats/json.h"
#include "base/formats/jsonw.h"
#include "base/limits.h"
#include "base/str.h"

#define KGB_OP_OF(status) (KGB_OP_PASSED + KGB_STATUS_##status - KGB_STATUS_PASSED)
_Static_assert(KGB_OP_PASSED == KGB_OP_OF(PASSED) && KGB_OP_FAILED == KGB_OP_OF(FAILED) &&
		       KGB_OP_REFUSED == KGB_OP_OF(REFUSED) &&
		       KGB_OP_CHEATED == KGB_OP_OF(CHEATED) &&
		       KGB_OP_TIMEOUT == KGB_OP_OF(TIMEOUT) && KGB_OP_BUDGET == KGB_OP_OF(BUDGET) &&
		       KGB_OP_CANCELLED == KGB_OP_OF(CANCELLED) &&
		       KGB_OP_INFRA_ERROR == KGB_OP_OF(INFRA_ERROR) &&
		       KGB_OP_N_STATUSES == KGB_OP_PASSED + KGB_N_STATUSES - KGB_STATUS_PASSED,
	       "operators end as codes do");

static const char *const run_end_names[] = {
	[KGB_RUN_COMPLETED] = "completed",
	[KGB_RUN_INTERRUPTED] = "interrupted",
	[KGB_RUN_BUDGET] = "budget",
	[KGB_RUN_FAILED] = "failed",
};
_Static_assert(KGB_ARRAY_LEN(run_end_names) == KGB_RUN_N_ENDS, "a name for each end");

const char *kgb_op_status_name(enum kgb_op_status status)
{
	static const char *const unfinished[KGB_OP_PASSED] = {
		[KGB_OP_PLANNED] = "planned",     [KGB_OP_RUNNING] = "running",
		[KGB_OP_RETRYING] = "retrying",   [KGB_OP_GENERATED] = "generated",
		[KGB_OP_VERIFYING] = "verifying",
	};

	return status < KGB_OP_PASSED ? unfinished[status]
				      : kgb_status_name((enum kgb_status)(KGB_STATUS_PASSED +
									  status - KGB_OP_PASSED));
}

enum kgb_op_status kgb_op_status_of(enum kgb_status status)
{
	return (enum kgb_op_status)(KGB_OP_PASSED + status - KGB_STATUS_PASSED);
}

bool kgb_op_status_is_final(enum kgb_op_status status)
{
	return status >= KGB_OP_PASSED;
}

const char *kgb_run_end_name(enum kgb_run_end end)
{
	return run_end_names[end];
}

static const char *op_status_name_of(int value)
{
	return kgb_op_status_name((enum kgb_op_status)value);
}

static const char *run_end_name_of(int value)
{
	return run_end_names[value];
}

static const char *agent_end_name_of(int value)
{
	return kgb_agent_end_code((enum kgb_agent_end)value);
}

/* The status of an operator whose last attempt ended this way without a kernel: an agent that ends
 * well fails. */
static enum kgb_op_status status_without_kernel(enum kgb_agent_end end)
{
	const enum kgb_status status = kgb_agent_end_status(end);

	return status == KGB_STATUS_NONE ? KGB_OP_FAILED : kgb_op_status_of(status);
}

void kgb_run_state_release(struct kgb_run_state *state)
{
	kgb_arena_release(&state->arena);
	*state = (struct kgb_run_state)KGB_RUN_STATE_INIT;
}

void kgb_auto_run_state(struct kgb_run_state *state)
{
	kgb_run_state_release(state);
}

struct kgb_op_state *kgb_run_state_op(const struct kgb_run_state *state, const char *name)
{
	for (size_t i = 0; i < state->n_ops; i++)
		if (kgb_str_eq(state->ops[i].name, name))
			return &state->ops[i];
	return NULL;
}

bool kgb_op_is_replaced(const struct kgb_op_state *op)
{
	return op->has_verdict && op->made_sha256 &&
	       !kgb_str_eq(op->kernel_sha256, op->made_sha256);
}

struct kgb_attempt_state *kgb_op_last_attempt(const struct kgb_op_state *op)
{
	return op->n_attempts > 0 ? &op->attempts[op->n_attempts - 1] : NULL;
}

const struct kgb_round *kgb_attempt_best_round(const struct kgb_attempt_state *attempt)
{
	const struct kgb_round *best = NULL;
	for (size_t i = 0; i < attempt->n_rounds; i++)
		if (attempt->rounds[i].kept)
			best = &attempt->rounds[i];
	return best;
}

/** Room for one more item in an arena array that grows at powers of two. */
static void *grow(struct kgb_arena *arena, void *items, size_t n, size_t size)
{
	if (n > 0 && (n & (n - 1)) != 0)
		return items;
	void *bigger = kgb_arena_array(arena, n > 0 ? 2 * n : 1, size);
	if (items)
		memcpy(bigger, items, n * size);
	return bigger;
}

/** One record under way into the state. */
struct folding {
	struct kgb_run_state *state;
	struct kgb_arena *arena; /* the state's; NULL: only find out whether the record fits */
	const cJSON *data;
	int64_t time_ms;
	struct kgb_op_state *op; /* of the record; NULL: it is about the run */
	struct kgb_attempt_state *attempt; /* NULL: it names none */
	struct kgb_err *err;
};

/** A string member in the state's memory; NULL when it is missing or null. */
static const char *member_of(const struct folding *f, const cJSON *node, const char *key)
{
	const char *text = kgb_json_str(node, key, NULL);
	return text ? kgb_arena_strdup(f->arena, text) : NULL;
}

static const char *text_of(const struct folding *f, const char *key)
{
	return member_of(f, f->data, key);
}

static int find_op(struct folding *f)
{
	const char *name = kgb_json_str(f->data, "operator", "");
	f->op = kgb_run_state_op(f->state, name);
	if (!f->op)
		return kgb_fail(f->err, KGB_ERR_INVALID, "operator '%s' was never planned", name);
	return 0;
}

static int find_attempt(struct folding *f)
{
	if (find_op(f) < 0)
		return -1;
	int64_t number = kgb_json_i64(f->data, "attempt", -1);
	f->attempt = kgb_op_last_attempt(f->op);
	if (!f->attempt || f->attempt->number != number)
		return kgb_fail(f->err, KGB_ERR_INVALID,
				"attempt %" PRId64 " of '%s' is not the one under way", number,
				f->op->name);
	if (f->attempt->ended_ms >= 0)
		return kgb_fail(f->err, KGB_ERR_INVALID,
				"attempt %" PRId64 " of '%s' has ended already", number,
				f->op->name);
	return 0;
}

static void set_status(struct kgb_op_state *op, enum kgb_op_status status, const char *code,
		       const char *message)
{
	op->status = status;
	op->error_code = code;
	op->error_message = message;
}

/** A process that died left its attempts and verifications open: they are lost. */
static void close_lost(struct kgb_run_state *state)
{
	for (size_t i = 0; i < state->n_ops; i++) {
		struct kgb_op_state *op = &state->ops[i];
		struct kgb_attempt_state *attempt = kgb_op_last_attempt(op);
		if (attempt && attempt->ended_ms < 0) {
			attempt->ended_ms = state->updated_ms;
			attempt->end = KGB_AGENT_NOT_STARTED;
			attempt->retry = true;
			attempt->error_code = kgb_code_name(KGB_CODE_INFRA_LOST);
			attempt->error_message = "kgb-agent ended before the attempt did";
			set_status(op, KGB_OP_RETRYING, NULL, NULL);
		} else if (op->status == KGB_OP_VERIFYING) {
			set_status(op, KGB_OP_GENERATED, NULL, NULL);
		}
	}
}

/** The duration of the last start, up to its last record if it did not end. */
static int64_t last_start_ms(const struct kgb_run_state *state)
{
	if (state->started_ms == 0)
		return 0;
	return (state->finished ? state->ended_ms : state->updated_ms) - state->started_ms;
}

int64_t kgb_run_wall_ms(const struct kgb_run_state *state)
{
	return state->earlier_ms + last_start_ms(state);
}

static int fold_run_started(struct folding *f)
{
	if (!kgb_json_str(f->data, "run", NULL))
		return kgb_fail(f->err, KGB_ERR_INVALID, "'run' is missing");
	if (!f->arena)
		return 0;
	close_lost(f->state);
	if (!f->state->skip_gen)
		f->state->active_ms += last_start_ms(f->state);
	f->state->earlier_ms += last_start_ms(f->state);
	if (f->state->first_started_ms == 0)
		f->state->first_started_ms = f->time_ms;
	kgb_rows_read(f->data, kgb_run_state__rows, f->arena, f->state);
	kgb_maker__read(f->data, f->arena, &f->state->maker);
	f->state->started_ms = f->time_ms;
	f->state->finished = false;
	f->state->exit_code = 0;
	f->state->end_message = NULL;
	f->state->ended_ms = -1;
	return 0;
}

static int fold_planned(struct folding *f)
{
	const cJSON *items = kgb_json_get(f->data, "operators");
	const cJSON *item = NULL;
	cJSON_ArrayForEach(item, items) {
		if (!kgb_json_str(item, "name", NULL) || !kgb_json_str(item, "safe_name", NULL))
			return kgb_fail(f->err, KGB_ERR_INVALID,
					"a planned operator needs 'name' and 'safe_name'");
	}
	if (!f->arena)
		return 0;
	cJSON_ArrayForEach(item, items) {
		struct kgb_op_state *op =
			kgb_run_state_op(f->state, kgb_json_str(item, "name", ""));
		if (!op) {
			f->state->ops = grow(f->arena, f->state->ops, f->state->n_ops,
					     sizeof(*f->state->ops));
			op = &f->state->ops[f->state->n_ops++];
			*op = (struct kgb_op_state){
				.name = member_of(f, item, "name"),
				.safe_name = member_of(f, item, "safe_name"),
				.source = member_of(f, item, "source"),
				.category = member_of(f, item, "category"),
				.verify_started_ms = -1,
				.verified_ms = -1,
				.changed_ms = f->time_ms,
			};
		}
		const char *sha256 = member_of(f, item, "spec_sha256");
		op->spec_sha256 = sha256 ? sha256 : op->spec_sha256;
	}
	return 0;
}

static int fold_attempt_started(struct folding *f)
{
	int64_t number = kgb_json_i64(f->data, "attempt", -1);
	const struct kgb_attempt_state *last = kgb_op_last_attempt(f->op);
	if (number != (int64_t)f->op->n_attempts + 1 || (last && last->ended_ms < 0))
		return kgb_fail(f->err, KGB_ERR_INVALID,
				"attempt %" PRId64 " of '%s' starts out of turn", number,
				f->op->name);
	if (!f->arena)
		return 0;
	f->op->attempts =
		grow(f->arena, f->op->attempts, f->op->n_attempts, sizeof(*f->op->attempts));
	f->op->attempts[f->op->n_attempts++] = (struct kgb_attempt_state){
		.number = (int)number,
		.device = (int)kgb_json_i64(f->data, "device", -1),
		.maker = f->state->maker, /* of journals whose attempts do not record it */
		.started_ms = f->time_ms,
		.ended_ms = -1,
		.timeout_ms = kgb_json_i64(f->data, "timeout_ms", 0),
		.dir = text_of(f, "dir"),
		.prompt_sha256 = text_of(f, "prompt_sha256"),
		.exit_code = -1,
	};
	struct kgb_attempt_state *attempt = kgb_op_last_attempt(f->op);
	kgb_maker__read(f->data, f->arena, &attempt->maker);
	kgb_rows_read(kgb_json_get(f->data, "price_nanos"), kgb_price__rows, NULL, &attempt->price);
	set_status(f->op, KGB_OP_RUNNING, NULL, NULL);
	return 0;
}

static int fold_verify_call(struct folding *f)
{
	struct kgb_verdict_summary verdict;
	if (kgb_verdict_summary__read(kgb_json_get(f->data, "verdict"), f->arena, &verdict,
				      f->err) < 0)
		return -1;
	if (!f->arena)
		return 0;
	f->op->calls = grow(f->arena, f->op->calls, f->op->n_calls, sizeof(*f->op->calls));
	f->op->calls[f->op->n_calls++] = (struct kgb_verify_call){
		.attempt = f->attempt->number,
		.number = ++f->attempt->n_verify_calls,
		.time_ms = f->time_ms,
		.verdict = verdict,
		.commit = text_of(f, "commit"),
	};
	kgb_attempt_spent(f->attempt, &f->op->calls[f->op->n_calls - 1].spent);
	return 0;
}

static int fold_round_finished(struct folding *f)
{
	struct kgb_round round;
	if (kgb_round__read(f->data, f->arena, &round, f->err) < 0)
		return -1;
	const struct kgb_attempt_state *attempt = f->attempt;
	int last = attempt->n_rounds > 0 ? attempt->rounds[attempt->n_rounds - 1].number : 0;
	if (round.number > last + 1 || (round.number <= last && attempt->n_rounds > 0))
		return kgb_fail(f->err, KGB_ERR_INVALID, "round %d of '%s' comes out of turn",
				round.number, f->op->name);
	if (!f->arena)
		return 0;
	round.time_ms = f->time_ms;
	f->attempt->rounds = grow(f->arena, f->attempt->rounds, f->attempt->n_rounds,
				  sizeof(*f->attempt->rounds));
	f->attempt->rounds[f->attempt->n_rounds++] = round;
	return 0;
}

/** The round of a record; records of before there were rounds have none. */
static int round_of(const struct folding *f)
{
	return (int)kgb_json_i64(f->data, "round", 1);
}

static int fold_usage(struct folding *f)
{
	if (!f->arena)
		return 0;
	kgb_totals_read(kgb_json_get(f->data, "gateway"), &f->attempt->gateway);
	f->attempt->has_gateway = true;
	return 0;
}

static int fold_sample(struct folding *f)
{
	const int number = (int)kgb_json_i64(f->data, "sample", 0), round = round_of(f);
	if (number < 1 || round < 1 || kgb_op_sample(f->op, number, round) ||
	    (round > 1 && !kgb_op_sample(f->op, number, round - 1)))
		return kgb_fail(f->err, KGB_ERR_INVALID,
				"sample %d of '%s', round %d, comes out of turn", number,
				f->op->name, round);
	if (!f->arena)
		return 0;
	f->op->samples = grow(f->arena, f->op->samples, f->op->n_samples, sizeof(*f->op->samples));
	struct kgb_sample *sample = &f->op->samples[f->op->n_samples++];
	*sample = (struct kgb_sample){.attempt = f->attempt->number, .time_ms = f->time_ms};
	kgb_rows_read(f->data, kgb_sample__rows, f->arena, sample);
	sample->round = round;
	return kgb_json_get(f->data, "gateway") ? fold_usage(f) : 0;
}

/** The sample that a record is about. */
static int find_sample(struct folding *f, struct kgb_sample **out)
{
	const int number = (int)kgb_json_i64(f->data, "sample", 0), round = round_of(f);
	*out = kgb_op_sample(f->op, number, round);
	return *out ? 0
		    : kgb_fail(f->err, KGB_ERR_INVALID,
			       "sample %d of '%s', round %d, was never answered", number,
			       f->op->name, round);
}

static int fold_sample_checked(struct folding *f)
{
	struct kgb_sample *sample = NULL;
	if (find_sample(f, &sample) < 0)
		return -1;
	if (f->arena)
		kgb_rows_read(f->data, kgb_sample_check__rows, f->arena, sample);
	return 0;
}

size_t kgb_op_n_outstanding(const struct kgb_op_state *op, const struct kgb_batch_record *batch)
{
	size_t n = 0;
	for (size_t i = 0; i < batch->n; i++)
		n += !kgb_op_sample(op, batch->numbers[i], 1);
	return n;
}

/** The attempt goes on with a batch of an earlier one, whose open requests move to it. */
static void take_over(const struct folding *f, struct kgb_batch_record *batch)
{
	const int64_t n = (int64_t)kgb_op_n_outstanding(f->op, batch);
	const int64_t nanos = batch->most.nanos > 0 ? batch->most.nanos : 0;
	for (size_t i = 0; i < f->op->n_attempts; i++) {
		struct kgb_totals *totals = &f->op->attempts[i].gateway;
		if (f->op->attempts[i].number != batch->attempt)
			continue;
		totals->n_open -= n;
		totals->charged_tokens -= n * batch->most.tokens;
		totals->charged_nanos -= n * nanos;
	}
	batch->attempt = f->attempt->number;
}

static void read_batch(const struct folding *f, struct kgb_batch_record *batch)
{
	const cJSON *number = NULL, *numbers = kgb_json_get(f->data, "samples");
	const size_t n = (size_t)cJSON_GetArraySize(numbers);
	int *copy = kgb_arena_array(f->arena, n > 0 ? n : 1, sizeof(*copy));
	batch->n = 0;
	cJSON_ArrayForEach(number, numbers)
		copy[batch->n++] = number->valueint;
	batch->numbers = copy;
	batch->id = text_of(f, "id");
	batch->state = text_of(f, "state");
	batch->most = (struct kgb_charge){.tokens = kgb_json_i64(f->data, "most_tokens", 0),
					  .nanos = kgb_json_i64(f->data, "most_nanos", -1)};
}

static int fold_batch(struct folding *f)
{
	struct kgb_batch_record *batch = NULL;
	const char *key = kgb_json_str(f->data, "key", NULL);
	if (!key || !cJSON_IsArray(kgb_json_get(f->data, "samples")) ||
	    !kgb_json_str(f->data, "state", NULL))
		return kgb_fail(f->err, KGB_ERR_INVALID, "a batch of '%s' is not described",
				f->op->name);
	if (!f->arena)
		return 0;
	for (size_t i = 0; i < f->op->n_batches; i++)
		if (kgb_str_eq(f->op->batches[i].key, key))
			batch = &f->op->batches[i];
	if (!batch) {
		f->op->batches =
			grow(f->arena, f->op->batches, f->op->n_batches, sizeof(*f->op->batches));
		batch = &f->op->batches[f->op->n_batches++];
		*batch = (struct kgb_batch_record){.key = kgb_arena_strdup(f->arena, key),
						   .attempt = f->attempt->number,
						   .left_ms = f->time_ms};
	} else if (batch->attempt != f->attempt->number) {
		take_over(f, batch);
	}
	read_batch(f, batch);
	return fold_usage(f);
}

static int fold_sample_judged(struct folding *f)
{
	struct kgb_sample *sample = NULL;
	if (find_sample(f, &sample) < 0)
		return -1;
	if (!f->arena)
		return 0;
	kgb_rows_read(f->data, kgb_sample_verdict__rows, f->arena, sample);
	sample->has_verdict = true;
	return 0;
}

/** The attempt's own figures: tokens, the CLI's report, the sandbox. */
static void read_attempt_finished(struct folding *f)
{
	struct kgb_attempt_state *attempt = f->attempt;
	kgb_rows_read(f->data, kgb_attempt_state__rows, f->arena, attempt);
	attempt->ended_ms = f->time_ms;
	attempt->code_generated = attempt->kernel_sha256 != NULL;
	const cJSON *gateway = kgb_json_get(f->data, "gateway");
	if (cJSON_IsObject(gateway)) {
		kgb_totals_read(gateway, &attempt->gateway);
		attempt->has_gateway = true;
	}
	const cJSON *cli = kgb_json_get(f->data, "cli");
	if (cJSON_IsObject(cli)) {
		kgb_cli_report__read(cli, &attempt->cli);
		attempt->has_cli = true;
	}
	const cJSON *sandbox = kgb_json_get(f->data, "sandbox");
	if (cJSON_IsObject(sandbox)) {
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_JSON);
		struct kgb_jsonw w;
		kgb_jsonw_init(&w, &text, 0);
		kgb_jsonw_tree(&w, sandbox);
		attempt->sandbox = kgb_arena_strdup(f->arena, text.ptr);
	}
}

static int fold_attempt_finished(struct folding *f)
{
	const char *end_name = kgb_json_str(f->data, "end", "");
	int end = kgb_enum__find(end_name, agent_end_name_of, KGB_N_AGENT_ENDS);
	if (end < 0)
		return kgb_fail(f->err, KGB_ERR_INVALID, "'%s' is no way in which an attempt ends",
				end_name);
	if (!f->arena)
		return 0;
	read_attempt_finished(f);
	struct kgb_op_state *op = f->op;
	struct kgb_attempt_state *attempt = f->attempt;
	attempt->end = (enum kgb_agent_end)end;
	op->doing[0] = '\0';
	if (attempt->code_generated) {
		op->kernel_sha256 = op->made_sha256 = attempt->kernel_sha256;
		op->code_generated = true;
	}
	if (attempt->retry)
		set_status(op, KGB_OP_RETRYING, attempt->error_code, attempt->error_message);
	else if (attempt->code_generated && attempt->end != KGB_AGENT_CANCELLED)
		set_status(op, KGB_OP_GENERATED, NULL, NULL);
	else
		set_status(op, status_without_kernel(attempt->end), attempt->error_code,
			   attempt->error_message);
	return 0;
}

static int fold_kernel_adopted(struct folding *f)
{
	if (!kgb_json_str(f->data, "kernel_sha256", NULL))
		return kgb_fail(f->err, KGB_ERR_INVALID, "'kernel_sha256' is missing");
	if (!f->arena)
		return 0;
	f->op->kernel_sha256 = text_of(f, "kernel_sha256");
	f->op->made_sha256 = f->op->kernel_sha256;
	f->op->adopted_from = f->state->maker;
	f->op->code_generated = true;
	set_status(f->op, KGB_OP_GENERATED, NULL, NULL);
	return 0;
}

static int fold_verify_started(struct folding *f)
{
	if (!f->arena)
		return 0;
	f->op->kernel_sha256 = text_of(f, "kernel_sha256");
	f->op->code_generated = true;
	f->op->device = text_of(f, "device");
	f->op->verify_started_ms = f->time_ms;
	f->op->verified_ms = -1;
	f->op->has_verdict = false;
	f->op->verdict_path = NULL;
	set_status(f->op, KGB_OP_VERIFYING, NULL, NULL);
	return 0;
}

static int fold_verified(struct folding *f)
{
	struct kgb_verdict_summary verdict;
	if (kgb_verdict_summary__read(kgb_json_get(f->data, "verdict"), f->arena, &verdict,
				      f->err) < 0)
		return -1;
	if (!f->arena)
		return 0;
	/* The four words of a verdict are also statuses of an operator. */
	int status = kgb_enum__find(verdict.status, op_status_name_of, KGB_OP_N_STATUSES);
	KGB_ASSERT(status >= 0);
	f->op->verdict = verdict;
	f->op->has_verdict = true;
	f->op->verdict_path = text_of(f, "path");
	f->op->verified_ms = f->time_ms;
	if (status == KGB_OP_PASSED)
		set_status(f->op, KGB_OP_PASSED, NULL, NULL);
	else
		set_status(f->op, (enum kgb_op_status)status, verdict.code, verdict.message);
	return 0;
}

static int fold_operator_ended(struct folding *f)
{
	const char *name = kgb_json_str(f->data, "status", "");
	int status = kgb_enum__find(name, op_status_name_of, KGB_OP_N_STATUSES);
	if (status < 0 || !kgb_op_status_is_final((enum kgb_op_status)status))
		return kgb_fail(f->err, KGB_ERR_INVALID,
				"'%s' is not a final status of an operator", name);
	if (!f->arena)
		return 0;
	set_status(f->op, (enum kgb_op_status)status, text_of(f, "code"), text_of(f, "message"));
	return 0;
}

/** Add the times of the GPUs to those of earlier starts. */
static int add_gpus(struct folding *f)
{
	struct kgb_run_state *state = f->state;
	const cJSON *item = NULL;
	cJSON_ArrayForEach(item, kgb_json_get(f->data, "gpus")) {
		struct kgb_gpu_times part = {0};
		size_t i = 0;
		if (!kgb_json_str(item, "name", NULL))
			return kgb_fail(f->err, KGB_ERR_INVALID, "a GPU has no name");
		if (!f->arena)
			continue;
		kgb_rows_read(item, kgb_gpu_times__rows, f->arena, &part);
		while (i < state->n_gpus && !kgb_str_eq(state->gpus[i].name, part.name))
			i++;
		if (i == state->n_gpus) {
			state->gpus =
				grow(f->arena, state->gpus, state->n_gpus, sizeof(*state->gpus));
			state->gpus[state->n_gpus++] = (struct kgb_gpu_times){.name = part.name};
		}
		kgb_rows_add(kgb_gpu_times__rows, &state->gpus[i], &part);
	}
	return 0;
}

static int fold_run_finished(struct folding *f)
{
	const char *name = kgb_json_str(f->data, "end", "");
	int end = kgb_enum__find(name, run_end_name_of, KGB_RUN_N_ENDS);
	if (end < 0)
		return kgb_fail(f->err, KGB_ERR_INVALID, "'%s' is no way in which a run ends",
				name);
	if (add_gpus(f) < 0)
		return -1;
	if (!f->arena)
		return 0;
	f->state->finished = true;
	f->state->end = (enum kgb_run_end)end;
	f->state->exit_code = (int)kgb_json_i64(f->data, "exit_code", 0);
	f->state->end_message = text_of(f, "message");
	f->state->ended_ms = f->time_ms;
	return 0;
}

static const struct {
	const char *type;
	int (*find)(struct folding *f); /* what the record is about; NULL: the run */
	int (*fold)(struct folding *f);
} folds[] = {
	{"run_started", NULL, fold_run_started},
	{"planned", NULL, fold_planned},
	{"attempt_started", find_op, fold_attempt_started},
	{"verify_call", find_attempt, fold_verify_call},
	{"round_finished", find_attempt, fold_round_finished},
	{"sample", find_attempt, fold_sample},
	{"batch", find_attempt, fold_batch},
	{"sample_checked", find_op, fold_sample_checked},
	{"sample_judged", find_op, fold_sample_judged},
	{"usage", find_attempt, fold_usage},
	{"attempt_finished", find_attempt, fold_attempt_finished},
	{"kernel_adopted", find_op, fold_kernel_adopted},
	{"verify_started", find_op, fold_verify_started},
	{"verified", find_op, fold_verified},
	{"operator_ended", find_op, fold_operator_ended},
	{"run_finished", NULL, fold_run_finished},
};

int kgb_run_state__fold(struct kgb_run_state *state, const struct kgb_journal_record *record,
			bool apply, struct kgb_err *err)
{
	struct folding f = {.state = state,
			    .arena = apply ? &state->arena : NULL,
			    .data = record->data,
			    .time_ms = record->time_ms,
			    .err = err};
	size_t i = 0;
	while (i < KGB_ARRAY_LEN(folds) && !kgb_str_eq(folds[i].type, record->type))
		i++;
	if (i == KGB_ARRAY_LEN(folds)) {
		/* A later version wrote it; the known records still hold. */
		if (apply)
			state->n_unknown_events++;
	} else if ((folds[i].find && folds[i].find(&f) < 0) || folds[i].fold(&f) < 0) {
		return kgb_ctx(err, "%s", record->type);
	}
	if (apply && f.op)
		f.op->changed_ms = record->time_ms;
	if (apply)
		state->updated_ms = record->time_ms;
	return 0;
}

int kgb_run_state_fold(void *state, const struct kgb_journal_record *record, struct kgb_err *err)
{
	return kgb_run_state__fold(state, record, true, err);
}

struct kgb_maker kgb_run_maker(const struct kgb_run_state *state)
{
	for (size_t i = 0; i < state->n_ops; i++)
		for (size_t k = 0; k < state->ops[i].n_attempts; k++)
			if (!kgb_maker_equal(&state->ops[i].attempts[k].maker, &state->maker))
				return (struct kgb_maker){.method = state->maker.method,
							  .gateway_mode = KGB_MIXED};
	return state->maker;
}

bool kgb_run_is_made(const struct kgb_run_state *state)
{
	const struct kgb_maker *maker = &state->maker;
	return maker->gateway_mode && !kgb_str_eq(maker->method, KGB_METHOD_KERNELS);
}

struct kgb_maker kgb_op_maker(const struct kgb_op_state *op)
{
	const struct kgb_attempt_state *attempt = kgb_op_counting_attempt(op);

	return attempt ? attempt->maker : op->adopted_from;
}

const struct kgb_attempt_state *kgb_op_counting_attempt(const struct kgb_op_state *op)
{
	for (size_t i = op->n_attempts; i-- > 0;)
		if (op->attempts[i].code_generated)
			return &op->attempts[i];
	return kgb_op_last_attempt(op);
}

void kgb_attempt_spent(const struct kgb_attempt_state *attempt, struct kgb_spent *out)
{
	*out = (struct kgb_spent)KGB_SPENT_NOTHING;
	if (!attempt)
		return;
	out->n_attempts = 1;
	if (attempt->has_gateway) {
		out->gateway = attempt->gateway.usage;
		/* Of a lost attempt, also the requests that were open at its end. */
		out->n_requests = attempt->gateway.n_exchanges +
				  (attempt->ended_ms >= 0 ? attempt->gateway.n_open : 0);
		out->n_calls = attempt->gateway.n_calls;
		out->n_calls_unsure =
			attempt->gateway.n_calls < 0 ? -1 : attempt->gateway.n_calls_unsure;
	}
	if (attempt->has_cli) {
		out->cli = attempt->cli.usage;
		out->cli_cost_nanos = attempt->cli.cost_nanos;
	}
	out->cost_nanos = kgb_attempt_cost_nanos(attempt);
	out->cost_unknown = out->cost_nanos < 0;
}

static void add_known(int64_t *sum, int64_t part)
{
	if (part >= 0)
		*sum = (*sum < 0 ? 0 : *sum) + part;
}

void kgb_spent_add(struct kgb_spent *sum, const struct kgb_spent *part)
{
	sum->n_attempts += part->n_attempts;
	add_known(&sum->n_requests, part->n_requests);
	add_known(&sum->n_calls, part->n_calls);
	add_known(&sum->n_calls_unsure, part->n_calls_unsure);
	kgb_usage_add(&sum->gateway, &part->gateway);
	kgb_usage_add(&sum->cli, &part->cli);
	add_known(&sum->cost_nanos, part->cost_nanos);
	add_known(&sum->cli_cost_nanos, part->cli_cost_nanos);
	sum->cost_unknown = sum->cost_unknown || part->cost_unknown;
}

/** Sum of the attempts that count, or of the others. Samples of all attempts count. */
static void sum_attempts(const struct kgb_op_state *op, bool counting, struct kgb_spent *out)
{
	const struct kgb_attempt_state *last = kgb_op_counting_attempt(op);

	*out = (struct kgb_spent)KGB_SPENT_NOTHING;
	for (size_t i = 0; i < op->n_attempts; i++) {
		struct kgb_spent part;
		const bool counts = op->n_samples > 0 || &op->attempts[i] == last;
		if (counts != counting)
			continue;
		kgb_attempt_spent(&op->attempts[i], &part);
		kgb_spent_add(out, &part);
	}
}

void kgb_op_spent(const struct kgb_op_state *op, struct kgb_spent *out)
{
	sum_attempts(op, true, out);
}

void kgb_op_lost(const struct kgb_op_state *op, struct kgb_spent *out)
{
	sum_attempts(op, false, out);
}

void kgb_run_spent(const struct kgb_run_state *state, struct kgb_spent *counting,
		   struct kgb_spent *lost)
{
	*counting = *lost = (struct kgb_spent)KGB_SPENT_NOTHING;
	for (size_t i = 0; i < state->n_ops; i++) {
		struct kgb_spent part;
		kgb_op_spent(&state->ops[i], &part);
		kgb_spent_add(counting, &part);
		kgb_op_lost(&state->ops[i], &part);
		kgb_spent_add(lost, &part);
	}
}

int64_t kgb_attempt_cost_nanos(const struct kgb_attempt_state *attempt)
{
	const struct kgb_totals *totals = &attempt->gateway;
	/* An answer that was still coming when kgb-agent died was never counted. */
	bool lost = attempt->ended_ms >= 0 && totals->n_open > 0;
	if (!attempt->has_gateway || totals->n_unpriced > 0 || lost)
		return -1;
	return totals->cost_nanos;
}

void kgb_op_charged(const struct kgb_op_state *op, int64_t *tokens, int64_t *nanos)
{
	*tokens = *nanos = 0;
	for (size_t i = 0; i < op->n_attempts; i++) {
		if (!op->attempts[i].has_gateway)
			continue;
		*tokens += op->attempts[i].gateway.charged_tokens;
		*nanos += op->attempts[i].gateway.charged_nanos;
	}
}

int64_t kgb_op_agent_ms(const struct kgb_op_state *op)
{
	int64_t sum = 0;
	for (size_t i = 0; i < op->n_samples; i++)
		sum += op->samples[i].wall_ms > 0 ? op->samples[i].wall_ms : 0;
	for (size_t i = 0; op->n_samples == 0 && i < op->n_attempts; i++)
		if (op->attempts[i].ended_ms >= 0)
			sum += op->attempts[i].ended_ms - op->attempts[i].started_ms;
	return sum;
}

double kgb_run_speedup(const struct kgb_run_state *state, size_t *n)
{
	double sum_log = 0;
	*n = 0;
	for (size_t i = 0; i < state->n_ops; i++) {
		const struct kgb_op_state *op = &state->ops[i];
		if (op->status != KGB_OP_PASSED || !op->has_verdict || !(op->verdict.speedup > 0) ||
		    kgb_op_is_replaced(op))
			continue;
		sum_log += log(op->verdict.speedup);
		++*n;
	}
	return *n > 0 ? exp(sum_log / (double)*n) : 0;
}

/** Whether the kernel is right on all core cases; of an older verdict it is known if it passed. */
static bool reached_core(const struct kgb_op_state *op)
{
	static const char *const rungs[] = {"core", "correct", "timed"};
	for (size_t i = 0; i < KGB_ARRAY_LEN(rungs); i++)
		if (op->has_verdict && kgb_str_eq(op->verdict.reached, rungs[i]))
			return true;
	return op->status == KGB_OP_PASSED;
}

void kgb_run_state_count(const struct kgb_run_state *state, struct kgb_run_counts *out)
{
	*out = (struct kgb_run_counts){.total = state->n_ops};
	for (size_t i = 0; i < state->n_ops; i++) {
		if (kgb_op_is_replaced(&state->ops[i])) {
			out->replaced++;
		} else {
			out->by_status[state->ops[i].status]++;
			out->core += reached_core(&state->ops[i]);
		}
	}
	const size_t *n = out->by_status;
	out->generated = n[KGB_OP_GENERATED];
	out->running = n[KGB_OP_RUNNING] + n[KGB_OP_VERIFYING];
	out->pending = n[KGB_OP_PLANNED] + n[KGB_OP_RETRYING];
	out->completed = n[KGB_OP_PASSED];
	*(state->skip_verify ? &out->completed : &out->pending) += out->generated;
	out->failed = out->total - out->running - out->pending - out->completed;
}
