/* SPDX-License-Identifier: MIT */
#include "agent/report/progress.h"

#include "agent/report/common.h"
#include "agent/store/events_json.h"
#include "base/formats/jsonw.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/system/fs.h"
#include "base/time.h"

static void write_summary(struct kgb_jsonw *w, const struct kgb_run_state *state)
{
	struct kgb_run_counts counts;
	kgb_run_state_count(state, &counts);
	kgb_jsonw_put(w,
		      "summary: {total: %zu, completed: %zu, running: %zu, failed: %zu, pending: "
		      "%zu",
		      counts.total, counts.completed, counts.running, counts.failed,
		      counts.pending);
	kgb_report__by_status(w, &counts);
	kgb_report__speedup(w, state);
	kgb_jsonw_object_end(w);
}

static void write_last_check(struct kgb_jsonw *w, const struct kgb_op_state *op)
{
	kgb_jsonw_put(w, "verify_calls: %zu, last_check:", op->n_calls);
	if (op->n_calls == 0) {
		kgb_jsonw_null(w);
		return;
	}
	const struct kgb_verify_call *call = &op->calls[op->n_calls - 1];
	kgb_jsonw_put(w, "{time: %s, status: %s, code: %s", KGB_REPORT_TIME(call->time_ms),
		      call->verdict.status, call->verdict.code);
	kgb_verdict_summary__write_speedup(w, &call->verdict);
	kgb_jsonw_object_end(w);
}

/** Of a method that works in rounds: how far its attempt is. */
static void write_rounds(struct kgb_jsonw *w, const struct kgb_attempt_state *attempt)
{
	if (!attempt || attempt->n_rounds == 0)
		return;
	const struct kgb_round *best = kgb_attempt_best_round(attempt);
	int64_t n_kept = 0;
	for (size_t i = 0; i < attempt->n_rounds; i++)
		n_kept += attempt->rounds[i].kept;
	kgb_jsonw_put(w, "rounds: {done: %d, kept: %ld, best_round: %+d",
		      attempt->rounds[attempt->n_rounds - 1].number, n_kept,
		      best ? best->number : -1);
	kgb_verdict_summary__write_speedup(w, best ? &best->verdict : NULL);
	kgb_jsonw_object_end(w);
}

static void write_op(struct kgb_jsonw *w, const struct kgb_run_state *state,
		     const struct kgb_op_state *op)
{
	const struct kgb_attempt_state *last = kgb_op_last_attempt(op);
	struct kgb_spent spent;
	kgb_op_spent(op, &spent);
	kgb_jsonw_key(w, op->name);
	kgb_jsonw_put(w, "{status: %s, gpu_id: %+d, attempt: %zu, start_time: %s, end_time: %s",
		      kgb_op_status_name(op->status), last ? last->device : -1, op->n_attempts,
		      KGB_REPORT_TIME(kgb_report__op_start(op)),
		      KGB_REPORT_TIME(kgb_report__op_end(op)));
	/* Up to the last record while an attempt runs. */
	kgb_jsonw_put(w,
		      "duration_seconds: %g, code_generated: %hhd, error: %s, error_code: %s, "
		      "device: %s, doing: %s, judge: {queued: %d, running: %d}",
		      kgb_report__seconds(last ? kgb_report__agent_ms(state, op) : -1),
		      op->code_generated, op->error_message, op->error_code, op->device,
		      *op->doing ? op->doing : NULL, op->n_queued, op->n_judging);
	kgb_verdict_summary__write_speedup(w, op->has_verdict ? &op->verdict : NULL);
	write_last_check(w, op);
	write_rounds(w, last);
	kgb_report__usage(w, "token_usage", &spent.gateway);
	kgb_jsonw_put(w, "cost_usd: %g}", kgb_report__dollars(spent.cost_nanos));
}

