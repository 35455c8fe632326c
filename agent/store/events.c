/* SPDX-License-Identifier: MIT */
#include "agent/store/events.h"

#include <unistd.h>

#include "agent/config/version.h"
#include "agent/store/events_json.h"
#include "base/formats/jsonw.h"
#include "base/limits.h"
#include "base/str.h"

#define N_LISTENERS 4

struct kgb_run_log {
	struct kgb_journal *journal; /* owned */
	struct kgb_run_state state;
	struct {
		kgb_run_log_fn fn;
		void *payload;
	} listeners[N_LISTENERS];
	size_t n_listeners;
};

int kgb_run_log_open(struct kgb_run_log **out, const struct kgb_rundir *dir, struct kgb_err *err)
{
	KGB_ASSERT(dir->lock_fd >= 0);
	struct kgb_run_log *log = kgb_xcalloc(1, sizeof(*log));
	log->state = (struct kgb_run_state)KGB_RUN_STATE_INIT;
	if (kgb_journal_open(&log->journal, dir->fd, kgb_run_state_fold, &log->state, err) < 0) {
		kgb_run_log_close(log);
		return kgb_ctx(err, "run '%s'", dir->name);
	}
	*out = log;
	return 0;
}

void kgb_run_log_close(struct kgb_run_log *log)
{
	if (!log)
		return;
	kgb_journal_close(log->journal);
	kgb_run_state_release(&log->state);
	kgb_free(log);
}

const struct kgb_run_state *kgb_run_log_state(const struct kgb_run_log *log)
{
	return &log->state;
}

void kgb_run_log_listen(struct kgb_run_log *log, kgb_run_log_fn fn, void *payload)
{
	KGB_ASSERT(log->n_listeners < N_LISTENERS);
	log->listeners[log->n_listeners].fn = fn;
	log->listeners[log->n_listeners].payload = payload;
	log->n_listeners++;
}

static void call_listeners(const struct kgb_run_log *log, const struct kgb_op_state *op,
			   const char *type)
{
	for (size_t i = 0; i < log->n_listeners; i++)
		log->listeners[i].fn(log->listeners[i].payload, &log->state, op, type);
}

void kgb_run_log_set_doing(struct kgb_run_log *log, const char *operator, const char * text)
{
	struct kgb_op_state *op = kgb_run_state_op(&log->state, operator);
	if (!op || strncmp(op->doing, text, sizeof(op->doing) - 1) == 0)
		return;
	snprintf(op->doing, sizeof(op->doing), "%s", text);
	call_listeners(log, op, "doing");
}

void kgb_run_log_move_job(struct kgb_run_log *log, const char *operator, int queued, int judging)
{
	struct kgb_op_state *op = kgb_run_state_op(&log->state, operator);
	if (!op)
		return;
	op->n_queued += queued;
	op->n_judging += judging;
	KGB_ASSERT(op->n_queued >= 0 && op->n_judging >= 0);
	call_listeners(log, op, "job");
}

/** One event under construction: the data object of its record. */
struct draft {
	const char *type;
	struct kgb_buf buf;
	struct kgb_jsonw w;
};

static void draft_begin(struct draft *draft, const char *type)
{
	draft->type = type;
	draft->buf = (struct kgb_buf)KGB_BUF_INIT(KGB_LIMIT_LINE);
	kgb_jsonw_init(&draft->w, &draft->buf, 0);
	kgb_jsonw_object(&draft->w);
}

