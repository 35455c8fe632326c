/* SPDX-License-Identifier: MIT */
#include "agent/sched/sched.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "agent/attempt/attempt.h"
#include "agent/broker/broker.h"
#include "agent/llm/llm_attempt.h"
#include "agent/report/progress.h"
#include "agent/report/results.h"
#include "agent/sched/breaker.h"
#include "agent/sched/gpu_sampler.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/system/fs.h"
#include "base/time.h"
#include "verify/cases/cases.h"

/* Interval and largest number of retries of an attempt that cannot start for lack of descriptors,
 * processes or memory. The number counts only waits while nothing else runs that could release
 * some. */
#define START_DELAY_MS 1000
#define START_DELAYS_MAX 60
/* Descriptors that must be free before an attempt starts: for its start, and for a judge beside
 * it. */
#define SPARE_FILES 32
#define CASES_OF_A_BENCHMARK 20 /* that take about as long */

enum item_phase { ITEM_WAITING, ITEM_GENERATING, ITEM_VERIFYING, ITEM_ENDED };

/** The places of operators in work; the number of a slot gives its device. */
struct slots {
	bool *busy; /* owned */
	int n;
};

/** One of the runs. */
struct run {
	struct sched *sched;
	const struct kgb_sched_run *spec;
	struct slots own_slots;
	struct slots *slots;
	struct kgb_attempt_env env;
	struct kgb_budget budget; /* of the run */
	struct kgb_progress *progress;
	struct kgb_gpu_sampler *gpus; /* NULL: no GPU judges */
	struct kgb_breaker breaker;
	bool halted; /* no attempt begins; running ones go on to their end */
	struct kgb_sched_outcome outcome;
};

struct item {
	struct sched *sched;
	struct run *run;
	const struct kgb_spec *spec;
	bool generate;
	int64_t work; /* of a verification without an attempt: about the number of its cases */
	enum item_phase phase;
	int slot; /* of those that work at the same time; gives its device */
	bool holds_slot;
	int n_attempts;
	int n_failed_starts; /* in a row */
	struct kgb_budget budget; /* of its operator */
	struct kgb_attempt *attempt;
	struct kgb_llm_attempt *llm_attempt;
	struct kgb_job *job;
};

struct sched {
	const struct kgb_sched_spec *spec;
	uv_loop_t loop;
	struct run *runs;
	struct item *items; /* in the order in which they begin */
	size_t n_items;
	struct slots slots; /* that runs share */
	int n_generating, n_verifying;
	struct kgb_processes processes;
	struct kgb_display *display; /* of all runs */
	int64_t started_ms; /* monotonic */
	int64_t delayed_until_ms; /* monotonic; no attempt starts before */
	struct kgb_gateway *gateway;
	struct kgb_broker *broker;
	struct kgb_asker *asker; /* of a bare model */
	uv_signal_t signals[3];
	uv_timer_t pump_timer; /* starts work from the loop, never from inside a callback */
	int n_signals;
	int n_parts; /* not closed yet, while closing */
	bool stopping, closing;
};

static void pump(struct sched *sched);

/* ---- ending ---- */

static void stop_all(struct sched *sched, bool now)
{
	sched->stopping = true;
	for (size_t i = 0; i < sched->n_items; i++) {
		struct item *item = &sched->items[i];
		if (item->attempt)
			kgb_attempt_cancel(item->attempt, now);
		if (item->llm_attempt)
			kgb_llm_attempt_cancel(item->llm_attempt);
		if (item->job)
			kgb_job_cancel(item->job);
	}
	pump(sched);
}

/** The journal or the disk of one run failed: stop all, because the others would spend money until
 * they fail the same way. */
static void on_fatal(void *payload, const struct kgb_err *err)
{
	const struct run *run = payload;
	struct sched *sched = run->sched;
	if (run->outcome.fatal)
		return;
	for (size_t i = 0; i < sched->spec->n_runs; i++) {
		sched->runs[i].outcome.fatal = true;
		sched->runs[i].outcome.err = *err;
	}
	kgb_error("the run stops: %s", err->msg);
	stop_all(sched, false);
}

