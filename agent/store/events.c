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

static void draft_begin_op(struct draft *draft, const char *type, const char *operator)
{
	draft_begin(draft, type);
	kgb_jsonw_kstr(&draft->w, "operator", operator);
}

/** Check, append, fold what was appended, tell the listeners. */
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
	/* A record that cannot be folded would make the journal unreadable, so it is refused before
	 * it is written. */
	if (kgb_run_state__fold(&log->state, &record, false, err) < 0 ||
	    kgb_journal_append(log->journal, draft->type, draft->buf.ptr, sync, &record.seq,
			       &record.time_ms, err) < 0 ||
	    kgb_run_state__fold(&log->state, &record, true, err) < 0)
		return -1;
	const char *name = kgb_json_str(data, "operator", NULL);
	const struct kgb_op_state *op = name ? kgb_run_state_op(&log->state, name) : NULL;
	for (size_t i = 0; i < log->n_listeners; i++)
		log->listeners[i].fn(log->listeners[i].payload, &log->state, op, draft->type);
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
	kgb_jsonw_kstr(&draft.w, "run", event->run_name);
	kgb_jsonw_kstr(&draft.w, "dataset", event->dataset);
	kgb_maker__write_members(&draft.w, &event->maker);
	kgb_jsonw_kstr(&draft.w, "cli", event->cli_name);
	kgb_jsonw_kstr(&draft.w, "cli_version", event->cli_version);
	kgb_jsonw_kstr(&draft.w, "isolation", event->isolation);
	kgb_jsonw_kstr(&draft.w, "platform", event->platform);
	kgb_jsonw_kstr(&draft.w, "host", host);
	kgb_jsonw_kstr(&draft.w, "version", kgb_version());
	if (event->from_run)
		kgb_jsonw_kstr(&draft.w, "from_run", event->from_run);
	kgb_jsonw_ki64(&draft.w, "device_count", event->device_count);
	kgb_jsonw_kbool(&draft.w, "skip_gen", event->skip_gen);
	kgb_jsonw_kbool(&draft.w, "skip_verify", event->skip_verify);
	return draft_commit(log, &draft, KGB_JOURNAL_SYNC, err);
}

int kgb_event_planned(struct kgb_run_log *log, const struct kgb_event_plan_item *items, size_t n,
		      struct kgb_err *err)
{
	struct draft draft;
	draft_begin(&draft, "planned");
	kgb_jsonw_key(&draft.w, "operators");
	kgb_jsonw_array(&draft.w);
	for (size_t i = 0; i < n; i++) {
		kgb_jsonw_object(&draft.w);
		kgb_jsonw_kstr(&draft.w, "name", items[i].name);
		kgb_jsonw_kstr(&draft.w, "safe_name", items[i].safe_name);
		kgb_jsonw_kstr(&draft.w, "spec_sha256", items[i].spec_sha256);
		kgb_jsonw_object_end(&draft.w);
	}
	kgb_jsonw_array_end(&draft.w);
	return draft_commit(log, &draft, KGB_JOURNAL_SYNC, err);
}

int kgb_event_attempt_started(struct kgb_run_log *log,
			      const struct kgb_event_attempt_started *event, struct kgb_err *err)
{
	const struct kgb_op_state *op = kgb_run_state_op(&log->state, event->operator);
	KGB_ASSERT(op);
	KGB_AUTO(free) char *dir = kgb_rundir_attempt_rel(op->safe_name, event->attempt);
	struct draft draft;
	draft_begin_op(&draft, "attempt_started", event->operator);
	kgb_jsonw_ki64(&draft.w, "attempt", event->attempt);
	kgb_jsonw_ki64(&draft.w, "device", event->device);
	kgb_maker__write_members(&draft.w, &event->maker);
	kgb_price__write(&draft.w, event->price);
	kgb_jsonw_ki64(&draft.w, "timeout_ms", event->timeout_ms);
	kgb_jsonw_kstr(&draft.w, "prompt_sha256", event->prompt_sha256);
	kgb_jsonw_kstr(&draft.w, "dir", dir);
	return draft_commit(log, &draft, KGB_JOURNAL_SYNC, err);
}

int kgb_event_verify_call(struct kgb_run_log *log, const char *operator, int attempt,
			  const struct kgb_verdict_summary *verdict, const char *commit_id,
			  struct kgb_err *err)
{
	struct draft draft;
	draft_begin_op(&draft, "verify_call", operator);
	kgb_jsonw_ki64(&draft.w, "attempt", attempt);
	kgb_jsonw_key(&draft.w, "verdict");
	kgb_verdict_summary__write(&draft.w, verdict);
	kgb_jsonw_kstr(&draft.w, "commit", commit_id);
	return draft_commit(log, &draft, KGB_JOURNAL_SYNC, err);
}

int kgb_event_round_finished(struct kgb_run_log *log, const char *operator, int attempt,
			     const struct kgb_round *round, struct kgb_err *err)
{
	struct draft draft;
	draft_begin_op(&draft, "round_finished", operator);
	kgb_jsonw_ki64(&draft.w, "attempt", attempt);
	kgb_round__write_members(&draft.w, round);
	return draft_commit(log, &draft, KGB_JOURNAL_SYNC, err);
}

