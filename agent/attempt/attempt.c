/* SPDX-License-Identifier: MIT */
#include "agent/attempt/attempt.h"

#include <signal.h>

#include "agent/attempt/agent_checks.h"
#include "agent/attempt/ending.h"
#include "agent/attempt/model_session.h"
#include "agent/attempt/recording.h"
#include "agent/attempt/review.h"
#include "agent/attempt/round_launch.h"
#include "agent/watch/cli_stream.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/system/fs.h"
#include "base/time.h"

/* How often the stream is read and kernel.py examined: a quarter of the interval that progress.json
 * promises. */
#define TICK_MS 60
/* From SIGINT (the CLI reports its usage) to SIGKILL. */
#define STOP_GRACE_MS 5000
/* Longest time from a CLI's closing event to its exit. */
#define LINGER_MS 10000

/** The parts borrow facts, workspace and each other; only this file calls from one into another. */
struct kgb_attempt {
	struct kgb_attempt_facts facts;
	kgb_attempt_done_fn done;
	void *payload;
	enum kgb_attempt_phase phase;

	struct kgb_attempt_setup setup;
	struct kgb_versions versions;
	struct kgb_agent_checks checks;
	struct kgb_review review;
	struct kgb_round_launch launch;
	struct kgb_cli_stream stream;
	struct kgb_round_sums sums;
	struct kgb_watcher watcher;
	struct kgb_model_session model;
	struct kgb_ending ending;

	uv_timer_t tick; /* reads the stream, examines kernel.py */
	uv_timer_t limit; /* the attempt's time, then the linger after the closing event */
	int n_open_timers;
	int64_t timeout_ms;
	const char *timed_by; /* owner of that time, or NULL */
	int64_t deadline_ms; /* monotonic: end of its time */

	bool judges_start; /* before the first round, from the first tick on */
	bool is_last_round; /* no other may follow */
	bool reported_fatal;
};

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
	static const char *const names[KGB_N_ATTEMPT_PHASES] = {"starting", "running",  "stopping",
								"closing",  "deciding", "done"};
	enum kgb_attempt_phase next = kgb_attempt_next(attempt->phase, event);
	KGB_ASSERT(next != KGB_N_ATTEMPT_PHASES);
	if (next != attempt->phase)
		kgb_debug("%s: attempt %d is %s", attempt->facts.spec->name, attempt->facts.number,
			  names[next]);
	attempt->phase = next;
}

/** The run cannot go on: journal or disk failed. */
static void report_fatal(struct kgb_attempt *attempt, const struct kgb_err *err)
{
	if (attempt->reported_fatal)
		return;
	attempt->reported_fatal = true;
	attempt->facts.env->on_fatal(attempt->facts.env->payload, err);
}

/** Ask the CLI to end, or with SIGKILL end everything at once. */
static void stop(struct kgb_attempt *attempt, int signo, int64_t grace_ms)
{
	step(attempt, KGB_ATTEMPT_ON_STOP);
	if (attempt->phase != KGB_ATTEMPT_STOPPING)
		return;
	if (signo == SIGKILL)
		kgb_sandbox_child_kill(&attempt->launch.child);
	else
		kgb_sandbox_child_stop(&attempt->launch.child, signo, grace_ms);
}

static struct kgb_watcher_view view_of(const struct kgb_attempt *attempt)
{
	return (struct kgb_watcher_view){
		.launcher = kgb_sandbox_child_pid(&attempt->launch.child),
		.is_running = attempt->phase == KGB_ATTEMPT_RUNNING,
		.has_result = attempt->ending.result_ms != 0,
		.awaits_verdict = attempt->versions.job != NULL,
		.n_open_requests = kgb_model_session_n_open(&attempt->model),
		.stdout_offset = attempt->stream.offset,
	};
}

static void follow_order(struct kgb_attempt *attempt, enum kgb_watcher_order order)
{
	if (order != KGB_WATCHER_LETS_RUN)
		stop(attempt, order == KGB_WATCHER_KILLS ? SIGKILL : SIGINT, STOP_GRACE_MS);
}