static void check(struct run *run, int rc, const struct kgb_err *err)
{
	if (rc < 0)
		on_fatal(run, err);
}

static void end_item(struct item *item, enum kgb_code code, const char *message)
{
	struct kgb_err err = KGB_ERR_INIT;
	item->phase = ITEM_ENDED;
	check(item->run,
	      kgb_event_operator_ended(item->run->env.log, item->spec->name,
				       kgb_op_status_of(kgb_code_status(code)), kgb_code_name(code),
				       message, &err),
	      &err);
	pump(item->sched);
}

/* ---- final verification ---- */

static void verify(struct item *item);

static bool take_slot(struct item *item)
{
	struct slots *slots = item->run->slots;
	for (int i = 0; i < slots->n && !item->holds_slot; i++) {
		if (slots->busy[i])
			continue;
		slots->busy[i] = item->holds_slot = true;
		item->slot = i;
	}
	return item->holds_slot;
}

static void give_slot(struct item *item)
{
	if (item->holds_slot)
		item->run->slots->busy[item->slot] = false;
	item->holds_slot = false;
}

/** The next free verdicts/<safe_name>/NNN.json, relative to the run directory; malloc'ed. */
static char *next_verdict_path(const struct item *item, struct kgb_err *err)
{
	const struct kgb_rundir *dir = item->run->env.dir;
	KGB_AUTO(free) char *folder = kgb_xasprintf("verdicts/%s", item->spec->safe_name);
	if (kgb_fs_mkdirs(dir->fd, folder, 0755, err) < 0)
		return NULL;
	for (int i = 1;; i++) {
		KGB_AUTO(free) char *path = kgb_xasprintf("%s/%03d.json", folder, i);
		if (!kgb_fs_exists(dir->fd, path))
			return KGB_TAKE(path);
	}
}

static int record_verdict(struct item *item, const struct kgb_job_result *result,
			  const struct kgb_verdict_summary *summary, struct kgb_err *err)
{
	KGB_AUTO(free) char *path = next_verdict_path(item, err);
	if (!path || kgb_fs_write_atomic(item->run->env.dir->fd, path, result->text, result->len,
					 0644, true, err) < 0)
		return -1;
	return kgb_event_verified(item->run->env.log, item->spec->name, summary, path, err);
}

static void on_verified(void *payload, const struct kgb_job_result *result)
{
	struct item *item = payload;
	struct sched *sched = item->sched;
	struct kgb_verdict_summary summary;
	struct kgb_err err = result->err;
	item->job = NULL;
	sched->n_verifying--;
	if (result->cancelled) {
		give_slot(item);
		end_item(item, KGB_CODE_INFRA_CANCELLED, "cancelled before a verdict");
		return;
	}
	bool usable =
		result->verdict && kgb_verdict_summarise(result->verdict, &summary, &err) == 0;
	give_slot(item);
	if (!usable) {
		end_item(item, KGB_CODE_INFRA_JUDGE, err.msg);
		return;
	}
	item->phase = ITEM_ENDED;
	struct kgb_err write_err = KGB_ERR_INIT;
	check(item->run, record_verdict(item, result, &summary, &write_err), &write_err);
	pump(sched);
}

static void on_job_moved(void *payload, int queued, int judging)
{
	const struct item *item = payload;
	kgb_run_log_move_job(item->run->env.log, item->spec->name, queued, judging);
}