void kgb_progress_render(const struct kgb_run_state *state, struct kgb_buf *out)
{
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, out, 2);
	kgb_jsonw_put(&w, "{schema: 'kgb.progress/1', run_name: %s, dataset: %s", state->run_name,
		      state->dataset);
	const struct kgb_maker maker = kgb_run_maker(state);
	kgb_rows_write(&w, kgb_maker__rows, &maker);
	kgb_jsonw_put(&w, "platform: %s, status: %s, start_time: %s, end_time: %s, updated: %s",
		      state->platform, state->finished ? kgb_run_end_name(state->end) : "running",
		      KGB_REPORT_TIME(state->first_started_ms), KGB_REPORT_TIME(state->ended_ms),
		      KGB_REPORT_TIME(state->updated_ms));
	write_summary(&w, state);
	kgb_jsonw_put(&w, "operators: {");
	for (size_t i = 0; i < state->n_ops; i++)
		write_op(&w, state, &state->ops[i]);
	kgb_jsonw_put(&w, "}}");
	kgb_buf_addc(out, '\n');
}

int kgb_progress_write(int dir_fd, const struct kgb_run_state *state, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	kgb_progress_render(state, &text);
	/* Not synced: it can be rebuilt from the journal. */
	return kgb_fs_write_atomic(dir_fd, KGB_PROGRESS_NAME, text.ptr, text.len, 0644, false, err);
}

struct kgb_progress {
	uv_timer_t timer;
	const struct kgb_run_log *log; /* borrowed */
	int dir_fd; /* borrowed */
	int64_t written_ms; /* monotonic */
	bool warned;
	bool closing;
};

static void write_now(struct kgb_progress *progress)
{
	struct kgb_err err = KGB_ERR_INIT;
	progress->written_ms = kgb_mono_ms();
	if (kgb_progress_write(progress->dir_fd, kgb_run_log_state(progress->log), &err) < 0 &&
	    !progress->warned) {
		/* The journal is the truth: a run goes on without this file, and stops when the
		 * journal cannot grow. */
		progress->warned = true;
		kgb_warn("%s", err.msg);
	}
}

static void on_timer(uv_timer_t *timer)
{
	write_now(timer->data);
}

static void on_event(void *payload, const struct kgb_run_state *state,
		     const struct kgb_op_state *op, const char *type)
{
	struct kgb_progress *progress = payload;
	(void)state;
	(void)op;
	(void)type;
	if (progress->closing || uv_is_active((const uv_handle_t *)&progress->timer))
		return;
	int64_t since_ms = kgb_mono_ms() - progress->written_ms;
	int64_t wait_ms =
		since_ms < KGB_PROGRESS_INTERVAL_MS ? KGB_PROGRESS_INTERVAL_MS - since_ms : 0;
	int rc = uv_timer_start(&progress->timer, on_timer, (uint64_t)wait_ms, 0);
	KGB_ASSERT(rc == 0);
}

int kgb_progress_start(struct kgb_progress **out, uv_loop_t *loop, struct kgb_run_log *log,
		       int dir_fd, struct kgb_err *err)
{
	struct kgb_progress *progress = kgb_xcalloc(1, sizeof(*progress));
	progress->log = log;
	progress->dir_fd = dir_fd;
	int rc = uv_timer_init(loop, &progress->timer);
	if (rc < 0) {
		kgb_free(progress);
		return kgb_fail_code(err, KGB_ERR_DOMAIN_UV, KGB_ERR_FAILED, rc,
				     "progress timer: %s", uv_strerror(rc));
	}
	progress->timer.data = progress;
	/* A late write must not keep the loop alive: close writes the last state. */
	uv_unref((uv_handle_t *)&progress->timer);
	kgb_run_log_listen(log, on_event, progress);
	*out = progress;
	return 0;
}

static void on_closed(uv_handle_t *handle)
{
	kgb_free(handle->data);
}

int kgb_progress_close(struct kgb_progress *progress, struct kgb_err *err)
{
	int rc = kgb_progress_write(progress->dir_fd, kgb_run_log_state(progress->log), err);
	progress->closing = true;
	uv_close((uv_handle_t *)&progress->timer, on_closed);
	return rc;
}