/** Check, append, fold what was appended, call the listeners. */
static int commit(struct kgb_run_log *log, struct draft *draft, enum kgb_journal_sync sync,
		  struct kgb_err *err)
{
	if (draft->buf.overflowed)
		return kgb_fail(err, KGB_ERR_LIMIT, "an event of type '%s' is over %u bytes",
				draft->type, KGB_LIMIT_LINE);
	KGB_AUTO(json) cJSON *data = NULL;
	if (kgb_json_parse(draft->buf.ptr, draft->buf.len, &data, err) < 0)
		return -1;
	struct kgb_journal_record record = {.type = draft->type, .data = data};
	/* Refuse a record that cannot be folded before it is written: it would make the journal
	 * unreadable. */
	if (kgb_run_state__fold(&log->state, &record, false, err) < 0 ||
	    kgb_journal_append(log->journal, draft->type, draft->buf.ptr, sync, &record.seq,
			       &record.time_ms, err) < 0 ||
	    kgb_run_state__fold(&log->state, &record, true, err) < 0)
		return -1;
	const char *name = kgb_json_str(data, "operator", NULL);
	const struct kgb_op_state *op = name ? kgb_run_state_op(&log->state, name) : NULL;
	call_listeners(log, op, draft->type);
	return 0;
}

static int draft_commit(struct kgb_run_log *log, struct draft *draft, enum kgb_journal_sync sync,
			struct kgb_err *err)
{
	kgb_jsonw_object_end(&draft->w);
	int rc = commit(log, draft, sync, err);
	kgb_buf_release(&draft->buf);
	return rc;
}

int kgb_event_run_started(struct kgb_run_log *log, const struct kgb_event_run_started *event,
			  struct kgb_err *err)
{
	char host[256] = "unknown";
	if (gethostname(host, sizeof(host) - 1) < 0)
		snprintf(host, sizeof(host), "unknown");
	struct draft draft;
	draft_begin(&draft, "run_started");
	kgb_rows_write(&draft.w, kgb_run_started__rows, event);
	kgb_rows_write(&draft.w, kgb_maker__rows, &event->maker);
	kgb_jsonw_put(&draft.w, "host: %s, version: %s", host, kgb_version());
	return draft_commit(log, &draft, KGB_JOURNAL_SYNC, err);
}

int kgb_event_planned(struct kgb_run_log *log, const struct kgb_event_plan_item *items, size_t n,
		      struct kgb_err *err)
{
	struct draft draft;
	draft_begin(&draft, "planned");
	kgb_jsonw_put(&draft.w, "operators: [");
	for (size_t i = 0; i < n; i++)
		kgb_jsonw_put(
			&draft.w,
			"{name: %s, safe_name: %s, spec_sha256: %s, source: %s, category: %s}",
			items[i].name, items[i].safe_name, items[i].spec_sha256, items[i].source,
			items[i].category);
	kgb_jsonw_put(&draft.w, "]");
	return draft_commit(log, &draft, KGB_JOURNAL_SYNC, err);
}

int kgb_event_attempt_started(struct kgb_run_log *log,
			      const struct kgb_event_attempt_started *event, struct kgb_err *err)
{
	const struct kgb_op_state *op = kgb_run_state_op(&log->state, event->operator);
	KGB_ASSERT(op);
	KGB_AUTO(free) char *dir = kgb_rundir_attempt_rel(op->safe_name, event->attempt);
	struct draft draft;
	draft_begin(&draft, "attempt_started");
	kgb_jsonw_put(&draft.w,
		      "operator: %s, attempt: %d, device: %d, timeout_ms: %ld, prompt_sha256: %s, "
		      "dir: %s",
		      event->operator, event->attempt, event->device, event->timeout_ms,
		      event->prompt_sha256, dir);
	kgb_rows_write(&draft.w, kgb_maker__rows, &event->maker);
	kgb_rows__write_object(&draft.w, "price_nanos", kgb_price__rows, event->price);
	return draft_commit(log, &draft, KGB_JOURNAL_SYNC, err);
}

int kgb_event_verify_call(struct kgb_run_log *log, const char *operator, int attempt,
			  const struct kgb_verdict_summary *verdict, const char *commit_id,
			  struct kgb_err *err)
{
	struct draft draft;
	draft_begin(&draft, "verify_call");
	kgb_jsonw_put(&draft.w, "operator: %s, attempt: %d, commit: %s", operator, attempt,
		      commit_id);
	kgb_rows__write_object(&draft.w, "verdict", kgb_verdict_summary__rows, verdict);
	return draft_commit(log, &draft, KGB_JOURNAL_SYNC, err);
}

