/* SPDX-License-Identifier: MIT */
#include "agent/llm/llm_attempt.h"

#include <fcntl.h>

#include "agent/config/config.h"
#include "agent/llm/feedback.h"
#include "agent/llm/llm_batch.h"
#include "agent/llm/llm_listen.h"
#include "agent/llm/llm_parts.h"
#include "agent/llm/llm_replay.h"
#include "agent/llm/op_samples.h"
#include "agent/llm/refusals.h"
#include "agent/llm/reply.h"
#include "agent/llm/same_kernel.h"
#include "agent/llm/share.h"
#include "base/codes.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/system/fs.h"
#include "base/time.h"
#include "methods/events.h"
#include "sandbox/cassette/replay.h"
#include "verify/lane/reached.h"

const struct kgb_op_state *kgb_llm__state_of(const struct kgb_llm_attempt *attempt)
{
	return kgb_run_state_op(kgb_run_log_state(attempt->facts.env->log),
				attempt->facts.spec->name);
}

void kgb_llm__report_fatal(struct kgb_llm_attempt *attempt, const struct kgb_err *err)
{
	if (attempt->reported_fatal)
		return;
	attempt->reported_fatal = true;
	attempt->facts.env->on_fatal(attempt->facts.env->payload, err);
}

void kgb_llm__check(struct kgb_llm_attempt *attempt, int rc, const struct kgb_err *err)
{
	if (rc < 0)
		kgb_llm__report_fatal(attempt, err);
}

/** Path of the files of a sample without suffix, below the folder of the attempt that asked for it;
 * malloc'ed. */
static char *sample_stem(const struct kgb_llm_attempt *attempt, int asked_by, int number, int round)
{
	KGB_AUTO(free)
	char *rel = kgb_rundir_attempt_rel(attempt->facts.spec->safe_name, asked_by);
	KGB_AUTO(free) char *later = round > 1 ? kgb_xasprintf("-%d", round) : kgb_xstrdup("");
	return kgb_xasprintf("%s/%s/samples/%04d%s", attempt->facts.env->dir->path, rel, number,
			     later);
}

/** Path of one of these files; malloc'ed. */
char *kgb_llm__sample_path(const struct kgb_llm_attempt *attempt, const struct kgb_sample *sample,
			   const char *suffix)
{
	KGB_AUTO(free)
	char *stem = sample_stem(attempt, sample->attempt, sample->number, sample->round);
	return kgb_xasprintf("%s.%s", stem, suffix);
}

int kgb_llm__write_sample_file(const struct kgb_llm_work *work, const char *suffix,
			       const char *text, size_t len, struct kgb_err *err)
{
	const struct kgb_sample here = {.attempt = work->attempt->facts.number,
					.number = work->number,
					.round = work->round};
	KGB_AUTO(free) char *path = kgb_llm__sample_path(work->attempt, &here, suffix);
	return kgb_fs_write_atomic(AT_FDCWD, path, text, len, 0644, false, err);
}

/** What is recorded of a round; NULL: it is not answered. */
const struct kgb_sample *kgb_llm__sample_of(const struct kgb_llm_work *work)
{
	return kgb_op_sample(kgb_llm__state_of(work->attempt), work->number, work->round);
}

/* ---- the end ---- */

static void forget_feedback(struct kgb_llm_work *work);

static void free_attempt(struct kgb_llm_attempt *attempt)
{
	kgb_offline_free(attempt->offline);
	kgb_cassette_free(attempt->cassette);
	kgb_attempt_facts_release(&attempt->facts);
	kgb_chat_prompt_release(&attempt->prompt);
	kgb_free(attempt->traffic);
	kgb_free(attempt->base_url);
	for (int i = 0; i < attempt->n_work; i++)
		forget_feedback(&attempt->work[i]);
	kgb_llm_batches_free(attempt->batches);
	kgb_free(attempt->work);
	kgb_free(attempt);
}

/** Put the best kernel where the final verification takes it from. */
static int harvest(struct kgb_llm_attempt *attempt, const struct kgb_sample *best,
		   struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf kernel = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
	KGB_AUTO(free) char *path = kgb_llm__sample_path(attempt, best, "py");
	return kgb_fs_read(AT_FDCWD, path, KGB_LIMIT_KERNEL, &kernel, err) < 0 ||
			       kgb_rundir_write_kernel(attempt->facts.env->dir,
						       attempt->facts.spec->safe_name, kernel.ptr,
						       kernel.len, err) < 0
		       ? -1
		       : 0;
}