static void verify(struct item *item)
{
	struct sched *sched = item->sched;
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(free) char *rel = kgb_xasprintf("kernels/%s.py", item->spec->safe_name);
	KGB_AUTO(free) char *path = kgb_path_join(item->run->env.dir->path, rel);
	KGB_AUTO(buf) struct kgb_buf kernel = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
	item->phase = ITEM_VERIFYING;
	if (kgb_fs_read_untrusted(item->run->env.dir->fd, rel, KGB_LIMIT_KERNEL, &kernel, &err) <
	    0) {
		give_slot(item);
		end_item(item, KGB_CODE_AGENT_NO_KERNEL, err.msg);
		return;
	}
	char sha256[KGB_SHA256_HEX_LEN];
	kgb_sha256_hex(kernel.ptr, kernel.len, sha256);
	const struct kgb_device *device = kgb_broker_device(
		sched->broker, kgb_devices_at(item->run->env.devices, item->slot));
	if (kgb_event_verify_started(item->run->env.log, item->spec->name, sha256, device->name,
				     &err) < 0) {
		item->phase = ITEM_ENDED;
		on_fatal(item->run, &err);
		return;
	}
	sched->n_verifying++;
	item->job = kgb_broker_submit(sched->broker, &(struct kgb_job_spec){
							     .spec_path = item->spec->path,
							     .kernel_path = path,
							     .device = device,
							     .final = true,
							     .timed = true,
							     .moved = on_job_moved,
							     .done = on_verified,
							     .payload = item,
						     });
}

/* ---- generation ---- */

/** Begin no more attempts of a run when none can reach a model. Operators that wait stay pending.
 */
static void heed_provider(struct item *item, const struct kgb_attempt_outcome *outcome)
{
	struct run *run = item->run;
	const struct kgb_op_state *op =
		kgb_run_state_op(kgb_run_log_state(run->env.log), item->spec->name);
	const struct kgb_attempt_state *attempt = op ? kgb_op_last_attempt(op) : NULL;
	const struct kgb_totals *totals = attempt ? &attempt->gateway : NULL;
	const char *remedy = kgb_breaker_note(&run->breaker, outcome->end,
					      totals && totals->n_exchanges > totals->n_errors);

	/* In a replay a missing answer is no fault of the provider. */
	if (!remedy || run->halted || run->env.replay)
		return;
	run->halted = true;
	(void)kgb_fail(
		&run->outcome.err, KGB_ERR_UNAVAILABLE, "no attempt can reach a model (%s%s%s): %s",
		kgb_agent_end_code(outcome->end), outcome->message && *outcome->message ? ": " : "",
		outcome->message ? outcome->message : "", remedy);
	kgb_error("%s%sno more attempts begin: %s", run->spec->label ? run->spec->label : "",
		  run->spec->label ? ": " : "", run->outcome.err.msg);
}

static void on_llm_attempt_done(void *payload, const struct kgb_attempt_outcome *outcome)
{
	struct item *item = payload;
	struct sched *sched = item->sched;
	item->attempt = NULL;
	item->llm_attempt = NULL;
	sched->n_generating--;
	give_slot(item);
	heed_provider(item, outcome);
	if (outcome->retry && !sched->stopping)
		item->phase = ITEM_WAITING;
	else if (outcome->has_kernel && !item->run->spec->skip_verify && !sched->stopping)
		verify(item);
	else
		item->phase = ITEM_ENDED;
	pump(sched);
}

static void on_attempt_done(void *payload, struct kgb_attempt *attempt,
			    const struct kgb_attempt_outcome *outcome)
{
	(void)attempt;
	on_llm_attempt_done(payload, outcome);
}

static int start_attempt(struct item *item, const struct kgb_attempt_task *task,
			 struct kgb_err *err)
{
	const struct kgb_attempt_env *env = &item->run->env;
	return env->method->program.builtin
		       ? kgb_llm_attempt_start(&item->llm_attempt, env, task, on_llm_attempt_done,
					       item, err)
		       : kgb_attempt_start(&item->attempt, env, task, on_attempt_done, item, err);
}

