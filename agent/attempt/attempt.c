/* SPDX-License-Identifier: MIT */
#include "agent/attempt/attempt.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "agent/attempt/attempt_internal.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/system/fs.h"
#include "base/time.h"

/* How often the stream is read and kernel.py looked at: a quarter of what progress.json promises.
 */
#define TICK_MS 60
/* From SIGINT (the CLI reports its usage) to SIGKILL. */
#define STOP_GRACE_MS 5000
/* A CLI that has said its last word may take this long to go. */
#define LINGER_MS 10000

static const enum kgb_attempt_phase transitions[KGB_N_ATTEMPT_PHASES][KGB_N_ATTEMPT_EVENTS] = {
#define NO KGB_N_ATTEMPT_PHASES
	/* READY, STOP, EXIT, SETTLED, ROUND, OVER */
	[KGB_ATTEMPT_STARTING] = {KGB_ATTEMPT_RUNNING, KGB_ATTEMPT_STOPPING, KGB_ATTEMPT_CLOSING,
				  NO, NO, NO},
	[KGB_ATTEMPT_RUNNING] = {NO, KGB_ATTEMPT_STOPPING, KGB_ATTEMPT_CLOSING, NO, NO, NO},
	[KGB_ATTEMPT_STOPPING] = {KGB_ATTEMPT_STOPPING, KGB_ATTEMPT_STOPPING, KGB_ATTEMPT_CLOSING,
				  NO, NO, NO},
	[KGB_ATTEMPT_CLOSING] = {NO, KGB_ATTEMPT_CLOSING, NO, KGB_ATTEMPT_DECIDING, NO, NO},
	[KGB_ATTEMPT_DECIDING] = {NO, KGB_ATTEMPT_DECIDING, NO, NO, KGB_ATTEMPT_STARTING,
				  KGB_ATTEMPT_DONE},
	[KGB_ATTEMPT_DONE] = {NO, KGB_ATTEMPT_DONE, NO, NO, NO, NO},
#undef NO
};

enum kgb_attempt_phase kgb_attempt_next(enum kgb_attempt_phase phase, enum kgb_attempt_event event)
{
	return transitions[phase][event];
}

static void step(struct kgb_attempt *attempt, enum kgb_attempt_event event)
{
	enum kgb_attempt_phase next = kgb_attempt_next(attempt->phase, event);
	KGB_ASSERT(next != KGB_N_ATTEMPT_PHASES);
	attempt->phase = next;
}

const char *kgb_attempt_operator(const struct kgb_attempt *attempt)
{
	return attempt->spec->name;
}

void kgb_attempt__fatal(struct kgb_attempt *attempt, const struct kgb_err *err)
{
	if (attempt->reported_fatal)
		return;
	attempt->reported_fatal = true;
	attempt->env->on_fatal(attempt->env->payload, err);
}

/** Ask the CLI to end, or with SIGKILL end everything at once. */
static void stop(struct kgb_attempt *attempt, int signo, int64_t grace_ms)
{
	step(attempt, KGB_ATTEMPT_ON_STOP);
	if (attempt->phase != KGB_ATTEMPT_STOPPING)
		return;
	if (signo == SIGKILL)
		kgb_sandbox_child_kill(&attempt->launch);
	else
		kgb_sandbox_child_stop(&attempt->launch, signo, grace_ms);
}

static struct kgb_watcher_view view_of(const struct kgb_attempt *attempt)
{
	struct kgb_totals round = attempt->sums.totals;
	if (attempt->session)
		kgb_session_totals(attempt->session, &round);
	return (struct kgb_watcher_view){
		.launcher = kgb_sandbox_child_pid(&attempt->launch),
		.is_running = attempt->phase == KGB_ATTEMPT_RUNNING,
		.has_result = attempt->result_seen_ms != 0,
		.awaits_verdict = attempt->job != NULL,
		.n_open_requests = round.n_open,
		.stdout_offset = attempt->stream.offset,
	};
}

static void follow_order(struct kgb_attempt *attempt, enum kgb_watcher_order order)
{
	if (order != KGB_WATCHER_LETS_RUN)
		stop(attempt, order == KGB_WATCHER_KILLS ? SIGKILL : SIGINT, STOP_GRACE_MS);
}