static void settle_if_ready(struct kgb_attempt *attempt);

/** A count of files is over. */
static void on_counted(void *payload, enum kgb_watcher_order order)
{
	struct kgb_attempt *attempt = payload;
	follow_order(attempt, order);
	settle_if_ready(attempt);
}

/** Record what the agent waits for, before it is asked to end. */
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
		/* Wait for the verdict on a kernel that was left in time; start nothing after
		 * it. */
		attempt->is_last_round = true;
		attempt->ending.timed_out = attempt->launch.round == 0;
	}
	if (attempt->phase != KGB_ATTEMPT_RUNNING && attempt->phase != KGB_ATTEMPT_STARTING)
		return;
	diagnose(attempt);
	if (attempt->ending.result_ms != 0) {
		kgb_verbose("%s: the CLI has finished but does not exit; ending it",
			    attempt->facts.spec->name);
		attempt->ending.lingered = true;
		stop(attempt, SIGTERM, STOP_GRACE_MS / 2);
		return;
	}
	if (!attempt->ending.budget_code && attempt->timed_by) {
		attempt->ending.budget_code = KGB_CODE_BUDGET_SECONDS;
		snprintf(attempt->ending.budget_why, sizeof(attempt->ending.budget_why),
			 "the time budget of the %s is used up", attempt->timed_by);
	}
	if (!attempt->ending.budget_code)
		attempt->ending.timed_out = true;
	stop(attempt, SIGINT, STOP_GRACE_MS);
}

/** Set the timer to the end of the attempt's time. */
static void limit_at_deadline(struct kgb_attempt *attempt)
{
	int64_t left_ms = attempt->deadline_ms - kgb_mono_ms();
	uv_timer_start(&attempt->limit, on_limit, (uint64_t)(left_ms > 0 ? left_ms : 0), 0);
}

/** After its closing event a CLI may linger a while. Some CLIs go on after an event that looks like
 * the last. */
static void follow_result(struct kgb_attempt *attempt)
{
	bool has_result = attempt->stream.events.report.has_result;
	int64_t now_ms = kgb_mono_ms();
	if (attempt->ending.budget_code || has_result == (attempt->ending.result_ms != 0))
		return;
	attempt->ending.result_ms = has_result ? now_ms : 0;
	if (has_result)
		uv_timer_start(&attempt->limit, on_limit, LINGER_MS, 0);
	else
		limit_at_deadline(attempt);
}

/** Commit a kernel.py that has changed. */
static void commit_change(struct kgb_attempt *attempt, bool is_last)
{
	struct kgb_err err = KGB_ERR_INIT;
	if (kgb_versions_commit_change(&attempt->versions, is_last, &err) < 0)
		report_fatal(attempt, &err);
}

static void review_round(struct kgb_attempt *attempt);

static void on_tick(uv_timer_t *timer)
{
	struct kgb_attempt *attempt = timer->data;
	if (attempt->judges_start) {
		attempt->judges_start = false;
		review_round(attempt);
	}
	if (attempt->phase == KGB_ATTEMPT_DECIDING || attempt->phase == KGB_ATTEMPT_DONE)
		return;
	const struct kgb_report *report = &attempt->stream.events.report;
	int64_t n_events = report->n_events;
	kgb_cli_stream_read(&attempt->stream);
	if (report->n_events != n_events)
		kgb_run_log_set_doing(attempt->facts.env->log, attempt->facts.spec->name,
				      report->last_event);
	follow_result(attempt);
	kgb_model_session_flush(&attempt->model);
	commit_change(attempt, false);
	struct kgb_watcher_view view = view_of(attempt);
	follow_order(attempt, kgb_watcher_tick(&attempt->watcher, &view));
}

/* ---- callbacks of the parts ---- */