static void finish(struct kgb_llm_attempt *attempt)
{
	const struct kgb_attempt_env *env = attempt->facts.env;
	const struct kgb_op_state *op = kgb_llm__state_of(attempt);
	const struct kgb_sample *best = kgb_best_sample(op);
	struct kgb_err err = KGB_ERR_INIT;
	if (best && harvest(attempt, best, &err) < 0) {
		kgb_llm__report_fatal(attempt, &err);
		best = NULL;
	}
	const enum kgb_agent_end end = attempt->cancelled   ? KGB_AGENT_CANCELLED
				       : attempt->timed_out ? KGB_AGENT_TIMEOUT
							    : attempt->end;
	struct kgb_attempt_outcome outcome = {
		.end = end,
		.has_kernel = best != NULL,
		.retry = kgb_agent_end_retryable(end) &&
			 attempt->facts.number < env->max_attempts && !attempt->reported_fatal,
	};
	if (env->replay && !attempt->cancelled)
		outcome.retry = attempt->facts.number <
				kgb_llm_recorded_attempts(env, attempt->facts.spec->name);
	const struct kgb_budget *budget = kgb_budget_reached(&attempt->model.budget);
	if (end != KGB_AGENT_OK) {
		outcome.code = end == KGB_AGENT_BUDGET && budget
				       ? kgb_code_name(kgb_budget_code(budget->reached))
				       : kgb_agent_end_code(end);
		outcome.message = attempt->why;
	} else if (!best) {
		outcome.code = kgb_code_name(KGB_CODE_AGENT_NO_KERNEL);
		outcome.message = "no reply has a kernel";
	}
	const struct kgb_event_attempt_finished event = {
		.operator= attempt->facts.spec->name,
		.attempt = attempt->facts.number,
		.end = end,
		.retry = outcome.retry,
		.exit_code = -1,
		.kernel_sha256 = best ? best->kernel_sha256 : NULL,
		.kernel_source = best ? best->kernel_source : NULL,
		.error_code = outcome.code,
		.error_message = outcome.message,
		.gateway = &attempt->sums.totals,
	};
	kgb_llm__check(attempt, kgb_event_attempt_finished(env->log, &event, &err), &err);
	attempt->done(attempt->payload, &outcome);
	free_attempt(attempt);
}

static void on_limit_closed(uv_handle_t *handle)
{
	finish(handle->data);
}

static void close_limit(struct kgb_llm_attempt *attempt)
{
	uv_close((uv_handle_t *)&attempt->limit, on_limit_closed);
}

static void on_session_closed(void *payload)
{
	close_limit(payload);
}

/** The attempt is over when no sample is under way. */
void kgb_llm__end_if_idle(struct kgb_llm_attempt *attempt)
{
	if (attempt->n_open > 0 || attempt->is_ending)
		return;
	attempt->is_ending = true;
	uv_timer_stop(&attempt->limit);
	if (attempt->model.session)
		kgb_model_session_close(&attempt->model);
	else
		close_limit(attempt);
}

void kgb_llm__end_work(struct kgb_llm_work *work)
{
	work->is_over = true;
	work->attempt->n_open--;
	kgb_llm__end_if_idle(work->attempt);
}

/** Mark the rounds after this one as never to be asked. */
void kgb_llm__end_chain(struct kgb_llm_work *work)
{
	const int n_rounds = work->attempt->facts.env->samples->n_rounds;
	for (int round = work->round; round < n_rounds; round++) {
		struct kgb_llm_work *later = work + (round - work->round) + 1;
		if (!later->is_over)
			kgb_llm__end_work(later);
	}
}

/** The chain ends without an answer in this round. */
static void give_up(struct kgb_llm_work *work)
{
	kgb_llm__end_chain(work);
	kgb_llm__end_work(work);
}

/** The samples of a request end without an answer. */
static void give_up_request(struct kgb_llm_work *first)
{
	for (struct kgb_llm_work *work = first, *next; work; work = next) {
		next = work->next;
		work->next = NULL;
		give_up(work);
	}
}

/** Leave the batches at the provider: a later attempt goes on with them. */
static void leave_batches(struct kgb_llm_attempt *attempt)
{
	if (attempt->batches)
		kgb_llm_batches_leave(attempt->batches);
	for (int i = 0; i < attempt->n_work; i++)
		if (attempt->work[i].is_batched) {
			attempt->work[i].is_batched = false;
			kgb_llm__end_work(&attempt->work[i]);
		}
}

/** Send no more questions. Without `now`, wait for the answers to questions that have left, because
 * they are paid for. */
static void drop_questions(struct kgb_llm_attempt *attempt, bool now)
{
	if (now)
		leave_batches(attempt);
	for (int i = 0; i < attempt->n_work; i++) {
		struct kgb_llm_work *work = &attempt->work[i];
		if (!work->ask || (kgb_ask_is_open(work->ask) && !now))
			continue;
		kgb_ask_cancel(work->ask);
		work->ask = NULL;
		give_up_request(work);
	}
}