/** A count of files is over. */
static void on_counted(void *payload, enum kgb_watcher_order order)
{
	struct kgb_attempt *attempt = payload;
	follow_order(attempt, order);
	kgb_attempt__maybe_settled(attempt);
}

/** Find out what the agent waits for, before it is asked to end. */
static void diagnose(struct kgb_attempt *attempt)
{
	struct kgb_watcher_view view = view_of(attempt);
	if (attempt->phase < KGB_ATTEMPT_STOPPING)
		kgb_watcher_diagnose(&attempt->watcher, &view);
}

static void on_limit(uv_timer_t *timer)
{
	struct kgb_attempt *attempt = timer->data;
	if (attempt->phase == KGB_ATTEMPT_DECIDING) {
		/* A check of what was left in time is not cut; nothing begins after it. */
		attempt->last_round = true;
		attempt->timed_out = attempt->round == 0;
	}
	if (attempt->phase != KGB_ATTEMPT_RUNNING && attempt->phase != KGB_ATTEMPT_STARTING)
		return;
	diagnose(attempt);
	if (attempt->result_seen_ms != 0) {
		kgb_verbose("%s: the CLI has finished but does not exit; ending it",
			    attempt->spec->name);
		attempt->lingered = true;
		stop(attempt, SIGTERM, STOP_GRACE_MS / 2);
		return;
	}
	if (!attempt->budget_code && attempt->timed_by) {
		attempt->budget_code = "budget.seconds";
		snprintf(attempt->budget_why, sizeof(attempt->budget_why),
			 "the time budget of the %s is used up", attempt->timed_by);
	}
	if (!attempt->budget_code)
		attempt->timed_out = true;
	stop(attempt, SIGINT, STOP_GRACE_MS);
}

/** At the end of the attempt's time. */
static void limit_at_deadline(struct kgb_attempt *attempt)
{
	int64_t left_ms = attempt->deadline_ms - kgb_mono_ms();
	uv_timer_start(&attempt->limit, on_limit, (uint64_t)(left_ms > 0 ? left_ms : 0), 0);
}

static void flush_usage(struct kgb_attempt *attempt)
{
	struct kgb_err err = KGB_ERR_INIT;
	if (!attempt->totals_changed)
		return;
	attempt->totals_changed = false;
	if (kgb_event_usage(attempt->env->log, attempt->spec->name, attempt->number,
			    &attempt->sums.totals, &err) < 0)
		kgb_attempt__fatal(attempt, &err);
}

/** After its closing event a CLI may linger a while. Some speak on after what looked like it. */
static void follow_result(struct kgb_attempt *attempt)
{
	bool has_result = attempt->stream.events.report.has_result;
	int64_t now_ms = kgb_mono_ms();
	if (attempt->budget_code || has_result == (attempt->result_seen_ms != 0))
		return;
	attempt->result_seen_ms = has_result ? now_ms : 0;
	if (has_result)
		uv_timer_start(&attempt->limit, on_limit, LINGER_MS, 0);
	else
		limit_at_deadline(attempt);
}

static void on_tick(uv_timer_t *timer)
{
	struct kgb_attempt *attempt = timer->data;
	if (attempt->judge_start) {
		attempt->judge_start = false;
		kgb_attempt__round_over(attempt);
	}
	if (attempt->phase == KGB_ATTEMPT_DECIDING || attempt->phase == KGB_ATTEMPT_DONE)
		return;
	const struct kgb_report *report = &attempt->stream.events.report;
	int64_t n_events = report->n_events;
	kgb_cli_stream_read(&attempt->stream);
	if (attempt->env->status && report->n_events != n_events)
		kgb_display_note(attempt->env->status, attempt->spec->name, report->last_event);
	follow_result(attempt);
	flush_usage(attempt);
	kgb_attempt__watch_kernel(attempt);
	struct kgb_watcher_view view = view_of(attempt);
	follow_order(attempt, kgb_watcher_tick(&attempt->watcher, &view));
}

/* ---- gateway ---- */

static void on_usage(void *payload, const struct kgb_totals *totals)
{
	struct kgb_attempt *attempt = payload;
	kgb_round_sums_set_round(&attempt->sums, totals);
	attempt->totals_changed = true;
}