/** A budget is used up: the CLI received an error and should end by itself. */
static void on_budget(void *payload, const char *why)
{
	struct kgb_attempt *attempt = payload;
	if (attempt->ending.budget_code)
		return;
	const struct kgb_budget *budget = kgb_budget_reached(&attempt->model.budget);
	attempt->ending.budget_code = kgb_budget_code(budget->reached);
	snprintf(attempt->ending.budget_why, sizeof(attempt->ending.budget_why), "%s", why);
	kgb_warn("%s: %s", attempt->facts.spec->name, why);
	if (attempt->phase == KGB_ATTEMPT_RUNNING)
		uv_timer_start(&attempt->limit, on_limit, LINGER_MS, 0);
}

static void on_hopeless(void *payload)
{
	struct kgb_attempt *attempt = payload;
	attempt->ending.answers_break_off = true;
}

static void on_fatal(void *payload, const struct kgb_err *err)
{
	report_fatal(payload, err);
}

static void on_verify(void *payload, struct kgb_verify_request *request, const char *kernel,
		      size_t len)
{
	struct kgb_attempt *attempt = payload;
	struct kgb_err err = KGB_ERR_INIT;
	kgb_model_session_flush(&attempt->model); /* what the agent has spent at this check */
	if (kgb_agent_checks_take(&attempt->checks, request, kernel, len,
				  attempt->phase == KGB_ATTEMPT_RUNNING, &err) < 0)
		report_fatal(attempt, &err);
}

static void on_check_answered(void *payload, const struct kgb_err *fatal)
{
	struct kgb_attempt *attempt = payload;
	if (fatal)
		report_fatal(attempt, fatal);
	settle_if_ready(attempt);
}

static void on_ready(struct kgb_sandbox_child *launch, int listen_fd, void *payload)
{
	(void)launch;
	struct kgb_attempt *attempt = payload;
	step(attempt, KGB_ATTEMPT_ON_READY);
	KGB_AUTO(free)
	char *traffic =
		kgb_attempt_round_path(&attempt->facts.paths, attempt->launch.round, "traffic");
	const struct kgb_model_source source = {.offline = attempt->launch.offline,
						.cassette = attempt->launch.cassette,
						.traffic_dir = traffic};
	if (kgb_model_session_open(&attempt->model, &source, listen_fd, &attempt->ending.gateway) <
	    0)
		stop(attempt, SIGKILL, 0);
}

/* ---- the end ---- */

static void free_attempt(struct kgb_attempt *attempt)
{
	kgb_workspace_release(&attempt->setup.ws);
	kgb_watcher_close(&attempt->watcher);
	kgb_cli_stream_release(&attempt->stream);
	kgb_round_launch_release(&attempt->launch);
	kgb_review_release(&attempt->review);
	kgb_versions_release(&attempt->versions);
	kgb_recording_free(attempt->facts.recording);
	kgb_attempt_facts_release(&attempt->facts);
	kgb_free(attempt);
}

/** Harvest, journal, and call done. */
static void finish(struct kgb_attempt *attempt)
{
	struct kgb_attempt_outcome outcome = {.end = kgb_ending_classify(&attempt->ending)};
	struct kgb_report *report = &attempt->stream.events.report;
	kgb_round_sums_complete(&attempt->sums, report);
	/* The CLI prices every answer by its built-in list, but the offline model's script costs
	 * nothing. */
	if (attempt->facts.env->gateway_mode != KGB_GATEWAY_LIVE)
		report->cost_nanos = -1;
	commit_change(attempt, true);
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_harvest harvest = {.kernel = KGB_BUF_INIT(KGB_LIMIT_KERNEL + 1)};
	const struct kgb_harvest_sources sources = {
		.facts = &attempt->facts,
		.versions = &attempt->versions,
		.setup = &attempt->setup,
		.final_text = report->final_text,
		.has_worked = attempt->review.n_good_rounds > 0,
	};
	if (kgb_harvest_take(&harvest, &sources, &err) < 0)
		report_fatal(attempt, &err);
	outcome.has_kernel = harvest.source != NULL;
	if (!outcome.has_kernel)
		kgb_ending_explain(&attempt->ending, &harvest, &outcome);
	/* A fault of the machine or the provider cut the work short: take only a kernel that has
	 * passed a check. */
	outcome.retry = !kgb_str_eq(harvest.source, "verified") &&
			kgb_agent_end_retryable(outcome.end) &&
			attempt->facts.number < attempt->facts.env->max_attempts &&
			!attempt->reported_fatal;
	if (kgb_ending_record(&attempt->ending, &harvest, &outcome, &err) < 0)
		report_fatal(attempt, &err);
	attempt->done(attempt->payload, attempt, &outcome);
	kgb_buf_release(&harvest.kernel);
}