/** The time limit of the next attempt, and the owner of that time. */
static void allot_time(const struct item *item, struct kgb_attempt_task *task)
{
	const struct kgb_sched_run *spec = item->run->spec;
	const struct kgb_run_state *state = kgb_run_log_state(spec->env.log);
	const struct kgb_op_state *op = kgb_run_state_op(state, item->spec->name);
	const struct {
		const char *name;
		int64_t limit_ms, used_ms;
	} clocks[] = {{"operator", spec->operator_time_ms, op ? kgb_op_agent_ms(op) : 0},
		      {"run", spec->run_time_ms,
		       state->active_ms + kgb_mono_ms() - item->sched->started_ms}};
	task->timeout_ms = spec->attempt_timeout_ms;
	for (size_t i = 0; i < KGB_ARRAY_LEN(clocks); i++) {
		int64_t left_ms = clocks[i].limit_ms - clocks[i].used_ms;
		if (clocks[i].limit_ms == 0 || left_ms >= task->timeout_ms)
			continue;
		task->timeout_ms = left_ms;
		task->timed_by = clocks[i].name;
	}
}

/** End the operator without an attempt if a budget is used up already. */
static bool is_spent(struct item *item, const struct kgb_attempt_task *task)
{
	const struct kgb_budget *budget = kgb_budget_reached(&item->budget);
	if (task->timeout_ms > 0 && !budget)
		return false;
	KGB_AUTO(free)
	char *message = kgb_xasprintf("the %sbudget of the %s is used up", budget ? "" : "time ",
				      budget ? budget->level : task->timed_by);
	give_slot(item);
	end_item(item, budget ? kgb_budget_code(budget->reached) : KGB_CODE_BUDGET_SECONDS,
		 message);
	return true;
}

/** Whether some descriptors are free. */
static int spare_files(struct kgb_err *err)
{
	int fds[SPARE_FILES], n = 0, code = 0;
	for (; n < SPARE_FILES && code == 0; n++) {
		fds[n] = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
		code = fds[n] < 0 ? errno : 0;
	}
	while (n-- > 0)
		kgb_close(fds[n]);
	return code == EMFILE ? kgb_fail_errno(err, code, "start an attempt") : 0;
}

/** An attempt could not start: wait and try again, or end its operator. */
static void on_failed_start(struct item *item, const struct kgb_err *err)
{
	struct sched *sched = item->sched;
	const bool short_of = kgb_err_is_shortage(err);
	const bool alone = sched->n_generating + sched->n_verifying == 0;
	const struct kgb_op_state *op =
		kgb_run_state_op(kgb_run_log_state(item->run->env.log), item->spec->name);
	const int max_attempts = item->run->env.max_attempts;
	give_slot(item);
	/* The journal counts an attempt from its first record on. */
	item->n_attempts = op ? (int)op->n_attempts : item->n_attempts - 1;
	if (err->kind == KGB_ERR_LIMIT && !short_of) {
		item->phase = ITEM_ENDED;
		on_fatal(item->run, err);
		return;
	}
	item->n_failed_starts += !short_of || alone;
	if (sched->stopping || item->n_attempts >= max_attempts ||
	    item->n_failed_starts >= (short_of ? START_DELAYS_MAX : max_attempts)) {
		end_item(item, KGB_CODE_INFRA_NOT_STARTED, err->msg);
		return;
	}
	if (item->n_failed_starts <= 1)
		kgb_warn("%s: its start is delayed: %s", item->spec->name, err->msg);
	item->phase = ITEM_WAITING;
	sched->delayed_until_ms = kgb_mono_ms() + START_DELAY_MS;
}

static void generate(struct item *item)
{
	struct sched *sched = item->sched;
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_attempt_task task = {.spec = item->spec,
					.number = item->n_attempts + 1,
					.slot = item->slot,
					.budget = &item->budget};
	allot_time(item, &task);
	if (is_spent(item, &task))
		return;
	item->n_attempts++;
	item->phase = ITEM_GENERATING;
	if (spare_files(&err) < 0 || start_attempt(item, &task, &err) < 0) {
		on_failed_start(item, &err);
		return;
	}
	item->n_failed_starts = 0;
	sched->n_generating++;
}