int kgb_event_usage(struct kgb_run_log *log, const char *operator, int attempt,
		    const struct kgb_totals *totals, struct kgb_err *err)
{
	struct draft draft;
	draft_begin_op(&draft, "usage", operator);
	kgb_jsonw_ki64(&draft.w, "attempt", attempt);
	kgb_jsonw_key(&draft.w, "gateway");
	kgb_totals__write(&draft.w, totals);
	return draft_commit(log, &draft, KGB_JOURNAL_LAZY, err);
}

/** An empty string is what the CLI did not say. */
static const char *said(const char *text)
{
	return *text ? text : NULL;
}

static void write_cli(struct kgb_jsonw *w, const struct kgb_report *report)
{
	struct kgb_cli_report cli = {
		.usage = report->usage,
		.cost_nanos = report->cost_nanos,
		.n_turns = report->n_turns,
		.session_id = said(report->session_id),
		.model = said(report->model),
		.version = said(report->cli_version),
		.subtype = said(report->subtype),
		.n_events = report->n_events,
		.n_bad_lines = report->n_bad_lines,
		.n_unknown_events = report->n_unknown_events,
	};
	kgb_cli_report__write(w, &cli);
}

int kgb_event_attempt_finished(struct kgb_run_log *log,
			       const struct kgb_event_attempt_finished *event, struct kgb_err *err)
{
	struct draft draft;
	draft_begin_op(&draft, "attempt_finished", event->operator);
	struct kgb_jsonw *w = &draft.w;
	kgb_jsonw_ki64(w, "attempt", event->attempt);
	kgb_jsonw_kstr(w, "end", kgb_agent_end_code(event->end));
	kgb_jsonw_kbool(w, "retry", event->retry);
	kgb_jsonw_ki64(w, "exit_code", event->exit_code);
	kgb_jsonw_ki64(w, "term_signal", event->term_signal);
	kgb_jsonw_kstr(w, "kernel_sha256", event->kernel_sha256);
	kgb_jsonw_kstr(w, "kernel_source", event->kernel_source);
	kgb_jsonw_kstr(w, "error_code", event->error_code);
	kgb_jsonw_kstr(w, "error_message", event->error_message);
	kgb_jsonw_key(w, "gateway");
	if (event->gateway)
		kgb_totals__write(w, event->gateway);
	else
		kgb_jsonw_null(w);
	kgb_jsonw_key(w, "cli");
	if (event->cli)
		write_cli(w, event->cli);
	else
		kgb_jsonw_null(w);
	if (event->stopped_by)
		kgb_jsonw_kstr(w, "stopped_by", event->stopped_by);
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
	draft_begin_op(&draft, "kernel_adopted", operator);
	kgb_jsonw_kstr(&draft.w, "kernel_sha256", kernel_sha256);
	kgb_jsonw_kstr(&draft.w, "origin", origin);
	return draft_commit(log, &draft, KGB_JOURNAL_SYNC, err);
}

int kgb_event_verify_started(struct kgb_run_log *log, const char *operator,
			     const char * kernel_sha256, const char *device, struct kgb_err *err)
{
	struct draft draft;
	draft_begin_op(&draft, "verify_started", operator);
	kgb_jsonw_kstr(&draft.w, "kernel_sha256", kernel_sha256);
	kgb_jsonw_kstr(&draft.w, "device", device);
	return draft_commit(log, &draft, KGB_JOURNAL_SYNC, err);
}

int kgb_event_verified(struct kgb_run_log *log, const char *operator,
		       const struct kgb_verdict_summary * verdict, const char *verdict_path,
		       struct kgb_err *err)
{
	struct draft draft;
	draft_begin_op(&draft, "verified", operator);
	kgb_jsonw_key(&draft.w, "verdict");
	kgb_verdict_summary__write(&draft.w, verdict);
	kgb_jsonw_kstr(&draft.w, "path", verdict_path);
	return draft_commit(log, &draft, KGB_JOURNAL_SYNC, err);
}

int kgb_event_operator_ended(struct kgb_run_log *log, const char *operator,
			     enum kgb_op_status status, const char *code, const char *message,
			     struct kgb_err *err)
{
	struct draft draft;
	draft_begin_op(&draft, "operator_ended", operator);
	kgb_jsonw_kstr(&draft.w, "status", kgb_op_status_name(status));
	kgb_jsonw_kstr(&draft.w, "code", code);
	kgb_jsonw_kstr(&draft.w, "message", message);
	return draft_commit(log, &draft, KGB_JOURNAL_SYNC, err);
}

int kgb_event_run_finished(struct kgb_run_log *log, enum kgb_run_end end, int exit_code,
			   const char *message, struct kgb_err *err)
{
	struct draft draft;
	draft_begin(&draft, "run_finished");
	kgb_jsonw_kstr(&draft.w, "end", kgb_run_end_name(end));
	kgb_jsonw_ki64(&draft.w, "exit_code", exit_code);
	kgb_jsonw_kstr(&draft.w, "message", message);
	return draft_commit(log, &draft, KGB_JOURNAL_SYNC, err);
}