/* ---- asking ---- */

/** The last question of a sample, without the turns of a later round. */
static struct kgb_question question_of(const struct kgb_llm_work *work)
{
	KGB_ASSERT(work);
	const struct kgb_llm_attempt *attempt = work->attempt;
	const struct kgb_attempt_env *env = attempt->facts.env;
	struct kgb_question question = {.protocol = env->samples->protocol,
					.model = env->model,
					.system_text = attempt->prompt.system_text.ptr,
					.turns = {attempt->prompt.task.ptr},
					.sampling = env->samples->sampling,
					.stream = env->samples->stream,
					.n_choices = work->n_choices};
	question.sampling.refused = work->refused;
	if (question.sampling.seed >= 0)
		question.sampling.seed +=
			work->first - 1 + (int64_t)KGB_SAMPLES_MAX * (work->round - 1);
	return question;
}

/** The verdict on an answer without a kernel. */
static void judge_nothing(struct kgb_llm_work *work)
{
	struct kgb_sample none = {.status = "failed",
				  .code = kgb_code_name(KGB_CODE_AGENT_NO_KERNEL),
				  .reached = kgb_reached_name(KGB_REACHED_NOTHING)};
	kgb_llm__record_verdict(work, &none);
	kgb_llm__end_work(work);
}

/** Record an answer and its kernel, and submit the kernel to the judge. */
static int take_answer(struct kgb_llm_work *work, const struct kgb_choice *answer,
		       const struct kgb_share *share, struct kgb_err *err)
{
	struct kgb_llm_attempt *attempt = work->attempt;
	const struct kgb_attempt_env *env = attempt->facts.env;
	const char *source = NULL;
	KGB_AUTO(free)
	char *kernel = kgb_reply_kernel(answer->text.ptr, attempt->facts.spec, &source);
	if (kernel && strlen(kernel) > KGB_LIMIT_KERNEL)
		kernel = (kgb_free(kernel), NULL);
	const struct kgb_question question = question_of(work);
	KGB_AUTO(buf) struct kgb_buf sent = KGB_BUF_INIT(0);
	kgb_question_write_sent(&question, &sent);
	if (kgb_llm__write_sample_file(work, "md", answer->text.ptr, answer->text.len, err) < 0)
		return -1;
	if (answer->thinking.len > 0 &&
	    kgb_llm__write_sample_file(work, "thinking.md", answer->thinking.ptr,
				       answer->thinking.len, err) < 0)
		return -1;
	char sha256[KGB_SHA256_HEX_LEN];
	if (kernel) {
		kgb_sha256_hex(kernel, strlen(kernel), sha256);
		kgb_kernel_tree_sha256(kernel, work->tree);
		if (kgb_llm__write_sample_file(work, "py", kernel, strlen(kernel), err) < 0)
			return -1;
	}
	struct kgb_sample sample = {
		.number = work->number,
		.round = work->round,
		.attempt = attempt->facts.number,
		.wall_ms = kgb_mono_ms() - work->asked_ms,
		.finish = kgb_answer_finish_name(answer->finish),
		.sent = sent.ptr,
		.thinking_bytes = (int64_t)answer->thinking.len,
		.choice = work->n_choices > 1 ? work->choice + 1 : 0,
		.kernel_sha256 = kernel ? sha256 : NULL,
		.kernel_source = kernel ? source : NULL,
		.kernel_tree = kernel ? work->tree : NULL,
	};
	kgb_share_count(env, share, &sample);
	/* The sample's sync puts its costs on disk as well. */
	const bool is_batched = work->is_batched;
	work->is_batched = false;
	if (is_batched)
		attempt->model.usage_changed = false;
	else
		kgb_model_session_flush(&attempt->model);
	if (kgb_event_sample(env->log, attempt->facts.spec->name, &sample,
			     is_batched ? &attempt->sums.totals : NULL, err) < 0)
		return -1;
	kgb_llm__go_on(work);
	if (kernel)
		kgb_llm__judge(work);
	else
		judge_nothing(work);
	return 0;
}

/** Ask for each sample of a request by itself. */
static void ask_one_by_one(struct kgb_llm_work *first)
{
	for (struct kgb_llm_work *work = first, *next; work; work = next) {
		next = work->next;
		work->next = NULL;
		kgb_llm__ask(work);
	}
}

/** Leave out the field that the server refuses. True: the question is asked again. */
static bool ask_without_field(struct kgb_llm_work *work, const struct kgb_answer *answer)
{
	struct kgb_sampling_plan *plan = work->attempt->facts.env->samples;
	if (work->n_choices > 1 && answer->is_misnumbered) {
		kgb_refuse_choices(plan, answer->error);
		ask_one_by_one(work);
		return true;
	}
	if (!kgb_refusal_is_of_fields(answer))
		return false;
	const struct kgb_question question = question_of(work);
	if (!kgb_refuse_field(plan, &question, answer)) {
		/* Servers word this error in many ways. */
		if (work->n_choices == 1)
			return false;
		kgb_refuse_choices(plan, answer->error);
		ask_one_by_one(work);
		return true;
	}
	kgb_llm__ask(work);
	return true;
}