/* ---- the loop ---- */

/** Whether no waiting operator may begin. */
static bool all_ended(const struct sched *sched)
{
	for (size_t i = 0; i < sched->n_items; i++) {
		const struct item *item = &sched->items[i];
		const bool held =
			item->run->halted && item->phase == ITEM_WAITING && item->generate;
		if (item->phase != ITEM_ENDED && !held)
			return false;
	}
	return true;
}

static bool has_waiting(const struct run *run)
{
	const struct sched *sched = run->sched;
	for (size_t i = 0; i < sched->n_items; i++)
		if (sched->items[i].run == run && sched->items[i].phase == ITEM_WAITING)
			return true;
	return false;
}

/** Whether operators were left because the run's budget is used up. */
static bool is_run_spent(const struct run *run)
{
	const struct kgb_sched_run *spec = run->spec;
	int64_t used_ms = kgb_run_log_state(spec->env.log)->active_ms + kgb_mono_ms() -
			  run->sched->started_ms;
	bool spent = run->budget.reached != KGB_BUDGET_NONE ||
		     (spec->run_time_ms > 0 && used_ms >= spec->run_time_ms);
	struct kgb_run_counts counts;
	kgb_run_state_count(kgb_run_log_state(spec->env.log), &counts);
	return spent && counts.by_status[KGB_OP_BUDGET] > 0;
}

/** Append the last event, then write the last progress.json. Errors go into the outcome. */
static void finish_run(struct run *run)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_sched_outcome *outcome = &run->outcome;
	/* A halted run with no operator left to begin needs no reason: each operator has its
	 * end. */
	if (run->halted && has_waiting(run))
		outcome->fatal = true;
	enum kgb_run_end end = outcome->fatal      ? KGB_RUN_FAILED
			       : outcome->signal   ? KGB_RUN_INTERRUPTED
			       : is_run_spent(run) ? KGB_RUN_BUDGET
						   : KGB_RUN_COMPLETED;
	int exit_code = outcome->signal  ? 128 + outcome->signal
			: outcome->fatal ? kgb_err_exit(&outcome->err, KGB_EXIT_INTERNAL)
					 : kgb_results_exit_code(kgb_run_log_state(run->env.log));
	struct kgb_event_run_finished event = {.end = end,
					       .exit_code = exit_code,
					       .message = outcome->fatal ? outcome->err.msg : NULL};
	event.gpus = kgb_gpu_sampler_times(run->gpus, &event.n_gpus);
	if (kgb_event_run_finished(run->env.log, &event, &err) < 0 && !outcome->fatal) {
		outcome->fatal = true;
		outcome->err = err;
	}
	kgb_gpu_sampler_close(run->gpus);
	if (run->progress && kgb_progress_close(run->progress, &err) < 0 && !outcome->fatal) {
		outcome->fatal = true;
		outcome->err = err;
	}
}

/** A further signal must not end the report on the interrupted run. */
static void close_signals(struct sched *sched)
{
	for (size_t i = 0; i < KGB_ARRAY_LEN(sched->signals); i++) {
		int signo = sched->signals[i].signum;
		uv_close((uv_handle_t *)&sched->signals[i], NULL);
		if (sched->n_signals > 0)
			signal(signo, SIG_IGN);
	}
}

/** Broker, gateway and pump have one close each; after the last, the runs are over. */
static void on_part_closed(void *payload)
{
	struct sched *sched = payload;
	if (--sched->n_parts > 0)
		return;
	close_signals(sched);
	for (size_t i = 0; i < sched->spec->n_runs; i++)
		finish_run(&sched->runs[i]);
	kgb_display_close(sched->display);
}

static void on_pump_closed(uv_handle_t *handle)
{
	on_part_closed(handle->data);
}