/** A record that could not be written is evidence lost: the run cannot go on (a full disk). */
static void on_exchange(void *payload, const struct kgb_exchange_summary *exchange)
{
	struct kgb_attempt *attempt = payload;
	struct kgb_err err = KGB_ERR_INIT;
	if (!exchange->record_error)
		return;
	kgb_fail(&err, KGB_ERR_LIMIT, "%s: record of a model request: %s", attempt->spec->name,
		 exchange->record_error);
	kgb_attempt__fatal(attempt, &err);
}

/** Before part of a budget is taken it is written down: a killed run counts it as spent. */
static void on_reserve(void *payload, const struct kgb_totals *totals)
{
	struct kgb_attempt *attempt = payload;
	on_usage(attempt, totals);
	flush_usage(attempt);
}

/** The CLI has its error and should end by itself. */
static void on_budget(void *payload, const char *why)
{
	struct kgb_attempt *attempt = payload;
	if (attempt->budget_code)
		return;
	const struct kgb_budget *budget = kgb_budget_reached(&attempt->budget);
	attempt->budget_code = kgb_budget_code(budget->reached);
	snprintf(attempt->budget_why, sizeof(attempt->budget_why), "%s", why);
	kgb_warn("%s: %s", attempt->spec->name, why);
	if (attempt->phase == KGB_ATTEMPT_RUNNING)
		uv_timer_start(&attempt->limit, on_limit, LINGER_MS, 0);
}

static void on_activity(void *payload)
{
	struct kgb_attempt *attempt = payload;
	kgb_watcher_note_life(&attempt->watcher);
}

static void on_probe(void *payload, const char *what, const char *method, const char *path)
{
	struct kgb_attempt *attempt = payload;
	kgb_watcher_count_probe(&attempt->watcher, what, path);
	kgb_verbose("%s: refused at the gateway (%s): %s %s", attempt->spec->name, what, method,
		    path);
}

static void on_ready(struct kgb_sandbox_child *launch, int listen_fd, void *payload)
{
	(void)launch;
	struct kgb_attempt *attempt = payload;
	step(attempt, KGB_ATTEMPT_ON_READY);
	KGB_AUTO(free) char *traffic = kgb_path_join(attempt->round_dir, "traffic");
	int64_t max_requests = attempt->env->method->limits.model_requests;
	const struct kgb_session_spec spec = {
		.take_listen_fd = listen_fd,
		.token = attempt->token,
		.traffic_dir = traffic,
		.offline = attempt->offline,
		.protocols = kgb_program_protocols(&attempt->env->method->program),
		.max_exchanges =
			max_requests > 0 ? max_requests - attempt->sums.totals.n_exchanges : 0,
		.cassette = attempt->cassette,
		.budget = &attempt->budget,
		.callbacks =
			{
				.on_usage = on_usage,
				.on_reserve = on_reserve,
				.on_budget = on_budget,
				.on_miss = kgb_attempt__on_miss,
				.on_exchange = on_exchange,
				.on_probe = on_probe,
				.on_activity = on_activity,
				.on_verify = attempt->env->method->verify_tool
						     ? kgb_attempt__on_verify
						     : NULL,
			},
		.payload = attempt,
	};
	struct kgb_err err = KGB_ERR_INIT;
	if (kgb_session_open(&attempt->session, attempt->env->gateway, &spec, &err) < 0) {
		kgb_error("%s: open the gateway's session: %s", attempt->spec->name, err.msg);
		stop(attempt, SIGKILL, 0);
	}
}

/* ---- the end ---- */

static void free_attempt(struct kgb_attempt *attempt)
{
	kgb_workspace_release(&attempt->ws);
	kgb_watcher_close(&attempt->watcher);
	kgb_cli_stream_release(&attempt->stream);
	kgb_offline_free(attempt->offline);
	kgb_cassette_free(attempt->cassette);
	kgb_free(attempt->recorded_dir);
	kgb_free(attempt->round_dir);
	kgb_free(attempt->summary);
	kgb_free(attempt->report);
	kgb_free(attempt->versions);
	kgb_free(attempt->dir);
	kgb_free(attempt->rel);
	kgb_free(attempt);
}

