/* SPDX-License-Identifier: MIT */
#include "agent/exports/trajectory.h"

#include <limits.h>
#include <unistd.h>

#include "agent/evidence/drafts.h"
#include "agent/llm/feedback.h"
#include "agent/report/common.h"
#include "agent/store/chains.h"
#include "base/limits.h"
#include "base/system/fs.h"
#include "methods/chat_prompt.h"
#include "sandbox/client/answer.h"

#define STREAM_BYTES ((size_t)SSIZE_MAX)
/* Of a program without events this much of its output is its message. */
#define OUTPUT_BYTES ((size_t)256 << 10)
#define NOT_ON_RECORD "(not on record)"

static int add_file(struct kgb_steps *steps, const struct kgb_run_record *record, const char *path,
		    enum kgb_step_source source, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_ANSWER_BYTES);
	if (kgb_run_record_read(record->dir.fd, path, KGB_ANSWER_BYTES, &text, err) < 0)
		return -1;
	kgb_steps_add(steps, source, text.len > 0 ? text.ptr : NOT_ON_RECORD);
	return 0;
}

static void set_time(struct kgb_steps *steps, struct kgb_step *step, int64_t time_ms)
{
	const char *time = KGB_REPORT_TIME(time_ms);
	step->time = time ? kgb_arena_strdup(&steps->arena, time) : NULL;
}

/* ---- a coding CLI ---- */

/** The whole output of a program without events. */
static int add_output(struct kgb_steps *steps, int run_fd, const char *path, struct kgb_err *err)
{
	KGB_AUTO(fd) int fd = -1;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	KGB_AUTO(free) char *piece = kgb_xmalloc(OUTPUT_BYTES);
	if (kgb_fs_open_untrusted(run_fd, path, STREAM_BYTES, &fd, err) < 0)
		return -1;
	const ssize_t n = read(fd, piece, OUTPUT_BYTES);
	kgb_utf8_repair(&text, piece, n > 0 ? (size_t)n : 0);
	kgb_steps_add(steps, KGB_STEP_AGENT, text.ptr);
	return 0;
}

static int add_stream(struct kgb_steps *steps, const struct kgb_run_record *record,
		      const char *path, struct kgb_err *err)
{
	struct kgb_err failure = KGB_ERR_INIT;
	KGB_AUTO(fd) int fd = -1;
	const size_t n_before = steps->list.n;
	const int64_t n_bad = steps->n_bad_lines;
	if (kgb_fs_open_untrusted(record->dir.fd, path, STREAM_BYTES, &fd, &failure) < 0) {
		if (failure.kind == KGB_ERR_NOT_FOUND)
			return 0;
		*err = failure;
		return -1;
	}
	if (kgb_steps_read(steps, fd, err) < 0)
		return kgb_ctx(err, "%s", path);
	if (steps->list.n > n_before || steps->n_bad_lines == n_bad)
		return 0;
	steps->n_bad_lines = n_bad;
	return add_output(steps, record->dir.fd, path, err);
}

/** A session of a CLI: its prompt and its steps. */
static int add_session(struct kgb_steps *steps, const struct kgb_run_record *record,
		       const char *folder, int64_t started_ms, struct kgb_err *err)
{
	KGB_AUTO(free) char *prompt = kgb_path_join(folder, "prompt.md");
	KGB_AUTO(free) char *stream = kgb_path_join(folder, "stdout.jsonl");
	if (add_file(steps, record, prompt, KGB_STEP_USER, err) < 0)
		return -1;
	set_time(steps, &steps->list.items[steps->list.n - 1], started_ms);
	return add_stream(steps, record, stream, err);
}

/** Take the gateway's count of an answer for the step that it made. */
static void take_exchange(struct kgb_steps *steps, const cJSON *meta)
{
	const char *id = kgb_json_str(meta, "message_id", NULL);
	KGB_VEC_FOREACH(step, &steps->list) {
		if (!id || !kgb_str_eq(step->message_id, id))
			continue;
		step->usage = (struct kgb_usage){
			.input = kgb_json_i64(meta, "usage.input_tokens", -1),
			.output = kgb_json_i64(meta, "usage.output_tokens", -1),
			.cache_creation =
				kgb_json_i64(meta, "usage.cache_creation_input_tokens", -1),
			.cache_read = kgb_json_i64(meta, "usage.cache_read_input_tokens", -1),
		};
	}
}

/** Where the recorded requests are still there, they have the tokens of each answer. */
static void take_exchanges(struct kgb_steps *steps, const struct kgb_run_record *record,
			   const struct kgb_attempt_state *attempt, const char *folder)
{
	const int64_t n = attempt->gateway.n_exchanges + attempt->gateway.n_open;
	for (int64_t i = 1; i <= n; i++) {
		KGB_AUTO(free)
		char *path = kgb_xasprintf("%s/traffic/%04lld.meta.json", folder, (long long)i);
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_EVENT);
		KGB_AUTO(json) cJSON *meta = NULL;
		if (kgb_run_record_read(record->dir.fd, path, KGB_LIMIT_EVENT, &text, NULL) == 0 &&
		    kgb_json_parse(text.ptr, text.len, &meta, NULL) == 0)
			take_exchange(steps, meta);
	}
}

