/* SPDX-License-Identifier: MIT */
#include "agent/llm/llm_batch.h"

#include "agent/store/chains.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"
#include "sandbox/client/batch.h"
#include "sandbox/gateway/batched.h"

/** One batch. */
struct one {
	struct one *next;
	struct kgb_llm_batches *owner;
	char key[KGB_BATCH_KEY_LEN];
	int *numbers; /* owned */
	bool *failed; /* owned; those whose result is an error */
	size_t n;
	struct kgb_charge most;
	struct kgb_batch *batch; /* NULL: it is over, or was left */
	int status; /* of the first error */
	char why[256];
};

struct kgb_llm_batches {
	struct kgb_llm_batches_spec spec;
	struct one *first; /* owned */
};

static const struct kgb_op_state *state_of(const struct kgb_llm_batches *batches)
{
	return kgb_run_state_op(kgb_run_log_state(batches->spec.facts->env->log),
				batches->spec.facts->spec->name);
}

static const struct kgb_batch_record *record_of(const struct one *one)
{
	const struct kgb_op_state *op = state_of(one->owner);
	for (size_t i = 0; i < op->n_batches; i++)
		if (kgb_str_eq(op->batches[i].key, one->key))
			return &op->batches[i];
	return NULL;
}

/** Journal the state of a batch. */
static int journal(const struct one *one, const char *state, const char *id, struct kgb_err *err)
{
	const struct kgb_llm_batches_spec *spec = &one->owner->spec;
	const struct kgb_batch_record record = {.key = one->key,
						.id = id,
						.state = state,
						.attempt = spec->facts->number,
						.numbers = one->numbers,
						.n = one->n,
						.most = one->most};
	spec->model->usage_changed = false;
	return kgb_event_batch(spec->facts->env->log, spec->facts->spec->name, &record,
			       &spec->model->sums->totals, err);
}

static int index_of(const struct one *one, int number)
{
	for (size_t i = 0; i < one->n; i++)
		if (one->numbers[i] == number)
			return (int)i;
	return -1;
}

/* ---- results of a batch ---- */

static void on_id(void *payload, const char *id)
{
	const struct one *one = payload;
	const struct kgb_llm_batches_spec *spec = &one->owner->spec;
	struct kgb_err err = KGB_ERR_INIT;
	kgb_info("%s: batch %s of %zu requests is at the provider", spec->facts->spec->name, id,
		 one->n);
	if (journal(one, "submitted", id, &err) < 0)
		spec->on_fatal(spec->payload, &err);
}

static void on_result(void *payload, int number, const struct kgb_answer *answer)
{
	struct one *one = payload;
	const struct kgb_llm_batches_spec *spec = &one->owner->spec;
	const int at = index_of(one, number);
	if (at < 0 || kgb_op_sample(state_of(one->owner), number, 1))
		return;
	if (answer->choices[0].finish == KGB_ANSWER_BROKEN) {
		/* An answer that cannot be read may be billed. */
		one->failed[at] = answer->status != 200;
		if (!*one->why) {
			one->status = answer->status;
			snprintf(one->why, sizeof(one->why), "%s", answer->error);
		}
		return;
	}
	kgb_batched_settle(spec->model->session, &one->most, KGB_BATCHED_ANSWERED, &answer->meter);
	spec->on_answer(spec->payload, number, answer);
}

/** Settle the requests without an answer. */
static void settle_rest(const struct one *one, enum kgb_batch_end end)
{
	const struct kgb_op_state *op = state_of(one->owner);
	for (size_t i = 0; i < one->n; i++) {
		const enum kgb_batched_end how = end == KGB_BATCH_UNSENT ? KGB_BATCHED_UNSENT
						 : one->failed[i] || end == KGB_BATCH_OVER
							 ? KGB_BATCHED_FAILED
							 : KGB_BATCHED_LOST;
		if (!kgb_op_sample(op, one->numbers[i], 1))
			kgb_batched_settle(one->owner->spec.model->session, &one->most, how, NULL);
	}
}