int kgb_event_round_finished(struct kgb_run_log *log, const char *operator, int attempt,
			     const struct kgb_round *round, struct kgb_err *err)
{
	struct draft draft;
	draft_begin(&draft, "round_finished");
	kgb_jsonw_put(&draft.w, "operator: %s, attempt: %d", operator, attempt);
	kgb_round__write_members(&draft.w, round);
	return draft_commit(log, &draft, KGB_JOURNAL_SYNC, err);
}

int kgb_event_sample(struct kgb_run_log *log, const char *operator,
		     const struct kgb_sample * sample, const struct kgb_totals *totals,
		     struct kgb_err *err)
{
	struct draft draft;
	draft_begin(&draft, "sample");
	kgb_jsonw_put(&draft.w, "operator: %s, attempt: %d", operator, sample->attempt);
	kgb_rows_write(&draft.w, kgb_sample__rows, sample);
	if (totals) {
		kgb_jsonw_key(&draft.w, "gateway");
		kgb_totals_write(&draft.w, totals);
	}
	return draft_commit(log, &draft, KGB_JOURNAL_SYNC, err);
}

int kgb_event_batch(struct kgb_run_log *log, const char *operator,
		    const struct kgb_batch_record * batch, const struct kgb_totals *totals,
		    struct kgb_err *err)
{
	struct draft draft;
	draft_begin(&draft, "batch");
	kgb_jsonw_put(&draft.w,
		      "operator: %s, attempt: %d, key: %s, id: %s, state: %s, price_factor: 0.5, "
		      "most_tokens: %ld, most_nanos: %+ld, samples: [",
		      operator, batch->attempt, batch->key, batch->id, batch->state,
		      batch->most.tokens, batch->most.nanos);
	for (size_t i = 0; i < batch->n; i++)
		kgb_jsonw_i64(&draft.w, batch->numbers[i]);
	kgb_jsonw_put(&draft.w, "]");
	kgb_jsonw_key(&draft.w, "gateway");
	kgb_totals_write(&draft.w, totals);
	return draft_commit(log, &draft, KGB_JOURNAL_SYNC, err);
}

int kgb_event_sample_judged(struct kgb_run_log *log, const char *operator,
			    const struct kgb_sample * sample, struct kgb_err *err)
{
	struct draft draft;
	draft_begin(&draft, "sample_judged");
	kgb_jsonw_put(&draft.w, "operator: %s, sample: %d, round: %d", operator, sample->number,
		      sample->round);
	kgb_rows_write(&draft.w, kgb_sample_verdict__rows, sample);
	return draft_commit(log, &draft, KGB_JOURNAL_SYNC, err);
}

int kgb_event_sample_checked(struct kgb_run_log *log, const char *operator,
			     const struct kgb_sample * sample, struct kgb_err *err)
{
	struct draft draft;
	draft_begin(&draft, "sample_checked");
	kgb_jsonw_put(&draft.w, "operator: %s, sample: %d, round: %d", operator, sample->number,
		      sample->round);
	kgb_rows_write(&draft.w, kgb_sample_check__rows, sample);
	return draft_commit(log, &draft, KGB_JOURNAL_SYNC, err);
}

int kgb_event_usage(struct kgb_run_log *log, const char *operator, int attempt,
		    const struct kgb_totals *totals, struct kgb_err *err)
{
	struct draft draft;
	draft_begin(&draft, "usage");
	kgb_jsonw_put(&draft.w, "operator: %s, attempt: %d", operator, attempt);
	kgb_jsonw_key(&draft.w, "gateway");
	kgb_totals_write(&draft.w, totals);
	return draft_commit(log, &draft, KGB_JOURNAL_LAZY, err);
}