bool kgb_llm__is_hopeless(enum kgb_agent_end end)
{
	return end == KGB_AGENT_AUTH || end == KGB_AGENT_CREDIT || end == KGB_AGENT_MODEL ||
	       end == KGB_AGENT_BUDGET;
}

/** Nothing came: the sample stays missing. */
static void note_missing(struct kgb_llm_work *work, const struct kgb_answer *answer)
{
	struct kgb_llm_attempt *attempt = work->attempt;
	const struct kgb_budget *budget = kgb_budget_reached(&attempt->model.budget);
	enum kgb_agent_end end = answer->status == 0     ? KGB_AGENT_NETWORK
				 : answer->status == 200 ? KGB_AGENT_TRANSIENT
							 : kgb_events__status_end(answer->status);
	/* LiteLLM's proxy answers with status 400. */
	if (answer->status == 400 && strstr(answer->error, "Invalid model name"))
		end = KGB_AGENT_MODEL;
	if (budget || answer->status == KGB_LLM_NO_BUDGET)
		end = KGB_AGENT_BUDGET;
	if (attempt->facts.env->replay) /* not in the record */
		end = KGB_AGENT_TRANSIENT;
	kgb_verbose("%s: sample %d is missing: %s", attempt->facts.spec->name, work->number,
		    answer->error);
	if (!kgb_llm__is_hopeless(attempt->end)) {
		attempt->end = end;
		snprintf(attempt->why, sizeof(attempt->why), "%s", answer->error);
	}
	if (kgb_llm__is_hopeless(end))
		drop_questions(attempt, false);
	/* Requests for other operators would fail the same way. A model that has answered before
	 * may recover soon. */
	if (end == KGB_AGENT_AUTH || end == KGB_AGENT_CREDIT ||
	    (end == KGB_AGENT_MODEL && !kgb_asker_is_answered(attempt->facts.env->asker)))
		kgb_asker_refuse(attempt->facts.env->asker, answer);
	give_up_request(work);
}

/** Take the choices that came and ask for the others one by one. */
static void take_choices(struct kgb_llm_work *first, const struct kgb_answer *answer)
{
	struct kgb_llm_attempt *attempt = first->attempt;
	int n_there = 0, n_begun = 0;
	for (int i = 0; i < answer->n_choices; i++) {
		n_there += answer->choices[i].finish != KGB_ANSWER_BROKEN;
		n_begun += answer->choices[i].text.len > 0 || answer->choices[i].thinking.len > 0;
	}
	if (answer->n_choices > 1 && n_begun <= 1 && !answer->is_misnumbered)
		kgb_refuse_choices(attempt->facts.env->samples, "it answers with one choice");
	if (n_there < answer->n_choices || answer->is_misnumbered)
		kgb_verbose("%s: %d of %d choices came for sample %d and the next ones%s",
			    attempt->facts.spec->name, n_there, answer->n_choices, first->number,
			    answer->is_misnumbered ? "; their indices are not distinct" : "");
	struct kgb_share share = {.meter = &answer->meter, .n = n_there};
	for (struct kgb_llm_work *work = first, *next; work; work = next) {
		const struct kgb_choice *choice = &answer->choices[work->choice];
		struct kgb_err err = KGB_ERR_INIT;
		next = work->next;
		work->next = NULL;
		if (choice->finish == KGB_ANSWER_BROKEN) {
			kgb_llm__ask(work);
			continue;
		}
		if (take_answer(work, choice, &share, &err) < 0) {
			kgb_llm__report_fatal(attempt, &err);
			give_up(work);
		}
		share.place++;
	}
}

static void on_answer(void *payload, const struct kgb_answer *answer)
{
	struct kgb_llm_work *work = payload;
	work->ask = NULL;
	if (kgb_answer_any(answer))
		take_choices(work, answer);
	else if (work->attempt->facts.env->replay || !ask_without_field(work, answer))
		note_missing(work, answer);
}

/** Send the question. */
static void leave(void *payload, struct kgb_question *out)
{
	struct kgb_llm_work *first = payload;
	for (struct kgb_llm_work *work = first; work; work = work->next) {
		const struct kgb_attempt_env *env = work->attempt->facts.env;
		if (!env->replay)
			work->refused = env->samples->sampling.refused;
		work->asked_ms = kgb_mono_ms();
	}
	*out = question_of(first);
	out->turns[1] = first->last_answer;
	out->turns[2] = first->last_report;
}