static void close_all(struct sched *sched)
{
	if (sched->closing)
		return;
	sched->closing = true;
	sched->n_parts =
		1 + (sched->broker != NULL) + (sched->gateway != NULL) + (sched->asker != NULL);
	if (sched->asker)
		kgb_asker_close(sched->asker, on_part_closed, sched);
	if (sched->broker)
		kgb_broker_close(sched->broker, on_part_closed, sched);
	if (sched->gateway)
		kgb_gateway_close(sched->gateway, on_part_closed, sched);
	uv_close((uv_handle_t *)&sched->pump_timer, on_pump_closed);
}

/** Start no attempt while the provider refuses all requests or the machine lacks resources. */
static int64_t pause_ms(const struct sched *sched)
{
	const int64_t provider_ms = sched->gateway ? kgb_gateway_paused_ms(sched->gateway) : 0;
	const int64_t machine_ms = sched->delayed_until_ms - kgb_mono_ms();
	return machine_ms > provider_ms ? machine_ms : provider_ms;
}

static void on_pump(uv_timer_t *timer)
{
	struct sched *sched = timer->data;
	bool delayed = false;
	for (size_t i = 0; i < sched->n_items && !sched->stopping; i++) {
		struct item *item = &sched->items[i];
		if (item->phase != ITEM_WAITING || (item->generate && item->run->halted))
			continue;
		if (item->generate && pause_ms(sched) > 0) {
			delayed = true;
			continue;
		}
		if (!take_slot(item))
			continue;
		if (item->generate)
			generate(item);
		else
			verify(item);
	}
	const int64_t left_ms = pause_ms(sched);
	if (delayed || left_ms > 0)
		uv_timer_start(&sched->pump_timer, on_pump, left_ms > 0 ? (uint64_t)left_ms : 0, 0);
	bool idle = sched->n_generating == 0 && sched->n_verifying == 0;
	if (idle && (sched->stopping || all_ended(sched)))
		close_all(sched);
}

static void pump(struct sched *sched)
{
	if (!sched->closing)
		uv_timer_start(&sched->pump_timer, on_pump, 0, 0);
}

static void on_signal(uv_signal_t *handle, int signo)
{
	struct sched *sched = handle->data;
	sched->n_signals++;
	if (sched->closing && sched->n_signals < 3)
		return; /* all is decided and only the warm workers are still on their way out */
	for (size_t i = 0; i < sched->spec->n_runs; i++)
		sched->runs[i].outcome.signal = signo;
	if (sched->n_signals == 1) {
		kgb_warn(
			"stopping; agents have a moment to end by themselves (a second signal ends them at once)");
		stop_all(sched, false);
	} else if (sched->n_signals == 2) {
		kgb_warn("stopping at once");
		stop_all(sched, true);
	} else {
		_exit(128 + signo);
	}
}

static void fill_env(struct run *run)
{
	struct sched *sched = run->sched;
	run->env.loop = &sched->loop;
	run->env.devices = sched->spec->devices;
	run->env.gateway = sched->gateway;
	run->env.gateway_mode = sched->spec->gateway.mode;
	run->env.prices = sched->spec->gateway.prices;
	run->env.broker = sched->broker;
	run->env.asker = sched->asker;
	run->env.processes = &sched->processes;
	run->env.on_fatal = on_fatal;
	run->env.payload = run;
}

static void start_handles(struct sched *sched)
{
	static const int signos[] = {SIGINT, SIGTERM, SIGHUP};
	uv_timer_init(&sched->loop, &sched->pump_timer);
	sched->pump_timer.data = sched;
	for (size_t i = 0; i < KGB_ARRAY_LEN(sched->signals); i++) {
		uv_signal_init(&sched->loop, &sched->signals[i]);
		sched->signals[i].data = sched;
		uv_signal_start(&sched->signals[i], on_signal, signos[i]);
	}
}

/** Open the parts that the runs share. */
struct needs {
	bool judge, gateway, asker;
};