static void miss_rest(struct one *one)
{
	const struct kgb_llm_batches_spec *spec = &one->owner->spec;
	for (size_t i = 0; i < one->n; i++)
		if (!kgb_op_sample(state_of(one->owner), one->numbers[i], 1))
			spec->on_missing(spec->payload, one->numbers[i], one->status, one->why);
}

static void on_end(void *payload, enum kgb_batch_end end, int status, const char *why)
{
	struct one *one = payload;
	const struct kgb_llm_batches_spec *spec = &one->owner->spec;
	const struct kgb_batch_record *record = record_of(one);
	struct kgb_err err = KGB_ERR_INIT;
	one->batch = NULL;
	if (!*one->why) {
		one->status = status;
		snprintf(one->why, sizeof(one->why), "%s",
			 *why ? why : "the batch ended without this result");
	}
	if (end != KGB_BATCH_LEFT) {
		settle_rest(one, end);
		if (journal(one, "over", record ? record->id : NULL, &err) < 0)
			spec->on_fatal(spec->payload, &err);
	}
	miss_rest(one);
}

/** Whether another batch of the run has that id. */
static bool is_other(const void *payload, const char *id)
{
	const struct one *one = payload;
	const struct kgb_run_state *state = kgb_run_log_state(one->owner->spec.facts->env->log);
	for (size_t i = 0; i < state->n_ops; i++)
		for (size_t k = 0; k < state->ops[i].n_batches; k++)
			if (kgb_str_eq(state->ops[i].batches[k].id, id) &&
			    !kgb_str_eq(state->ops[i].batches[k].key, one->key))
				return true;
	return false;
}

static const struct kgb_batch_callbacks callbacks = {
	.on_id = on_id, .on_result = on_result, .on_end = on_end, .is_other = is_other};

/* ---- the way to the provider ---- */

static struct one *add(struct kgb_llm_batches *batches, const int *numbers, size_t n)
{
	struct one *one = kgb_xcalloc(1, sizeof(*one));
	one->owner = batches;
	one->numbers = kgb_xcalloc(n + 1, sizeof(*one->numbers));
	one->failed = kgb_xcalloc(n + 1, sizeof(*one->failed));
	for (size_t i = 0; i < n; i++)
		one->numbers[i] = numbers[i];
	one->n = n;
	one->next = batches->first;
	batches->first = one;
	return one;
}

static void start(struct one *one, const struct kgb_batch_record *earlier)
{
	const struct kgb_llm_batches_spec *spec = &one->owner->spec;
	const struct kgb_attempt_env *env = spec->facts->env;
	struct kgb_batch_body body;
	int max_number = 0;
	kgb_batch_body_init(&body, env->samples->protocol, one->key);
	for (size_t i = 0; i < one->n; i++) {
		const struct kgb_question question = spec->question(spec->payload, one->numbers[i]);
		kgb_batch_body_add(&body, one->numbers[i], &question);
		max_number = one->numbers[i] > max_number ? one->numbers[i] : max_number;
	}
	kgb_batch_body_end(&body);
	one->batch = kgb_batch_start(
		&(struct kgb_batch_spec){.loop = env->loop,
					 .upstream = kgb_asker_upstream(env->asker),
					 .base_url = spec->base_url,
					 .token = spec->facts->token,
					 .protocol = env->samples->protocol,
					 .key = one->key,
					 .take_body = &body,
					 .max_number = max_number,
					 .max_tokens = env->samples->sampling.max_tokens,
					 .id = earlier ? earlier->id : NULL,
					 .may_exist = earlier != NULL,
					 .left_ms = earlier ? earlier->left_ms : kgb_wall_ms(),
					 .poll_ms = env->samples->batch_poll_ms,
					 .callbacks = &callbacks,
					 .payload = one});
}