/** The last answer of the chain and the report on it. */
static int write_feedback(const struct kgb_llm_work *last, struct kgb_buf *answer,
			  struct kgb_buf *text, struct kgb_err *err)
{
	const struct kgb_llm_attempt *attempt = last->attempt;
	const struct kgb_sample *sample = kgb_llm__sample_of(last);
	KGB_AUTO(free)
	char *stem = sample_stem(attempt, sample->attempt, sample->number, sample->round);
	return kgb_llm_feedback_write(
		&(struct kgb_llm_feedback){.texts = attempt->facts.env->samples->texts,
					   .operator= attempt->facts.spec->name,
					   .sample = sample,
					   .rounds = attempt->facts.env->samples->n_rounds,
					   .stem = stem},
		answer, text, err);
}

static void forget_feedback(struct kgb_llm_work *work)
{
	kgb_free(KGB_TAKE(work->last_answer));
	kgb_free(KGB_TAKE(work->last_report));
}

/** Read the last answer and the report on it, for the question of a later round. On failure the run
 * ends. */
static int read_feedback(struct kgb_llm_work *work)
{
	KGB_AUTO(buf) struct kgb_buf answer = KGB_BUF_INIT(KGB_ANSWER_BYTES);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	struct kgb_err err = KGB_ERR_INIT;
	forget_feedback(work);
	if (write_feedback(work - 1, &answer, &text, &err) < 0) {
		kgb_llm__report_fatal(work->attempt, &err);
		give_up_request(work);
		return -1;
	}
	work->last_answer = kgb_buf_take(&answer);
	work->last_report = kgb_buf_take(&text);
	return 0;
}

static void submit(struct kgb_llm_work *first)
{
	const struct kgb_llm_attempt *attempt = first->attempt;
	first->ask = kgb_ask_submit(attempt->facts.env->asker,
				    &(struct kgb_ask_spec){.base_url = attempt->base_url,
							   .token = attempt->facts.token,
							   .sample = first->first,
							   .rank = first->number,
							   .timeout_ms = attempt->answer_ms,
							   .question = leave,
							   .done = on_answer,
							   .payload = first});
}

/** Send one request for linked samples. */
void kgb_llm__ask(struct kgb_llm_work *first)
{
	int n = 0;
	for (struct kgb_llm_work *work = first; work; work = work->next)
		work->choice = n++;
	for (struct kgb_llm_work *work = first; work; work = work->next) {
		work->first = first->number;
		work->n_choices = n;
	}
	if (first->round == 1 || read_feedback(first) == 0)
		submit(first);
}

/** The sample that an earlier one of the replay shares its request with, or NULL. */
static struct kgb_llm_work *last_of_request(struct kgb_llm_attempt *attempt,
					    const struct kgb_llm_work *work)
{
	for (int i = work->number - 1; i >= work->first && work->n_choices > 1; i--) {
		struct kgb_llm_work *before = &attempt->work[i - 1];
		if (!before->is_over && before->first == work->first && before->n_choices > 1)
			return before;
	}
	return NULL;
}

/** In a replay, which has no rounds: ask for the samples of the recorded attempt, with the same
 * requests. */
static void ask_as_recorded(struct kgb_llm_attempt *attempt)
{
	const struct kgb_attempt_facts *facts = &attempt->facts;
	struct kgb_llm_work **firsts =
		kgb_xcalloc((size_t)attempt->n_work + 1, sizeof(struct kgb_llm_work *));
	int n_firsts = 0;
	for (int i = 0; i < attempt->n_work; i++) {
		struct kgb_llm_work *work = &attempt->work[i];
		const struct kgb_sample *recorded =
			kgb_llm_recorded(facts->env, facts->spec->name, work->number);
		if (work->is_over)
			continue;
		if (!recorded || recorded->attempt != facts->number) {
			kgb_llm__end_work(work);
			continue;
		}
		work->first = kgb_llm_recorded_first(facts->env, facts->spec->name, recorded);
		work->choice = recorded->choice > 0 ? recorded->choice - 1 : 0;
		work->n_choices = kgb_llm_recorded_choices(recorded);
		const struct kgb_question question = question_of(work);
		work->refused = kgb_question_left_out(&question, recorded->sent);
		struct kgb_llm_work *before = last_of_request(attempt, work);
		if (before)
			before->next = work;
		else
			firsts[n_firsts++] = work;
	}
	for (int i = 0; i < n_firsts; i++)
		submit(firsts[i]);
	kgb_free(firsts);
}

/* ---- batches ---- */

/** A batch brings no later round. */
static struct kgb_llm_work *work_of(struct kgb_llm_attempt *attempt, int number)
{
	return number <= attempt->facts.env->samples->n_samples ? &attempt->work[number - 1] : NULL;
}