static int add_sessions(struct kgb_steps *out, const struct kgb_run_record *record,
			const struct kgb_attempt_state *attempt, struct kgb_err *err)
{
	KGB_AUTO(free) char *rounds = kgb_path_join(attempt->dir, "rounds");
	if (!kgb_fs_exists(record->dir.fd, rounds)) {
		if (add_session(out, record, attempt->dir, attempt->started_ms, err) < 0)
			return -1;
		take_exchanges(out, record, attempt, attempt->dir);
		return 0;
	}
	int64_t started_ms = attempt->started_ms;
	for (int round = 1;; round++) {
		KGB_AUTO(free) char *folder = kgb_xasprintf("%s/%03d", rounds, round);
		if (!kgb_fs_exists(record->dir.fd, folder))
			return 0;
		if (add_session(out, record, folder, started_ms, err) < 0)
			return -1;
		take_exchanges(out, record, attempt, folder);
		started_ms = -1; /* the journal has no start of a later round */
	}
}

int kgb_trajectory_of_attempt(struct kgb_steps *out, const struct kgb_run_record *record,
			      const struct kgb_attempt_state *attempt, struct kgb_err *err)
{
	if (add_sessions(out, record, attempt, err) < 0)
		return -1;
	/* Answers of the offline model's script have no price. */
	if (kgb_attempt_cost_nanos(attempt) >= 0)
		KGB_VEC_FOREACH(step, &out->list)
			step->cost_nanos = kgb_price_nanos(&attempt->price, &step->usage);
	return 0;
}

/* ---- a bare model ---- */

static int read_texts(const struct kgb_run_record *record, struct kgb_chat_texts *out,
		      struct kgb_err *err)
{
	for (int i = 0; i < KGB_N_CHAT_TEXTS; i++) {
		KGB_AUTO(free)
		char *path =
			kgb_xasprintf("prompts/%s.md", kgb_chat_text_name((enum kgb_chat_text)i));
		if (kgb_run_record_read(record->dir.fd, path, KGB_LIMIT_PROMPT, &out->texts[i],
					err) < 0)
			return -1;
	}
	return 0;
}

static void add_system(struct kgb_steps *steps, const struct kgb_chat_texts *texts)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	kgb_chat_texts_system(texts, &text);
	if (text.len > 0)
		kgb_steps_add(steps, KGB_STEP_SYSTEM, text.ptr);
}

/** The text of a round about the previous answer, as it was sent. */
static void add_feedback(struct kgb_steps *steps, const struct kgb_run_record *record,
			 const struct kgb_op_state *op, const struct kgb_sample *sample,
			 const struct kgb_chat_texts *texts, const char *stem)
{
	KGB_AUTO(free) char *path = kgb_path_join(record->dir.path, stem);
	KGB_AUTO(buf) struct kgb_buf answer = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	const struct kgb_llm_feedback feedback = {.texts = texts,
						  .operator= op->name,
						  .sample = sample,
						  .rounds = record->state.n_rounds,
						  .stem = path};
	const int rc = kgb_llm_feedback_write(&feedback, &answer, &text, NULL);
	kgb_steps_add(steps, KGB_STEP_USER, rc < 0 ? NOT_ON_RECORD : text.ptr);
}

static int add_answer(struct kgb_steps *steps, const struct kgb_run_record *record,
		      const struct kgb_sample *sample, const char *stem, struct kgb_err *err)
{
	KGB_AUTO(free) char *reply = kgb_xasprintf("%s.md", stem);
	KGB_AUTO(free) char *thinking = kgb_xasprintf("%s.thinking.md", stem);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_ANSWER_BYTES);
	if (add_file(steps, record, reply, KGB_STEP_AGENT, err) < 0 ||
	    kgb_run_record_read(record->dir.fd, thinking, KGB_ANSWER_BYTES, &text, err) < 0)
		return -1;
	struct kgb_step *step = &steps->list.items[steps->list.n - 1];
	kgb_steps_text(steps, &step->reasoning, text.ptr);
	step->usage = sample->usage;
	step->cost_nanos = sample->cost_nanos;
	set_time(steps, step, sample->time_ms);
	return 0;
}

static int add_rounds(struct kgb_steps *steps, const struct kgb_run_record *record,
		      const struct kgb_op_state *op, int number, const struct kgb_chat_texts *texts,
		      struct kgb_err *err)
{
	const struct kgb_sample *sample = kgb_op_sample(op, number, 1);
	for (int round = 1; sample; round++) {
		KGB_AUTO(free) char *stem = kgb_sample_stem(op->safe_name, sample);
		const struct kgb_sample *next = kgb_op_sample(op, number, round + 1);
		if (add_answer(steps, record, sample, stem, err) < 0)
			return -1;
		if (next)
			add_feedback(steps, record, op, sample, texts, stem);
		sample = next;
	}
	return 0;
}

int kgb_trajectory_of_sample(struct kgb_steps *out, const struct kgb_run_record *record,
			     const struct kgb_op_state *op, int number, struct kgb_err *err)
{
	const struct kgb_sample *first = kgb_op_sample(op, number, 1);
	struct kgb_chat_texts texts = {
		.texts = {KGB_BUF_INIT(0), KGB_BUF_INIT(0), KGB_BUF_INIT(0)}};
	int rc = read_texts(record, &texts, err);
	if (rc == 0 && first) {
		KGB_AUTO(free) char *folder = kgb_rundir_attempt_rel(op->safe_name, first->attempt);
		KGB_AUTO(free) char *prompt = kgb_path_join(folder, "prompt.md");
		add_system(out, &texts);
		rc = add_file(out, record, prompt, KGB_STEP_USER, err);
	}
	if (rc == 0)
		rc = add_rounds(out, record, op, number, &texts, err);
	kgb_chat_texts_release(&texts);
	return rc;
}