enum kgb_agent_end kgb_attempt__classify(const struct kgb_attempt *attempt)
{
	if (attempt->round == 0)
		return attempt->cancelled   ? KGB_AGENT_CANCELLED
		       : attempt->timed_out ? KGB_AGENT_TIMEOUT
					    : KGB_AGENT_NOT_STARTED;
	if (attempt->watcher.broken.name && !attempt->cancelled)
		return attempt->watcher.broken.end;
	struct kgb_agent_exit ended = {
		.started = attempt->sums.result.started && attempt->sums.result.exit_code >= 0,
		.timed_out = attempt->timed_out,
		.cancelled = attempt->cancelled,
		.status = attempt->sums.result.exit_code,
		.signal = attempt->sums.result.term_signal,
	};
	if (attempt->lingered && attempt->stream.events.report.has_result) {
		/* It had finished its work: how we made it go is not its fault. */
		ended.started = true;
		ended.status = 0;
		ended.signal = 0;
	}
	enum kgb_agent_end end = kgb_agent_classify(&attempt->stream.events.report, &ended);
	/* A CLI whose last request was refused reports just that; one that made do without is fine.
	 */
	if (attempt->budget_code && end != KGB_AGENT_OK && end != KGB_AGENT_CANCELLED &&
	    end != KGB_AGENT_NOT_STARTED)
		end = KGB_AGENT_BUDGET;
	return end;
}

static int record_end(struct kgb_attempt *attempt, enum kgb_agent_end end,
		      const struct kgb_harvest *harvest, const struct kgb_attempt_outcome *outcome,
		      struct kgb_err *err)
{
	if (kgb_attempt__write_exit(attempt, end, err) < 0)
		return -1;
	KGB_AUTO(buf) struct kgb_buf sandbox = KGB_BUF_INIT(KGB_LIMIT_JSON);
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, &sandbox, 0);
	kgb_attempt__write_sandbox(&w, attempt);
	const struct kgb_event_attempt_finished event = {
		.operator= attempt->spec->name,
		.attempt = attempt->number,
		.end = end,
		.retry = outcome->retry,
		.exit_code = attempt->sums.result.exit_code,
		.term_signal = attempt->sums.result.term_signal,
		.kernel_sha256 = harvest->source ? harvest->sha256 : NULL,
		.kernel_source = harvest->source,
		.error_code = outcome->code,
		.error_message = outcome->message,
		.gateway = &attempt->sums.totals,
		.cli = &attempt->stream.events.report,
		.sandbox = sandbox.ptr,
		.stopped_by = attempt->stopped_by,
	};
	return kgb_event_attempt_finished(attempt->env->log, &event, err);
}

/** Both meters are to be compared; a CLI that is silent about tokens cannot be. */
static void check_report(const struct kgb_attempt *attempt, enum kgb_agent_end end)
{
	const struct kgb_program *program = &attempt->env->method->program;
	if (end == KGB_AGENT_OK && program->usage == KGB_PROGRAM_USAGE_REPORTED &&
	    !kgb_usage_complete(&attempt->stream.events.report.usage))
		kgb_warn(
			"%s: %s did not report all of its tokens; those counted by the gateway stand",
			attempt->spec->name, program->title);
}

/** Harvest, journal, tell. */
static void finish(struct kgb_attempt *attempt)
{
	struct kgb_attempt_outcome outcome = {.end = kgb_attempt__classify(attempt)};
	kgb_round_sums_complete(&attempt->sums, &attempt->stream.events.report);
	/* The CLI prices every answer by its own list; a script costs nothing. */
	if (attempt->env->gateway_mode != KGB_GATEWAY_LIVE)
		attempt->stream.events.report.cost_usd = -1;
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_harvest harvest = {.kernel = KGB_BUF_INIT(KGB_LIMIT_KERNEL + 1)};
	check_report(attempt, outcome.end);
	attempt->n_watched = 0; /* the last version is kept in any case */
	kgb_attempt__watch_kernel(attempt);
	if (kgb_attempt__harvest(attempt, &harvest, &err) < 0)
		kgb_attempt__fatal(attempt, &err);
	outcome.has_kernel = harvest.source != NULL;
	if (!outcome.has_kernel)
		kgb_attempt__explain_missing(attempt, outcome.end, &harvest, &outcome);
	outcome.retry = !outcome.has_kernel && kgb_agent_end_retryable(outcome.end) &&
			attempt->number < attempt->env->max_attempts && !attempt->reported_fatal;
	if (attempt->sums.result.survivors > 0)
		kgb_error("%s: %d processes of the sandbox survived its end", attempt->spec->name,
			  attempt->sums.result.survivors);
	else if (attempt->sums.result.survivors < 0)
		kgb_error("%s: whether the sandbox is empty could not be determined",
			  attempt->spec->name);
	if (record_end(attempt, outcome.end, &harvest, &outcome, &err) < 0)
		kgb_attempt__fatal(attempt, &err);
	attempt->done(attempt->payload, attempt, &outcome);
	kgb_buf_release(&harvest.kernel);
}