static struct kgb_question batch_question(void *payload, int number)
{
	struct kgb_llm_attempt *attempt = payload;
	const struct kgb_llm_work work = {.attempt = attempt,
					  .number = number,
					  .round = 1,
					  .first = number,
					  .n_choices = 1,
					  .refused = attempt->facts.env->samples->sampling.refused};
	struct kgb_question question = question_of(&work);
	question.stream = false;
	return question;
}

static void on_batch_answer(void *payload, int number, const struct kgb_answer *answer)
{
	const struct kgb_share share = {.meter = &answer->meter, .n = 1};
	struct kgb_llm_attempt *attempt = payload;
	struct kgb_llm_work *work = work_of(attempt, number);
	struct kgb_err err = KGB_ERR_INIT;
	if (work && work->is_batched && take_answer(work, answer->choices, &share, &err) < 0) {
		kgb_llm__report_fatal(attempt, &err);
		kgb_llm__end_work(work);
	}
}

static void on_batch_missing(void *payload, int number, int status, const char *why)
{
	struct kgb_llm_work *work = work_of(payload, number);
	if (!work || !work->is_batched)
		return;
	struct kgb_answer answer = {.protocol = work->attempt->facts.env->samples->protocol,
				    .status = status};
	snprintf(answer.error, sizeof(answer.error), "%s", why);
	work->is_batched = false;
	const struct kgb_question question = question_of(work);
	if (kgb_refuse_field(work->attempt->facts.env->samples, &question, &answer))
		answer.status = 200; /* the next attempt leaves it out */
	note_missing(work, &answer);
}

static void on_batch_fatal(void *payload, const struct kgb_err *err)
{
	kgb_llm__report_fatal(payload, err);
	drop_questions(payload, true);
}

/** Go on with the batches of earlier attempts, and with --batch ask for all others in new ones. */
static void begin_batches(struct kgb_llm_attempt *attempt)
{
	const struct kgb_sampling_plan *plan = attempt->facts.env->samples;
	const struct kgb_llm_batches_spec spec = {.facts = &attempt->facts,
						  .model = &attempt->model,
						  .base_url = attempt->base_url,
						  .question = batch_question,
						  .on_answer = on_batch_answer,
						  .on_missing = on_batch_missing,
						  .on_fatal = on_batch_fatal,
						  .payload = attempt};
	if (!plan->batch && kgb_llm__state_of(attempt)->n_batches == 0)
		return;
	attempt->batches = kgb_llm_batches_new(&spec);
	kgb_llm_batches_adopt(attempt->batches);
	int *numbers = kgb_xcalloc((size_t)plan->n_samples, sizeof(*numbers));
	size_t n = 0;
	for (int i = 0; i < plan->n_samples; i++) {
		struct kgb_llm_work *work = &attempt->work[i];
		if (kgb_llm__sample_of(work))
			continue;
		const bool is_there = kgb_llm_batches_has(attempt->batches, work->number);
		work->is_batched = is_there || plan->batch;
		work->first = work->number;
		work->n_choices = 1;
		work->refused = plan->sampling.refused;
		work->asked_ms = kgb_mono_ms();
		if (work->is_batched && !is_there)
			numbers[n++] = work->number;
	}
	if (!attempt->reported_fatal)
		kgb_llm_batches_ask(attempt->batches, numbers, n);
	kgb_free(numbers);
}

/** Ask for the first rounds that are missing, as many in a request as the server takes. */
static void ask_for_missing(struct kgb_llm_attempt *attempt)
{
	const struct kgb_sampling_plan *plan = attempt->facts.env->samples;
	struct kgb_llm_work *first = NULL, *last = NULL;
	int n = 0;
	for (int i = 0; i < attempt->n_work; i += plan->n_rounds) {
		struct kgb_llm_work *work = &attempt->work[i];
		if (work->is_over || work->is_batched || kgb_llm__sample_of(work))
			continue;
		if (first)
			last->next = work;
		else
			first = work;
		last = work;
		if (++n < plan->choices)
			continue;
		kgb_llm__ask(first);
		first = NULL;
		n = 0;
	}
	if (first)
		kgb_llm__ask(first);
}