static void on_timer_closed(uv_handle_t *handle)
{
	struct kgb_attempt *attempt = handle->data;
	if (--attempt->n_open_timers > 0)
		return;
	finish(attempt);
	free_attempt(attempt);
}

/** No more rounds. */
static void conclude(struct kgb_attempt *attempt)
{
	step(attempt, KGB_ATTEMPT_ON_OVER);
	uv_close((uv_handle_t *)&attempt->tick, on_timer_closed);
	uv_close((uv_handle_t *)&attempt->limit, on_timer_closed);
}

static void settle_if_ready(struct kgb_attempt *attempt)
{
	if (attempt->phase != KGB_ATTEMPT_CLOSING || attempt->model.session ||
	    attempt->versions.job || attempt->watcher.disk.is_counting)
		return;
	step(attempt, KGB_ATTEMPT_ON_SETTLED);
	if (attempt->facts.paths.has_rounds)
		review_round(attempt);
	else
		conclude(attempt);
}

static void on_session_closed(void *payload)
{
	struct kgb_attempt *attempt = payload;
	/* Count the round before its review: a run that is killed during the review must not lose
	 * the count. */
	if (attempt->facts.paths.has_rounds)
		kgb_model_session_flush(&attempt->model);
	settle_if_ready(attempt);
}

static void on_launch_done(struct kgb_sandbox_child *launch,
			   const struct kgb_sandbox_child_result *result, void *payload)
{
	(void)launch;
	struct kgb_attempt *attempt = payload;
	kgb_round_sums_end_round(&attempt->sums, &attempt->launch.child.status, result);
	step(attempt, KGB_ATTEMPT_ON_EXIT);
	uv_timer_stop(&attempt->tick);
	if (attempt->facts.paths.has_rounds)
		limit_at_deadline(attempt);
	else
		uv_timer_stop(&attempt->limit);
	int64_t skipped = kgb_cli_stream_finish(&attempt->stream);
	if (skipped > 0)
		kgb_warn(
			"%s: the CLI wrote faster than kgb-agent reads: %lld bytes of its output are only in stdout.jsonl",
			attempt->facts.spec->name, (long long)skipped);
	struct kgb_watcher_view view = view_of(attempt);
	kgb_watcher_end_round(&attempt->watcher, &view, &attempt->launch.child.status, result);
	kgb_versions_cancel_job(&attempt->versions);
	kgb_model_session_close(&attempt->model);
	settle_if_ready(attempt);
}

void kgb_attempt_cancel(struct kgb_attempt *attempt, bool now)
{
	if (attempt->phase == KGB_ATTEMPT_DONE)
		return;
	attempt->is_last_round = true;
	if (attempt->phase == KGB_ATTEMPT_CLOSING)
		return;
	attempt->ending.cancelled = true;
	if (attempt->phase == KGB_ATTEMPT_DECIDING) {
		kgb_versions_cancel_job(&attempt->versions);
		return;
	}
	diagnose(attempt);
	stop(attempt, now ? SIGKILL : SIGINT, now ? 0 : STOP_GRACE_MS);
}

/* ---- rounds ---- */