static void add_needs(const struct kgb_sched_run *run, struct needs *needs)
{
	const struct kgb_method *method = run->env.method;
	const bool asks = method && !(run->env.samples && run->env.samples->only_judge);
	needs->judge =
		needs->judge || (!run->env.replay &&
				 (!run->skip_verify || (method && kgb_method_needs_judge(method))));
	needs->gateway = needs->gateway || asks;
	needs->asker = needs->asker || (asks && method->program.builtin);
}

static int start_shared(struct sched *sched, struct kgb_err *err)
{
	const struct kgb_sched_spec *spec = sched->spec;
	const struct kgb_attempt_env *env = &spec->runs[0].env;
	const struct kgb_broker_spec broker = {
		.loop = &sched->loop,
		.bin_dir = env->bin_dir,
		.data_dir = env->data_dir,
		.zygote_dir = env->dir->path,
		.devices = spec->devices,
		.shares_devices = !env->limits.gpu, /* else each agent works on its own */
		.max_jobs = spec->max_judges,
		.slack_ms = KGB_BROKER_SLACK_MS,
		.grace_ms = KGB_BROKER_GRACE_MS,
		.request = spec->judge_request,
	};
	struct needs needs = {0};
	for (size_t i = 0; i < spec->n_runs; i++)
		add_needs(&spec->runs[i], &needs);
	if ((needs.judge && kgb_broker_start(&sched->broker, &broker, err) < 0) ||
	    (needs.gateway &&
	     kgb_gateway_new(&sched->gateway, &sched->loop, &spec->gateway, err) < 0) ||
	    (needs.asker &&
	     kgb_asker_new(&sched->asker, &sched->loop, spec->max_questions, err) < 0))
		return -1;
	return 0;
}

static int start_parts(struct sched *sched, struct kgb_err *err)
{
	for (size_t i = 0; i < sched->spec->n_runs; i++) {
		struct run *run = &sched->runs[i];
		if (kgb_progress_start(&run->progress, &sched->loop, run->env.log, run->env.dir->fd,
				       err) < 0)
			return -1;
		run->gpus = kgb_gpu_sampler_start(&sched->loop, sched->spec->devices, run->env.log);
	}
	if (kgb_display_start(&sched->display, &sched->loop, &sched->spec->display, err) < 0 ||
	    start_shared(sched, err) < 0)
		return -1;
	for (size_t i = 0; i < sched->spec->n_runs; i++)
		fill_env(&sched->runs[i]);
	return 0;
}

/** Budgets begin with the spending of earlier starts of this run. */
static void open_budgets(struct run *run)
{
	struct sched *sched = run->sched;
	const struct kgb_run_state *state = kgb_run_log_state(run->env.log);
	run->budget = (struct kgb_budget){.level = "run",
					  .limit = run->spec->run_budget,
					  .soft_percent = run->env.warn_percent};
	for (size_t i = 0; i < state->n_ops; i++) {
		struct kgb_charge spent;
		kgb_op_charged(&state->ops[i], &spent.tokens, &spent.nanos);
		run->budget.spent.tokens += spent.tokens;
		run->budget.spent.nanos += spent.nanos;
		for (size_t k = 0; k < sched->n_items; k++)
			if (sched->items[k].run == run &&
			    kgb_str_eq(sched->items[k].spec->name, state->ops[i].name))
				sched->items[k].budget.spent = spent;
	}
}

static struct slots make_slots(int n)
{
	return (struct slots){.busy = kgb_xcalloc((size_t)n + 1, sizeof(bool)), .n = n};
}

static void make_runs(struct sched *sched)
{
	const struct kgb_sched_spec *spec = sched->spec;
	sched->runs = kgb_xcalloc(spec->n_runs, sizeof(*sched->runs));
	sched->slots = make_slots(spec->device_count);
	for (size_t i = 0; i < spec->n_runs; i++) {
		struct run *run = &sched->runs[i];
		*run = (struct run){
			.sched = sched, .spec = &spec->runs[i], .env = spec->runs[i].env};
		run->own_slots = make_slots(run->spec->own_slots);
		run->slots = run->own_slots.n > 0 ? &run->own_slots : &sched->slots;
		sched->n_items += run->spec->n_items;
	}
}