void kgb_llm_batches_adopt(struct kgb_llm_batches *batches)
{
	const struct kgb_llm_batches_spec *spec = &batches->spec;
	for (size_t i = 0; i < state_of(batches)->n_batches; i++) {
		const struct kgb_batch_record record = state_of(batches)->batches[i];
		struct kgb_err err = KGB_ERR_INIT;
		if (kgb_str_eq(record.state, "over"))
			continue;
		struct one *one = add(batches, record.numbers, record.n);
		snprintf(one->key, sizeof(one->key), "%s", record.key);
		one->most = record.most;
		for (size_t k = kgb_op_n_outstanding(state_of(batches), &record); k > 0; k--)
			kgb_batched_reopen(spec->model->session, &one->most);
		if (journal(one, record.state, record.id, &err) < 0) {
			spec->on_fatal(spec->payload, &err);
			return;
		}
		start(one, &record);
	}
}

bool kgb_llm_batches_has(const struct kgb_llm_batches *batches, int number)
{
	for (const struct one *one = batches->first; one; one = one->next)
		if (one->batch && index_of(one, number) >= 0)
			return true;
	return false;
}

/** Reserve for as many of the samples as the budgets have room for; returns how many. */
static size_t reserve(const struct kgb_llm_batches *batches, const struct kgb_charge *most,
		      size_t n, struct kgb_err *why)
{
	size_t granted = 0;
	while (granted < n && kgb_batched_reserve(batches->spec.model->session, most, why) == 0)
		granted++;
	return granted;
}

void kgb_llm_batches_ask(struct kgb_llm_batches *batches, const int *numbers, size_t n)
{
	const struct kgb_llm_batches_spec *spec = &batches->spec;
	const struct kgb_attempt_env *env = spec->facts->env;
	const int64_t output = env->samples->sampling.max_tokens;
	if (n == 0)
		return;
	KGB_AUTO(buf) struct kgb_buf longest = KGB_BUF_INIT(0);
	const struct kgb_question question = spec->question(spec->payload, numbers[n - 1]);
	kgb_question_write(&question, &longest);
	const size_t bytes = longest.len + 256; /* and what names it */
	const size_t most = kgb_batch_most(env->samples->protocol, bytes, output);
	const struct kgb_charge charge =
		kgb_batched_most(spec->model->session, env->model, bytes, output);
	struct kgb_err why = KGB_ERR_INIT, err = KGB_ERR_INIT;
	const size_t granted = reserve(batches, &charge, n, &why);
	for (size_t at = 0; at < granted; at += most) {
		struct one *one =
			add(batches, numbers + at, granted - at < most ? granted - at : most);
		kgb_batch_key(one->key);
		one->most = charge;
		if (journal(one, "leaving", NULL, &err) < 0) {
			spec->on_fatal(spec->payload, &err);
			return;
		}
		start(one, NULL);
	}
	for (size_t i = granted; i < n; i++)
		spec->on_missing(spec->payload, numbers[i], KGB_LLM_NO_BUDGET, why.msg);
}

/* ---- the end ---- */

void kgb_llm_batches_leave(struct kgb_llm_batches *batches)
{
	for (struct one *one = batches->first; one; one = one->next) {
		const struct kgb_batch_record *record = record_of(one);
		if (!one->batch)
			continue;
		kgb_info(
			"%s: batch %s stays at the provider: `kgb-agent resume` fetches its results",
			batches->spec.facts->spec->name,
			record && record->id ? record->id : one->key);
		kgb_batch_leave(KGB_TAKE(one->batch));
	}
}

struct kgb_llm_batches *kgb_llm_batches_new(const struct kgb_llm_batches_spec *spec)
{
	struct kgb_llm_batches *batches = kgb_xcalloc(1, sizeof(*batches));
	batches->spec = *spec;
	return batches;
}

void kgb_llm_batches_free(struct kgb_llm_batches *batches)
{
	for (struct one *one = batches ? batches->first : NULL, *next; one; one = next) {
		KGB_ASSERT(!one->batch);
		next = one->next;
		kgb_free(one->numbers);
		kgb_free(one->failed);
		kgb_free(one);
	}
	kgb_free(batches);
}
