/* SPDX-License-Identifier: MIT */
#include "agent/store/state.h"

#include <inttypes.h>
#include <math.h>

#include "agent/store/events_json.h"
#include "base/codes.h"
#include "base/formats/json.h"
#include "base/formats/jsonw.h"
#include "base/limits.h"
#include "base/str.h"

#define KGB_OP_OF(status) (KGB_OP_PASSED + KGB_STATUS_##status - KGB_STATUS_PASSED)
_Static_assert(KGB_OP_PASSED == KGB_OP_OF(PASSED) && KGB_OP_FAILED == KGB_OP_OF(FAILED) &&
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

/* Of an operator whose last attempt ended so and left no kernel: an agent that ends well fails. */
static enum kgb_op_status status_without_kernel(enum kgb_agent_end end)
{
	const enum kgb_status status = kgb_agent_end_status(end);

	return status == KGB_STATUS_NONE
		       ? KGB_OP_FAILED
		       : (enum kgb_op_status)(KGB_OP_PASSED + status - KGB_STATUS_PASSED);
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

/** A string member in the state's memory; NULL when it is missing or null. */
static const char *text_of(struct kgb_run_state *state, const cJSON *data, const char *key)
{
	const char *text = kgb_json_str(data, key, NULL);
	return text ? kgb_arena_strdup(&state->arena, text) : NULL;
}

/** The operator and, where the event has one, the attempt that a record is about. */
struct subject {
	struct kgb_op_state *op;
	struct kgb_attempt_state *attempt;
};

static int find_op(const struct kgb_run_state *state, const cJSON *data, struct subject *out,
		   struct kgb_err *err)
{
	const char *name = kgb_json_str(data, "operator", "");
	out->op = kgb_run_state_op(state, name);
	if (!out->op)
		return kgb_fail(err, KGB_ERR_INVALID, "operator '%s' was never planned", name);
	return 0;
}

static int find_attempt(const struct kgb_run_state *state, const cJSON *data, struct subject *out,
			struct kgb_err *err)
{
	if (find_op(state, data, out, err) < 0)
		return -1;
	int64_t number = kgb_json_i64(data, "attempt", -1);
	out->attempt = kgb_op_last_attempt(out->op);
	if (!out->attempt || out->attempt->number != number)
		return kgb_fail(err, KGB_ERR_INVALID,
				"attempt %" PRId64 " of '%s' is not the one under way", number,
				out->op->name);
	if (out->attempt->ended_ms >= 0)
		return kgb_fail(err, KGB_ERR_INVALID,
				"attempt %" PRId64 " of '%s' has ended already", number,
				out->op->name);
	return 0;
}

static void set_status(struct kgb_op_state *op, enum kgb_op_status status, const char *code,
		       const char *message)
{
	op->status = status;
	op->error_code = code;
	op->error_message = message;
}

typedef int (*fold_fn)(struct kgb_run_state *state, const struct kgb_journal_record *record,
		       bool apply, struct kgb_err *err);

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

/** How long the last start took; up to its last record when it did not end. */
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

static int fold_run_started(struct kgb_run_state *state, const struct kgb_journal_record *record,
			    bool apply, struct kgb_err *err)
{
	const cJSON *data = record->data;
	if (!kgb_json_str(data, "run", NULL))
		return kgb_fail(err, KGB_ERR_INVALID, "'run' is missing");
	if (!apply)
		return 0;
	close_lost(state);
	if (!state->skip_gen)
		state->active_ms += last_start_ms(state);
	state->earlier_ms += last_start_ms(state);
	if (state->first_started_ms == 0)
		state->first_started_ms = record->time_ms;
	kgb_rows_read(data, kgb_run_state__rows, &state->arena, state);
	kgb_maker__read(data, &state->arena, &state->maker);
	state->started_ms = record->time_ms;
	state->finished = false;
	state->exit_code = 0;
	state->end_message = NULL;
	state->ended_ms = -1;
	return 0;
}

static int fold_planned(struct kgb_run_state *state, const struct kgb_journal_record *record,
			bool apply, struct kgb_err *err)
{
	const cJSON *items = kgb_json_get(record->data, "operators");
	const cJSON *item = NULL;
	cJSON_ArrayForEach(item, items) {
		if (!kgb_json_str(item, "name", NULL) || !kgb_json_str(item, "safe_name", NULL))
			return kgb_fail(err, KGB_ERR_INVALID,
					"a planned operator needs 'name' and 'safe_name'");
	}
	if (!apply)
		return 0;
	cJSON_ArrayForEach(item, items) {
		struct kgb_op_state *op = kgb_run_state_op(state, kgb_json_str(item, "name", ""));
		if (!op) {
			state->ops =
				grow(&state->arena, state->ops, state->n_ops, sizeof(*state->ops));
			op = &state->ops[state->n_ops++];
			*op = (struct kgb_op_state){
				.name = text_of(state, item, "name"),
				.safe_name = text_of(state, item, "safe_name"),
				.verify_started_ms = -1,
				.verified_ms = -1,
				.changed_ms = record->time_ms,
			};
		}
		const char *sha256 = text_of(state, item, "spec_sha256");
		op->spec_sha256 = sha256 ? sha256 : op->spec_sha256;
	}
	return 0;
}

static int fold_attempt_started(struct kgb_run_state *state,
				const struct kgb_journal_record *record, bool apply,
				struct kgb_err *err)
{
	const cJSON *data = record->data;
	struct subject s = {0};
	if (find_op(state, data, &s, err) < 0)
		return -1;
	int64_t number = kgb_json_i64(data, "attempt", -1);
	const struct kgb_attempt_state *last = kgb_op_last_attempt(s.op);
	if (number != (int64_t)s.op->n_attempts + 1 || (last && last->ended_ms < 0))
		return kgb_fail(err, KGB_ERR_INVALID,
				"attempt %" PRId64 " of '%s' starts out of turn", number,
				s.op->name);
	if (!apply)
		return 0;
	s.op->attempts =
		grow(&state->arena, s.op->attempts, s.op->n_attempts, sizeof(*s.op->attempts));
	s.op->attempts[s.op->n_attempts++] = (struct kgb_attempt_state){
		.number = (int)number,
		.device = (int)kgb_json_i64(data, "device", -1),
		.maker = state->maker, /* of journals whose attempts do not record it */
		.started_ms = record->time_ms,
		.ended_ms = -1,
		.timeout_ms = kgb_json_i64(data, "timeout_ms", 0),
		.dir = text_of(state, data, "dir"),
		.prompt_sha256 = text_of(state, data, "prompt_sha256"),
		.exit_code = -1,
	};
	struct kgb_attempt_state *attempt = kgb_op_last_attempt(s.op);
	kgb_maker__read(data, &state->arena, &attempt->maker);
	kgb_rows_read(kgb_json_get(data, "price_nanos"), kgb_price__rows, NULL, &attempt->price);
	set_status(s.op, KGB_OP_RUNNING, NULL, NULL);
	s.op->changed_ms = record->time_ms;
	return 0;
}

static int fold_verify_call(struct kgb_run_state *state, const struct kgb_journal_record *record,
			    bool apply, struct kgb_err *err)
{
	const cJSON *data = record->data;
	struct subject s = {0};
	struct kgb_verdict_summary verdict;
	if (find_attempt(state, data, &s, err) < 0 ||
	    kgb_verdict_summary__read(kgb_json_get(data, "verdict"), apply ? &state->arena : NULL,
				      &verdict, err) < 0)
		return -1;
	if (!apply)
		return 0;
	s.op->calls = grow(&state->arena, s.op->calls, s.op->n_calls, sizeof(*s.op->calls));
	s.op->calls[s.op->n_calls++] = (struct kgb_verify_call){
		.attempt = s.attempt->number,
		.number = ++s.attempt->n_verify_calls,
		.time_ms = record->time_ms,
		.verdict = verdict,
		.commit = text_of(state, data, "commit"),
	};
	s.op->changed_ms = record->time_ms;
	return 0;
}

static int fold_round_finished(struct kgb_run_state *state, const struct kgb_journal_record *record,
			       bool apply, struct kgb_err *err)
{
	struct subject s = {0};
	struct kgb_round round;
	if (find_attempt(state, record->data, &s, err) < 0 ||
	    kgb_round__read(record->data, apply ? &state->arena : NULL, &round, err) < 0)
		return -1;
	const struct kgb_attempt_state *attempt = s.attempt;
	int last = attempt->n_rounds > 0 ? attempt->rounds[attempt->n_rounds - 1].number : 0;
	if (round.number > last + 1 || (round.number <= last && attempt->n_rounds > 0))
		return kgb_fail(err, KGB_ERR_INVALID, "round %d of '%s' comes out of turn",
				round.number, s.op->name);
	if (!apply)
		return 0;
	round.time_ms = record->time_ms;
	s.attempt->rounds = grow(&state->arena, s.attempt->rounds, s.attempt->n_rounds,
				 sizeof(*s.attempt->rounds));
	s.attempt->rounds[s.attempt->n_rounds++] = round;
	s.op->changed_ms = record->time_ms;
	return 0;
}

static int fold_usage(struct kgb_run_state *state, const struct kgb_journal_record *record,
		      bool apply, struct kgb_err *err)
{
	struct subject s = {0};
	if (find_attempt(state, record->data, &s, err) < 0)
		return -1;
	if (!apply)
		return 0;
	kgb_totals_read(kgb_json_get(record->data, "gateway"), &s.attempt->gateway);
	s.attempt->has_gateway = true;
	s.op->changed_ms = record->time_ms;
	return 0;
}

static void apply_attempt_finished(struct kgb_run_state *state, struct subject *s,
				   const cJSON *data, int64_t time_ms)
{
	struct kgb_attempt_state *attempt = s->attempt;
	attempt->ended_ms = time_ms;
	kgb_rows_read(data, kgb_attempt_state__rows, &state->arena, attempt);
	attempt->code_generated = attempt->kernel_sha256 != NULL;
	const cJSON *gateway = kgb_json_get(data, "gateway");
	if (cJSON_IsObject(gateway)) {
		kgb_totals_read(gateway, &attempt->gateway);
		attempt->has_gateway = true;
	}
	const cJSON *cli = kgb_json_get(data, "cli");
	if (cJSON_IsObject(cli)) {
		kgb_cli_report__read(cli, &attempt->cli);
		attempt->has_cli = true;
	}
	const cJSON *sandbox = kgb_json_get(data, "sandbox");
	if (cJSON_IsObject(sandbox)) {
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_JSON);
		struct kgb_jsonw w;
		kgb_jsonw_init(&w, &text, 0);
		kgb_jsonw_tree(&w, sandbox);
		attempt->sandbox = kgb_arena_strdup(&state->arena, text.ptr);
	}
	struct kgb_op_state *op = s->op;
	op->changed_ms = time_ms;
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
}

static int fold_attempt_finished(struct kgb_run_state *state,
				 const struct kgb_journal_record *record, bool apply,
				 struct kgb_err *err)
{
	struct subject s = {0};
	if (find_attempt(state, record->data, &s, err) < 0)
		return -1;
	const char *end_name = kgb_json_str(record->data, "end", "");
	int end = kgb_enum__find(end_name, agent_end_name_of, KGB_N_AGENT_ENDS);
	if (end < 0)
		return kgb_fail(err, KGB_ERR_INVALID, "'%s' is no way in which an attempt ends",
				end_name);
	if (!apply)
		return 0;
	s.attempt->end = (enum kgb_agent_end)end;
	apply_attempt_finished(state, &s, record->data, record->time_ms);
	return 0;
}

static int fold_kernel_adopted(struct kgb_run_state *state, const struct kgb_journal_record *record,
			       bool apply, struct kgb_err *err)
{
	struct subject s = {0};
	if (find_op(state, record->data, &s, err) < 0)
		return -1;
	if (!kgb_json_str(record->data, "kernel_sha256", NULL))
		return kgb_fail(err, KGB_ERR_INVALID, "'kernel_sha256' is missing");
	if (!apply)
		return 0;
	s.op->kernel_sha256 = text_of(state, record->data, "kernel_sha256");
	s.op->made_sha256 = s.op->kernel_sha256;
	s.op->code_generated = true;
	set_status(s.op, KGB_OP_GENERATED, NULL, NULL);
	s.op->changed_ms = record->time_ms;
	return 0;
}

static int fold_verify_started(struct kgb_run_state *state, const struct kgb_journal_record *record,
			       bool apply, struct kgb_err *err)
{
	struct subject s = {0};
	if (find_op(state, record->data, &s, err) < 0)
		return -1;
	if (!apply)
		return 0;
	s.op->kernel_sha256 = text_of(state, record->data, "kernel_sha256");
	s.op->code_generated = true;
	s.op->device = text_of(state, record->data, "device");
	s.op->verify_started_ms = record->time_ms;
	s.op->verified_ms = -1;
	s.op->has_verdict = false;
	s.op->verdict_path = NULL;
	set_status(s.op, KGB_OP_VERIFYING, NULL, NULL);
	s.op->changed_ms = record->time_ms;
	return 0;
}

static int fold_verified(struct kgb_run_state *state, const struct kgb_journal_record *record,
			 bool apply, struct kgb_err *err)
{
	const cJSON *data = record->data;
	struct subject s = {0};
	struct kgb_verdict_summary verdict;
	if (find_op(state, data, &s, err) < 0 ||
	    kgb_verdict_summary__read(kgb_json_get(data, "verdict"), apply ? &state->arena : NULL,
				      &verdict, err) < 0)
		return -1;
	if (!apply)
		return 0;
	/* The four words of a verdict are also statuses of an operator. */
	int status = kgb_enum__find(verdict.status, op_status_name_of, KGB_OP_N_STATUSES);
	KGB_ASSERT(status >= 0);
	s.op->verdict = verdict;
	s.op->has_verdict = true;
	s.op->verdict_path = text_of(state, data, "path");
	s.op->verified_ms = record->time_ms;
	if (status == KGB_OP_PASSED)
		set_status(s.op, KGB_OP_PASSED, NULL, NULL);
	else
		set_status(s.op, (enum kgb_op_status)status, verdict.code, verdict.message);
	s.op->changed_ms = record->time_ms;
	return 0;
}

static int fold_operator_ended(struct kgb_run_state *state, const struct kgb_journal_record *record,
			       bool apply, struct kgb_err *err)
{
	struct subject s = {0};
	if (find_op(state, record->data, &s, err) < 0)
		return -1;
	const char *name = kgb_json_str(record->data, "status", "");
	int status = kgb_enum__find(name, op_status_name_of, KGB_OP_N_STATUSES);
	if (status < 0 || !kgb_op_status_is_final((enum kgb_op_status)status))
		return kgb_fail(err, KGB_ERR_INVALID, "'%s' is not a final status of an operator",
				name);
	if (!apply)
		return 0;
	set_status(s.op, (enum kgb_op_status)status, text_of(state, record->data, "code"),
		   text_of(state, record->data, "message"));
	s.op->changed_ms = record->time_ms;
	return 0;
}

static int fold_run_finished(struct kgb_run_state *state, const struct kgb_journal_record *record,
			     bool apply, struct kgb_err *err)
{
	const char *name = kgb_json_str(record->data, "end", "");
	int end = kgb_enum__find(name, run_end_name_of, KGB_RUN_N_ENDS);
	if (end < 0)
		return kgb_fail(err, KGB_ERR_INVALID, "'%s' is no way in which a run ends", name);
	if (!apply)
		return 0;
	state->finished = true;
	state->end = (enum kgb_run_end)end;
	state->exit_code = (int)kgb_json_i64(record->data, "exit_code", 0);
	state->end_message = text_of(state, record->data, "message");
	state->ended_ms = record->time_ms;
	return 0;
}

static const struct {
	const char *type;
	fold_fn fold;
} folds[] = {
	{"run_started", fold_run_started},           {"planned", fold_planned},
	{"attempt_started", fold_attempt_started},   {"verify_call", fold_verify_call},
	{"round_finished", fold_round_finished},     {"usage", fold_usage},
	{"attempt_finished", fold_attempt_finished}, {"kernel_adopted", fold_kernel_adopted},
	{"verify_started", fold_verify_started},     {"verified", fold_verified},
	{"operator_ended", fold_operator_ended},     {"run_finished", fold_run_finished},
};

int kgb_run_state__fold(struct kgb_run_state *state, const struct kgb_journal_record *record,
			bool apply, struct kgb_err *err)
{
	size_t i = 0;
	while (i < KGB_ARRAY_LEN(folds) && !kgb_str_eq(folds[i].type, record->type))
		i++;
	if (i == KGB_ARRAY_LEN(folds)) {
		/* Written by a later version: what this one knows still holds. */
		if (apply)
			state->n_unknown_events++;
	} else if (folds[i].fold(state, record, apply, err) < 0) {
		return kgb_ctx(err, "%s", record->type);
	}
	if (apply)
		state->updated_ms = record->time_ms;
	return 0;
}

int kgb_run_state_fold(void *state, const struct kgb_journal_record *record, struct kgb_err *err)
{
	return kgb_run_state__fold(state, record, true, err);
}

static bool text_equal_or_missing(const char *a, const char *b)
{
	return !a || !b || kgb_str_eq(a, b);
}

bool kgb_maker_equal(const struct kgb_maker *a, const struct kgb_maker *b)
{
	return text_equal_or_missing(a->method, b->method) &&
	       text_equal_or_missing(a->gateway_mode, b->gateway_mode) &&
	       text_equal_or_missing(a->model, b->model) &&
	       text_equal_or_missing(a->endpoint, b->endpoint);
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

struct kgb_maker kgb_op_maker(const struct kgb_op_state *op)
{
	const struct kgb_attempt_state *attempt = kgb_op_counting_attempt(op);

	return attempt ? attempt->maker : (struct kgb_maker){0};
}

bool kgb_maker_is_offline(const struct kgb_maker *maker)
{
	return kgb_str_eq(maker->gateway_mode, "offline");
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
	if (attempt->has_gateway)
		out->gateway = attempt->gateway.usage;
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
	kgb_usage_add(&sum->gateway, &part->gateway);
	kgb_usage_add(&sum->cli, &part->cli);
	add_known(&sum->cost_nanos, part->cost_nanos);
	add_known(&sum->cli_cost_nanos, part->cli_cost_nanos);
	sum->cost_unknown = sum->cost_unknown || part->cost_unknown;
}

void kgb_op_lost(const struct kgb_op_state *op, struct kgb_spent *out)
{
	const struct kgb_attempt_state *counting = kgb_op_counting_attempt(op);

	*out = (struct kgb_spent)KGB_SPENT_NOTHING;
	for (size_t i = 0; i < op->n_attempts; i++) {
		struct kgb_spent part;
		if (&op->attempts[i] == counting)
			continue;
		kgb_attempt_spent(&op->attempts[i], &part);
		kgb_spent_add(out, &part);
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
	for (size_t i = 0; i < op->n_attempts; i++)
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

void kgb_run_state_count(const struct kgb_run_state *state, struct kgb_run_counts *out)
{
	*out = (struct kgb_run_counts){.total = state->n_ops};
	for (size_t i = 0; i < state->n_ops; i++)
		if (kgb_op_is_replaced(&state->ops[i]))
			out->replaced++;
		else
			out->by_status[state->ops[i].status]++;
	const size_t *n = out->by_status;
	out->generated = n[KGB_OP_GENERATED];
	out->running = n[KGB_OP_RUNNING] + n[KGB_OP_VERIFYING];
	out->pending = n[KGB_OP_PLANNED] + n[KGB_OP_RETRYING];
	out->completed = n[KGB_OP_PASSED];
	*(state->skip_verify ? &out->completed : &out->pending) += out->generated;
	out->failed = out->total - out->running - out->pending - out->completed;
}