int kgb_event_attempt_finished(struct kgb_run_log *log,
			       const struct kgb_event_attempt_finished *event, struct kgb_err *err)
{
	struct draft draft;
	draft_begin(&draft, "attempt_finished");
	struct kgb_jsonw *w = &draft.w;
	kgb_jsonw_put(w, "operator: %s, attempt: %d, end: %s", event->operator, event->attempt,
		      kgb_agent_end_code(event->end));
	kgb_rows_write(w, kgb_attempt_finished__rows, event);
	kgb_jsonw_key(w, "gateway");
	if (event->gateway)
		kgb_totals_write(w, event->gateway);
	else
		kgb_jsonw_null(w);
	kgb_rows__write_object(w, "cli", kgb_report_rows, event->cli);
	if (event->sandbox) {
		kgb_jsonw_key(w, "sandbox");
		kgb_jsonw_raw(w, event->sandbox);
	}
	return draft_commit(log, &draft, KGB_JOURNAL_SYNC, err);
}

int kgb_event_kernel_adopted(struct kgb_run_log *log, const char *operator,
			     const char * kernel_sha256, const char *origin, struct kgb_err *err)
{
	struct draft draft;
	draft_begin(&draft, "kernel_adopted");
	kgb_jsonw_put(&draft.w, "operator: %s, kernel_sha256: %s, origin: %s", operator,
		      kernel_sha256, origin);
	return draft_commit(log, &draft, KGB_JOURNAL_SYNC, err);
}

int kgb_event_verify_started(struct kgb_run_log *log, const char *operator,
			     const char * kernel_sha256, const char *device, struct kgb_err *err)
{
	struct draft draft;
	draft_begin(&draft, "verify_started");
	kgb_jsonw_put(&draft.w, "operator: %s, kernel_sha256: %s, device: %s", operator,
		      kernel_sha256, device);
	return draft_commit(log, &draft, KGB_JOURNAL_SYNC, err);
}

int kgb_event_verified(struct kgb_run_log *log, const char *operator,
		       const struct kgb_verdict_summary * verdict, const char *verdict_path,
		       struct kgb_err *err)
{
	struct draft draft;
	draft_begin(&draft, "verified");
	kgb_jsonw_put(&draft.w, "operator: %s, path: %s", operator, verdict_path);
	kgb_rows__write_object(&draft.w, "verdict", kgb_verdict_summary__rows, verdict);
	return draft_commit(log, &draft, KGB_JOURNAL_SYNC, err);
}

int kgb_event_operator_ended(struct kgb_run_log *log, const char *operator,
			     enum kgb_op_status status, const char *code, const char *message,
			     struct kgb_err *err)
{
	struct draft draft;
	draft_begin(&draft, "operator_ended");
	kgb_jsonw_put(&draft.w, "operator: %s, status: %s, code: %s, message: %s", operator,
		      kgb_op_status_name(status), code, message);
	return draft_commit(log, &draft, KGB_JOURNAL_SYNC, err);
}

int kgb_event_run_finished(struct kgb_run_log *log, const struct kgb_event_run_finished *event,
			   struct kgb_err *err)
{
	struct draft draft;
	draft_begin(&draft, "run_finished");
	kgb_jsonw_put(&draft.w, "end: %s, exit_code: %d, message: %s", kgb_run_end_name(event->end),
		      event->exit_code, event->message);
	if (event->n_gpus > 0)
		kgb_jsonw_put(&draft.w, "gpus: [");
	for (size_t i = 0; i < event->n_gpus; i++) {
		kgb_jsonw_object(&draft.w);
		kgb_rows_write(&draft.w, kgb_gpu_times__rows, &event->gpus[i]);
		kgb_jsonw_object_end(&draft.w);
	}
	if (event->n_gpus > 0)
		kgb_jsonw_array_end(&draft.w);
	return draft_commit(log, &draft, KGB_JOURNAL_SYNC, err);
}