static int64_t work_of(const struct kgb_spec *spec)
{
	struct kgb_err ignored = KGB_ERR_INIT;
	struct kgb_cases cases;
	if (kgb_cases_expand(spec, NULL, &cases, &ignored) < 0)
		return 0;
	const int64_t work = (int64_t)(cases.n + CASES_OF_A_BENCHMARK * cases.n_benchmarks);
	kgb_cases_release(&cases);
	return work;
}

/** Where several kernels are verified at a time, those with the most work begin: else one of them
 * may run alone in the end. */
static void order_verifications(struct sched *sched)
{
	if (sched->spec->device_count < 2)
		return;
	for (size_t i = 0; i < sched->n_items; i++) {
		struct item item = sched->items[i];
		item.work = item.generate ? 0 : work_of(item.spec);
		size_t k = i;
		for (; k > 0 && !item.generate && !sched->items[k - 1].generate &&
		       sched->items[k - 1].work < item.work;
		     k--)
			sched->items[k] = sched->items[k - 1];
		sched->items[k] = item;
	}
}

/** The runs take turns: the first operator of each, then the second of each. */
static void make_items(struct sched *sched)
{
	sched->items = kgb_xcalloc(sched->n_items + 1, sizeof(*sched->items));
	for (size_t turn = 0, n = 0; n < sched->n_items; turn++)
		for (size_t i = 0; i < sched->spec->n_runs; i++) {
			struct run *run = &sched->runs[i];
			if (turn >= run->spec->n_items)
				continue;
			sched->items[n++] = (struct item){
				.sched = sched,
				.run = run,
				.spec = run->spec->items[turn].spec,
				.generate = run->spec->items[turn].generate,
				.n_attempts = run->spec->items[turn].n_attempts,
				.budget = {.level = "operator",
					   .parent = &run->budget,
					   .limit = run->spec->operator_budget,
					   .soft_percent = run->env.warn_percent},
			};
		}
	order_verifications(sched);
	for (size_t i = 0; i < sched->spec->n_runs; i++)
		open_budgets(&sched->runs[i]);
}

static void release(struct sched *sched)
{
	for (size_t i = 0; i < sched->spec->n_runs; i++)
		kgb_free(sched->runs[i].own_slots.busy);
	kgb_free(sched->slots.busy);
	kgb_free(sched->runs);
	kgb_free(sched->items);
	kgb_processes_release(&sched->processes);
}

int kgb_sched_drive(const struct kgb_sched_spec *spec, struct kgb_sched_outcome *out,
		    struct kgb_err *err)
{
	struct sched sched = {.spec = spec, .started_ms = kgb_mono_ms()};
	int rc = uv_loop_init(&sched.loop);
	if (rc < 0)
		return kgb_fail_code(err, KGB_ERR_DOMAIN_UV, KGB_ERR_FAILED, rc,
				     "make an event loop: %s", uv_strerror(rc));
	make_runs(&sched);
	make_items(&sched);
	start_handles(&sched);
	int started = start_parts(&sched, err);
	for (size_t i = 0; started < 0 && i < spec->n_runs; i++) {
		sched.runs[i].outcome.fatal = true;
		sched.runs[i].outcome.err = *err;
	}
	if (started < 0)
		close_all(&sched);
	pump(&sched);
	uv_run(&sched.loop, UV_RUN_DEFAULT);
	rc = uv_loop_close(&sched.loop);
	if (rc < 0)
		uv_print_all_handles(&sched.loop, stderr);
	KGB_ASSERT(rc == 0);
	for (size_t i = 0; i < spec->n_runs; i++)
		out[i] = sched.runs[i].outcome;
	release(&sched);
	return started;
}