/** Start the next round: its prompt, its record, the CLI in its sandbox. */
static int start_round(struct kgb_attempt *attempt, struct kgb_err *err)
{
	static const struct kgb_sandbox_child_callbacks callbacks = {.on_ready = on_ready,
								     .on_done = on_launch_done};
	const char *adapter = attempt->facts.env->method->program.adapter;
	KGB_AUTO(buf) struct kgb_buf prompt = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	kgb_round_sums_begin_round(&attempt->sums, &attempt->stream.events.report);
	attempt->ending.result_ms = 0;
	attempt->ending.lingered = false;
	if (kgb_cli_stream_reset(&attempt->stream, adapter, err) < 0)
		return -1;
	kgb_review_begin_round(&attempt->review, attempt->launch.round + 1);
	if (kgb_round_launch_prepare(&attempt->launch, &prompt, err) < 0 ||
	    (attempt->facts.paths.has_rounds &&
	     kgb_review_write_prompt(&attempt->review, &prompt, err) < 0) ||
	    kgb_round_launch_start(&attempt->launch, &prompt, &callbacks, attempt,
				   &attempt->stream.fd, err) < 0)
		return -1;
	kgb_watcher_begin_round(&attempt->watcher);
	return 0;
}

/* ---- between rounds ---- */

static struct kgb_ended_round ended_round(const struct kgb_attempt *attempt)
{
	return (struct kgb_ended_round){
		.end = kgb_ending_classify(&attempt->ending),
		.is_cut_off = attempt->ending.cancelled || attempt->ending.timed_out ||
			      attempt->reported_fatal,
		.session_id = attempt->launch.session_id,
		.prompt_sha256 = attempt->launch.prompt_sha256,
		.report = &attempt->stream.events.report,
		.gateway = &attempt->sums.round.usage,
	};
}

/** Submit the kernel that the round left, or the initial one, to the judge. */
static void review_round(struct kgb_attempt *attempt)
{
	const struct kgb_ended_round ended = ended_round(attempt);
	kgb_review_judge(&attempt->review, &ended);
}

static bool may_start_round(struct kgb_attempt *attempt)
{
	int round = attempt->launch.round;
	int64_t requests = attempt->facts.env->method->limits.model_requests;
	if (attempt->is_last_round || attempt->ending.cancelled || attempt->reported_fatal)
		return false;
	if (round == 0)
		return true;
	if (!kgb_rounds_goes_on_after(kgb_ending_classify(&attempt->ending)) ||
	    attempt->ending.budget_code || kgb_budget_reached(&attempt->model.budget) ||
	    (requests > 0 && attempt->sums.totals.n_exchanges >= requests))
		return false;
	attempt->ending.stopped_by =
		kgb_rounds_stop(&attempt->facts.loop, round, &attempt->versions.best);
	return !attempt->ending.stopped_by;
}

/** After the verdict on the round's kernel: record the round, then start the next one or
 * conclude. */
static void on_round_judged(void *payload, const struct kgb_err *fatal)
{
	struct kgb_attempt *attempt = payload;
	struct kgb_err err = KGB_ERR_INIT;
	if (fatal)
		report_fatal(attempt, fatal);
	const struct kgb_ended_round ended = ended_round(attempt);
	if (kgb_review_finish(&attempt->review, &ended, &err) < 0)
		report_fatal(attempt, &err);
	if (!may_start_round(attempt)) {
		conclude(attempt);
		return;
	}
	if (start_round(attempt, &err) < 0) {
		kgb_error("%s: round %d: %s", attempt->facts.spec->name, attempt->launch.round,
			  err.msg);
		attempt->sums.result =
			(struct kgb_sandbox_child_result){.exit_code = -1, .err = err};
		conclude(attempt);
		return;
	}
	step(attempt, KGB_ATTEMPT_ON_ROUND);
	uv_timer_start(&attempt->tick, on_tick, TICK_MS, TICK_MS);
	limit_at_deadline(attempt);
}

/* ---- the beginning ---- */

/** Create the files and objects that the first round needs. */
static int make_parts(struct kgb_attempt *attempt, struct kgb_err *err)
{
	struct kgb_attempt_facts *facts = &attempt->facts;
	const struct kgb_attempt_env *env = facts->env;
	const struct kgb_watcher_spec watcher = {
		.operator= facts->spec->name,
		.dir = facts->paths.dir,
		.program = &env->method->program,
		.program_path = env->cli_path,
		.loop = env->loop,
		.limits = &env->limits,
		.processes = env->processes,
		.on_counted = on_counted,
		.payload = attempt,
	};
	return kgb_cli_stream_init(&attempt->stream, env->method->program.adapter, err) < 0 ||
			       kgb_rundir_make_attempt(env->dir, facts->spec->safe_name,
						       facts->number, err) < 0 ||
			       kgb_recording_open(&facts->recording, facts, err) < 0 ||
			       kgb_attempt_setup_make(&attempt->setup, facts, err) < 0 ||
			       kgb_watcher_open(&attempt->watcher, &watcher, err) < 0
		       ? -1
		       : 0;
}