/** Ask for the missing samples, and submit those without a verdict to the judge. */
static void begin_work(struct kgb_llm_attempt *attempt)
{
	const struct kgb_sampling_plan *plan = attempt->facts.env->samples;
	attempt->n_open = attempt->n_work + 1; /* nothing ends before all has begun */
	for (int i = 0; i < attempt->n_work; i++) {
		struct kgb_llm_work *work = &attempt->work[i];
		const struct kgb_sample *sample = kgb_llm__sample_of(work);
		if (!sample && plan->only_judge && !work->is_over)
			kgb_llm__end_work(work);
		if (!sample)
			continue; /* a later round follows when the one before it is checked */
		if (sample->kernel_sha256)
			snprintf(work->tree, sizeof(work->tree), "%s",
				 sample->kernel_tree ? sample->kernel_tree : sample->kernel_sha256);
		if (!plan->only_judge)
			kgb_llm__go_on(work);
		if (sample->has_verdict)
			kgb_llm__end_work(work);
		else if (!sample->kernel_sha256) /* kgb-agent ended in between */
			judge_nothing(work);
		else
			kgb_llm__judge(work);
	}
	if (attempt->facts.env->replay) {
		ask_as_recorded(attempt);
	} else if (!plan->only_judge) {
		begin_batches(attempt);
		ask_for_missing(attempt);
	}
	attempt->n_open--;
	kgb_llm__end_if_idle(attempt);
}

/* ---- the beginning ---- */

static void on_limit(uv_timer_t *timer)
{
	struct kgb_llm_attempt *attempt = timer->data;
	attempt->timed_out = true;
	snprintf(attempt->why, sizeof(attempt->why), "the attempt reached its time limit");
	drop_questions(attempt, true);
}

void kgb_llm_attempt_cancel(struct kgb_llm_attempt *attempt)
{
	if (attempt->is_ending)
		return;
	attempt->cancelled = true;
	snprintf(attempt->why, sizeof(attempt->why), "cancelled before there was a kernel");
	for (int i = 0; i < attempt->n_work; i++) {
		if (attempt->work[i].job)
			kgb_job_cancel(attempt->work[i].job);
		if (attempt->work[i].check)
			kgb_job_cancel(attempt->work[i].check);
	}
	drop_questions(attempt, true);
}

static int open_session(struct kgb_llm_attempt *attempt, struct kgb_err *err)
{
	int fd = -1;
	if (attempt->facts.env->samples->only_judge)
		return 0;
	if (kgb_llm_listen(&attempt->base_url, &fd, err) < 0)
		return -1;
	const struct kgb_model_source source = {.offline = attempt->offline,
						.cassette = attempt->cassette,
						.traffic_dir = attempt->traffic};
	return kgb_model_session_open(&attempt->model, &source, fd, err);
}

/** The task of the recorded attempt: its answers are found by the text of the questions. False:
 * there is none. */
static bool find_recorded_task(const struct kgb_llm_attempt *attempt, struct kgb_buf *out)
{
	const struct kgb_attempt_facts *facts = &attempt->facts;
	struct kgb_err ignored = KGB_ERR_INIT;

	if (!facts->env->replay)
		return false;
	KGB_AUTO(free) char *rel = kgb_rundir_attempt_rel(facts->spec->safe_name, facts->number);
	KGB_AUTO(free) char *path = kgb_xasprintf("%s/%s/prompt.md", facts->env->replay->dir, rel);
	return kgb_fs_read(AT_FDCWD, path, KGB_LIMIT_PROMPT, out, &ignored) == 0;
}

static int make_prompt(struct kgb_llm_attempt *attempt, struct kgb_err *err)
{
	const struct kgb_attempt_env *env = attempt->facts.env;
	const struct kgb_chat_texts *texts = env->samples->texts;
	KGB_AUTO(free) char *path = kgb_attempt_path(&attempt->facts.paths, "prompt.md");
	KGB_AUTO(buf) struct kgb_buf task = KGB_BUF_INIT(KGB_LIMIT_PROMPT);

	if (find_recorded_task(attempt, &task))
		kgb_chat_prompt_of(&attempt->prompt, texts, task.ptr);
	else if (kgb_chat_prompt_render(&attempt->prompt, env->data_dir, env->method, texts,
					attempt->facts.spec, &env->prompt, err) < 0)
		return -1;
	return kgb_fs_write_atomic(AT_FDCWD, path, attempt->prompt.task.ptr,
				   attempt->prompt.task.len, 0644, false, err);
}

static int load_offline(struct kgb_llm_attempt *attempt, struct kgb_err *err)
{
	const struct kgb_attempt_env *env = attempt->facts.env;
	if (env->gateway_mode != KGB_GATEWAY_OFFLINE || env->samples->only_judge)
		return 0;
	const struct kgb_offline_subject subject = kgb_attempt_offline(&attempt->facts);
	return kgb_offline_load(&attempt->offline, &subject, KGB_OFFLINE_SAMPLE, err);
}

/** Read the recorded attempt with the same number; an attempt that was killed at once has no
 * record. */