static void on_timer_closed(uv_handle_t *handle)
{
	struct kgb_attempt *attempt = handle->data;
	if (--attempt->open > 0)
		return;
	finish(attempt);
	free_attempt(attempt);
}

void kgb_attempt__maybe_settled(struct kgb_attempt *attempt)
{
	if (attempt->phase != KGB_ATTEMPT_CLOSING || attempt->session || attempt->job ||
	    attempt->watcher.disk.is_counting)
		return;
	step(attempt, KGB_ATTEMPT_ON_SETTLED);
	kgb_attempt__round_over(attempt);
}

void kgb_attempt__conclude(struct kgb_attempt *attempt)
{
	step(attempt, KGB_ATTEMPT_ON_OVER);
	uv_close((uv_handle_t *)&attempt->tick, on_timer_closed);
	uv_close((uv_handle_t *)&attempt->limit, on_timer_closed);
}

static void on_session_closed(void *payload, const struct kgb_totals *totals)
{
	struct kgb_attempt *attempt = payload;
	on_usage(attempt, totals);
	attempt->session = NULL;
	/* What follows a round takes a while: whoever is killed then has counted it. */
	if (kgb_attempt__has_loop(attempt))
		flush_usage(attempt);
	kgb_attempt__maybe_settled(attempt);
}

static void on_launch_done(struct kgb_sandbox_child *launch,
			   const struct kgb_sandbox_child_result *result, void *payload)
{
	(void)launch;
	struct kgb_attempt *attempt = payload;
	kgb_round_sums_end_round(&attempt->sums, &attempt->launch.status, result);
	step(attempt, KGB_ATTEMPT_ON_EXIT);
	uv_timer_stop(&attempt->tick);
	if (kgb_attempt__has_loop(attempt))
		limit_at_deadline(attempt);
	else
		uv_timer_stop(&attempt->limit);
	int64_t skipped = kgb_cli_stream_finish(&attempt->stream);
	if (skipped > 0)
		kgb_warn(
			"%s: the CLI wrote faster than is read: %lld bytes of its output are only in stdout.jsonl",
			attempt->spec->name, (long long)skipped);
	struct kgb_watcher_view view = view_of(attempt);
	kgb_watcher_end_round(&attempt->watcher, &view, &attempt->launch.status, result);
	if (attempt->job)
		kgb_job_cancel(attempt->job);
	if (attempt->session)
		kgb_session_close(attempt->session, on_session_closed, attempt);
	kgb_attempt__maybe_settled(attempt);
}

void kgb_attempt_cancel(struct kgb_attempt *attempt, bool now)
{
	if (attempt->phase == KGB_ATTEMPT_DONE)
		return;
	attempt->last_round = true;
	if (attempt->phase == KGB_ATTEMPT_CLOSING)
		return;
	attempt->cancelled = true;
	if (attempt->phase == KGB_ATTEMPT_DECIDING) {
		if (attempt->job)
			kgb_job_cancel(attempt->job);
		return;
	}
	diagnose(attempt);
	stop(attempt, now ? SIGKILL : SIGINT, now ? 0 : STOP_GRACE_MS);
}

/* ---- the beginning ---- */

static const struct kgb_sandbox_child_callbacks launch_callbacks = {.on_ready = on_ready,
								    .on_done = on_launch_done};