static int begin(struct kgb_attempt *attempt, struct kgb_err *err)
{
	const struct kgb_attempt_facts *facts = &attempt->facts;
	const struct kgb_attempt_env *env = facts->env;
	if (make_parts(attempt, err) < 0)
		return -1;
	const struct kgb_event_attempt_started event = {
		.operator= attempt->facts.spec->name,
		.attempt = attempt->facts.number,
		.device = facts->device->number >= 0 ? facts->device->number : facts->slot,
		.maker = env->maker,
		.price = kgb_prices_find(env->prices, env->model, kgb_wall_ms()),
		.timeout_ms = attempt->timeout_ms,
		.prompt_sha256 = attempt->setup.prompt_sha256,
	};
	if (kgb_event_attempt_started(env->log, &event, err) < 0)
		return -1;
	attempt->judges_start = attempt->setup.start.is_earlier;
	if (attempt->judges_start) {
		attempt->phase = KGB_ATTEMPT_DECIDING;
		return 0;
	}
	if (start_round(attempt, err) == 0)
		return 0;
	const struct kgb_event_attempt_finished finished = {
		.operator= attempt->facts.spec->name,
		.attempt = attempt->facts.number,
		.end = KGB_AGENT_NOT_STARTED,
		.exit_code = -1,
		.error_code = kgb_agent_end_code(KGB_AGENT_NOT_STARTED),
		.error_message = err->msg,
	};
	struct kgb_err journal_err = KGB_ERR_INIT;
	if (kgb_event_attempt_finished(env->log, &finished, &journal_err) < 0)
		report_fatal(attempt, &journal_err);
	return -1;
}

int kgb_attempt_start(struct kgb_attempt **out, const struct kgb_attempt_env *env,
		      const struct kgb_attempt_task *task, kgb_attempt_done_fn done, void *payload,
		      struct kgb_err *err)
{
	struct kgb_attempt *attempt = kgb_xcalloc(1, sizeof(*attempt));
	const struct kgb_attempt_facts *facts = &attempt->facts;
	*attempt = (struct kgb_attempt){
		.done = done,
		.payload = payload,
		.setup = {.ws = {.worktree_fd = -1}},
		.versions = {.facts = facts, .ws = &attempt->setup.ws},
		.checks = {.facts = facts,
			   .versions = &attempt->versions,
			   .budget = &attempt->model.budget,
			   .on_answered = on_check_answered,
			   .payload = attempt},
		.review = {.facts = facts,
			   .start = &attempt->setup.start,
			   .ws = &attempt->setup.ws,
			   .versions = &attempt->versions,
			   .on_judged = on_round_judged,
			   .payload = attempt},
		.launch = {.facts = facts},
		.watcher = {.disk = {.dir_fd = -1}},
		.model = {.facts = facts,
			  .sums = &attempt->sums,
			  .watcher = &attempt->watcher,
			  .callbacks = {.on_budget = on_budget,
					.on_hopeless = on_hopeless,
					.on_verify = on_verify,
					.on_closed = on_session_closed,
					.on_fatal = on_fatal},
			  .payload = attempt,
			  .budget = {.level = "attempt",
				     .parent = task->budget,
				     .limit = env->budget,
				     .soft_percent = env->warn_percent}},
		.ending = {.facts = facts,
			   .report = &attempt->stream.events.report,
			   .sums = &attempt->sums,
			   .watcher = &attempt->watcher},
		.timeout_ms = task->timeout_ms,
		.timed_by = task->timed_by,
		.n_open_timers = 2,
	};
	kgb_attempt_facts_init(&attempt->facts, env, task);
	kgb_round_sums_init(&attempt->sums);
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