static int load_record(struct kgb_llm_attempt *attempt, struct kgb_err *err)
{
	const struct kgb_attempt_facts *facts = &attempt->facts;
	const struct kgb_replay_source *source = facts->env->replay;
	if (!source)
		return 0;
	KGB_AUTO(free) char *rel = kgb_rundir_attempt_rel(facts->spec->safe_name, facts->number);
	KGB_AUTO(free) char *traffic = kgb_xasprintf("%s/%s/traffic", source->dir, rel);
	return kgb_cassette_load(&attempt->cassette, traffic, err);
}

static int make_parts(struct kgb_llm_attempt *attempt, struct kgb_err *err)
{
	const struct kgb_attempt_facts *facts = &attempt->facts;
	KGB_AUTO(free) char *samples = kgb_attempt_path(&facts->paths, "samples");
	attempt->traffic = kgb_attempt_path(&facts->paths, "traffic");
	return kgb_rundir_make_attempt(facts->env->dir, facts->spec->safe_name, facts->number,
				       err) < 0 ||
			       kgb_fs_mkdirs(AT_FDCWD, samples, 0755, err) < 0 ||
			       load_offline(attempt, err) < 0 || load_record(attempt, err) < 0 ||
			       make_prompt(attempt, err) < 0
		       ? -1
		       : 0;
}

static int journal_start(const struct kgb_llm_attempt *attempt, struct kgb_err *err)
{
	const struct kgb_attempt_facts *facts = &attempt->facts;
	const struct kgb_event_attempt_started event = {
		.operator= facts->spec->name,
		.attempt = facts->number,
		.device = facts->device->number >= 0 ? facts->device->number : facts->slot,
		.maker = facts->env->maker,
		.price = kgb_prices_find(facts->env->prices, facts->env->model, kgb_wall_ms()),
		.timeout_ms = attempt->answer_ms,
		.prompt_sha256 = attempt->prompt.sha256,
	};
	return kgb_event_attempt_started(facts->env->log, &event, err);
}

static void on_budget(void *payload, const char *why)
{
	struct kgb_llm_attempt *attempt = payload;
	/* Each open question reports the end of the budget. */
	if (!attempt->warned_of_budget)
		kgb_warn("%s: %s", attempt->facts.spec->name, why);
	attempt->warned_of_budget = true;
}

static void on_fatal(void *payload, const struct kgb_err *err)
{
	kgb_llm__report_fatal(payload, err);
}

static struct kgb_llm_attempt *new_attempt(const struct kgb_attempt_env *env,
					   const struct kgb_attempt_task *task)
{
	struct kgb_llm_attempt *attempt = kgb_xcalloc(1, sizeof(*attempt));
	const int n_rounds = env->samples->n_rounds, n = env->samples->n_samples * n_rounds;
	kgb_attempt_facts_init(&attempt->facts, env, task);
	kgb_round_sums_init(&attempt->sums);
	/* All operators share one queue of questions: the limit of an attempt is that of an answer.
	 */
	attempt->answer_ms = task->timeout_ms;
	attempt->timeout_ms = task->timed_by ? task->timeout_ms : 0;
	attempt->model = (struct kgb_model_session){
		.facts = &attempt->facts,
		.sums = &attempt->sums,
		.callbacks = {.on_budget = on_budget,
			      .on_closed = on_session_closed,
			      .on_fatal = on_fatal},
		.payload = attempt,
		.budget = {.level = "attempt",
			   .parent = task->budget,
			   .limit = env->budget,
			   .soft_percent = env->warn_percent},
	};
	attempt->n_work = n;
	attempt->work = kgb_xcalloc((size_t)n, sizeof(*attempt->work));
	for (int i = 0; i < n; i++)
		attempt->work[i] = (struct kgb_llm_work){
			.attempt = attempt, .number = i / n_rounds + 1, .round = i % n_rounds + 1};
	return attempt;
}

int kgb_llm_attempt_start(struct kgb_llm_attempt **out, const struct kgb_attempt_env *env,
			  const struct kgb_attempt_task *task, kgb_llm_attempt_done_fn done,
			  void *payload, struct kgb_err *err)
{
	struct kgb_llm_attempt *attempt = new_attempt(env, task);
	if (make_parts(attempt, err) < 0 || open_session(attempt, err) < 0) {
		KGB_ASSERT(!attempt->model.session);
		free_attempt(attempt);
		return -1;
	}
	attempt->done = done;
	attempt->payload = payload;
	uv_timer_init(env->loop, &attempt->limit);
	attempt->limit.data = attempt;
	if (attempt->timeout_ms > 0)
		uv_timer_start(&attempt->limit, on_limit, (uint64_t)attempt->timeout_ms, 0);
	*out = attempt;
	struct kgb_err fatal = KGB_ERR_INIT;
	if (journal_start(attempt, &fatal) < 0) {
		kgb_llm__report_fatal(attempt, &fatal);
		kgb_llm__end_if_idle(attempt);
		return 0;
	}
	begin_work(attempt);
	return 0;
}