void kgb_attempt__next_round(struct kgb_attempt *attempt)
{
	struct kgb_err err = KGB_ERR_INIT;
	if (kgb_attempt__start_round(attempt, &launch_callbacks, &err) < 0) {
		kgb_error("%s: round %d: %s", attempt->spec->name, attempt->round, err.msg);
		attempt->sums.result =
			(struct kgb_sandbox_child_result){.exit_code = -1, .err = err};
		kgb_attempt__conclude(attempt);
		return;
	}
	step(attempt, KGB_ATTEMPT_ON_ROUND);
	uv_timer_start(&attempt->tick, on_tick, TICK_MS, TICK_MS);
	limit_at_deadline(attempt);
}

static int begin(struct kgb_attempt *attempt, struct kgb_err *err)
{
	const struct kgb_attempt_env *env = attempt->env;
	const struct kgb_watcher_spec watcher = {
		.operator= attempt->spec->name,
		.dir = attempt->dir,
		.loop = env->loop,
		.limits = &env->limits,
		.processes = env->processes,
		.on_counted = on_counted,
		.payload = attempt,
	};
	if (kgb_cli_stream_init(&attempt->stream, env->method->program.adapter, err) < 0 ||
	    kgb_attempt__setup(attempt, err) < 0 ||
	    kgb_watcher_open(&attempt->watcher, &watcher, err) < 0)
		return -1;
	const struct kgb_device *device = kgb_devices_at(env->devices, attempt->slot);
	const struct kgb_event_attempt_started event = {
		.operator= attempt->spec->name,
		.attempt = attempt->number,
		.device = device->number >= 0 ? device->number : attempt->slot,
		.timeout_ms = attempt->timeout_ms,
		.prompt_sha256 = attempt->prompt_sha256,
	};
	if (kgb_event_attempt_started(env->log, &event, err) < 0)
		return -1;
	if (attempt->judge_start) {
		attempt->phase = KGB_ATTEMPT_DECIDING; /* from the first tick on */
		return 0;
	}
	if (kgb_attempt__start_round(attempt, &launch_callbacks, err) == 0)
		return 0;
	const struct kgb_event_attempt_finished finished = {
		.operator= attempt->spec->name,
		.attempt = attempt->number,
		.end = KGB_AGENT_NOT_STARTED,
		.exit_code = -1,
		.error_code = kgb_agent_end_code(KGB_AGENT_NOT_STARTED),
		.error_message = err->msg,
	};
	struct kgb_err journal_err = KGB_ERR_INIT;
	if (kgb_event_attempt_finished(env->log, &finished, &journal_err) < 0)
		kgb_attempt__fatal(attempt, &journal_err);
	return -1;
}

int kgb_attempt_start(struct kgb_attempt **out, const struct kgb_attempt_env *env,
		      const struct kgb_attempt_task *task, kgb_attempt_done_fn done, void *payload,
		      struct kgb_err *err)
{
	struct kgb_attempt *attempt = kgb_xcalloc(1, sizeof(*attempt));
	*attempt = (struct kgb_attempt){
		.env = env,
		.spec = task->spec,
		.number = task->number,
		.slot = task->slot,
		.budget = {.level = "attempt",
			   .parent = task->budget,
			   .limit = env->budget,
			   .soft_percent = env->warn_percent},
		.timeout_ms = task->timeout_ms,
		.timed_by = task->timed_by,
		.done = done,
		.payload = payload,
		.rel = kgb_rundir_attempt_rel(task->spec->safe_name, task->number),
		.ws = {.worktree_fd = -1},
		.watcher = {.disk = {.dir_fd = -1}},
		.open = 2,
	};
	kgb_round_sums_init(&attempt->sums);
	attempt->dir = kgb_path_join(env->dir->path, attempt->rel);
	if (begin(attempt, err) < 0) {
		free_attempt(attempt);
		return -1;
	}
	uv_timer_init(env->loop, &attempt->tick);
	uv_timer_init(env->loop, &attempt->limit);
	attempt->tick.data = attempt->limit.data = attempt;
	uv_timer_start(&attempt->tick, on_tick, TICK_MS, TICK_MS);
	attempt->deadline_ms = kgb_mono_ms() + attempt->timeout_ms;
	uv_timer_start(&attempt->limit, on_limit, (uint64_t)attempt->timeout_ms, 0);
	*out = attempt;
	return 0;
}
