/* SPDX-License-Identifier: MIT */
#include "agent/attempt/ending.h"

#include <fcntl.h>
#include <signal.h>

#include "agent/report/common.h"
#include "base/formats/jsonw.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/system/fs.h"

enum kgb_agent_end kgb_ending_classify(const struct kgb_ending *ending)
{
	if (ending->sums->n_begun == 0)
		return ending->cancelled   ? KGB_AGENT_CANCELLED
		       : ending->timed_out ? KGB_AGENT_TIMEOUT
					   : KGB_AGENT_NOT_STARTED;
	if (ending->watcher->broken.name && !ending->cancelled)
		return ending->watcher->broken.end;
	if ((ending->sums->result.walls_died || ending->gateway.msg[0]) && !ending->cancelled &&
	    !ending->timed_out)
		return KGB_AGENT_SANDBOX_DIED;
	struct kgb_agent_exit ended = {
		.started = ending->sums->result.started && ending->sums->result.exit_code >= 0,
		.timed_out = ending->timed_out,
		.cancelled = ending->cancelled,
		.status = ending->sums->result.exit_code,
		.signal = ending->sums->result.term_signal,
	};
	if (ending->lingered && ending->report->has_result) {
		/* The CLI had finished its work; kgb-agent sent the signal that ended it. */
		ended.started = true;
		ended.status = 0;
		ended.signal = 0;
	}
	enum kgb_agent_end end = kgb_agent_classify(ending->report, &ended);
	/* A CLI that finished although requests were refused is fine. */
	if (end == KGB_AGENT_OK || end == KGB_AGENT_CANCELLED || end == KGB_AGENT_NOT_STARTED)
		return end;
	if (ending->budget_code)
		return KGB_AGENT_BUDGET;
	return ending->answers_break_off && end != KGB_AGENT_TIMEOUT ? KGB_AGENT_TRANSIENT : end;
}

static const char *killed_by(int signo)
{
	switch (signo) {
	case SIGXFSZ:
		return "the CLI was ended because its output or a file grew over the limit";
	case SIGKILL:
		return "the CLI was killed (SIGKILL), perhaps because memory ran out";
	case SIGSEGV:
	case SIGBUS:
	case SIGABRT:
	case SIGILL:
	case SIGFPE:
	case SIGTRAP:
		return "the CLI crashed; see stderr.log";
	default:
		return "the CLI was ended by a signal; see exit.json";
	}
}

void kgb_ending_explain(const struct kgb_ending *ending, const struct kgb_harvest *harvest,
			struct kgb_attempt_outcome *outcome)
{
	enum kgb_agent_end end = outcome->end;
	if (harvest->refusal && kgb_code_find(harvest->refusal) != KGB_CODE_AGENT_KERNEL_MISSING) {
		outcome->code = harvest->refusal;
		outcome->message = "kernel.py was refused";
	} else if (end == KGB_AGENT_OK) {
		outcome->code = kgb_code_name(KGB_CODE_AGENT_NO_KERNEL);
		outcome->message =
			harvest->unchanged
				? "the agent left kernel.py as it was at the beginning"
				: "the agent ended without a kernel.py and without a python block in its last message";
	} else if (end == KGB_AGENT_BUDGET) {
		outcome->code = kgb_code_name(ending->budget_code);
		outcome->message = ending->budget_why;
	} else {
		outcome->code = kgb_agent_end_code(end);
		outcome->message = ending->report->error;
		if (end == KGB_AGENT_NOT_STARTED)
			outcome->message = ending->sums->result.err.msg;
		else if (end == KGB_AGENT_TIMEOUT)
			outcome->message = "the attempt reached its time limit";
		else if (end == KGB_AGENT_SANDBOX_DIED)
			outcome->message = ending->gateway.msg[0]
						   ? ending->gateway.msg
						   : "a signal ended the sandbox under the agent";
		else if (ending->watcher->broken.name)
			outcome->message = ending->watcher->broken.why;
		else if (end == KGB_AGENT_CANCELLED)
			outcome->message = "cancelled before there was a kernel";
		else if (end == KGB_AGENT_KILLED && !*outcome->message)
			outcome->message = killed_by(ending->sums->result.term_signal);
		else if (end == KGB_AGENT_CRASHED && !*outcome->message)
			outcome->message =
				"the CLI ended without its closing event; see stderr.log";
	}
}

/* ---- the sandbox as JSON ---- */

static void write_empty(struct kgb_jsonw *w, const struct kgb_ending *ending)
{
	const struct kgb_sandbox_status *status = &ending->sums->status;
	const int survivors = ending->sums->result.survivors;
	const bool proven = survivors == 0 && status->cgroup_empty != 0;
	const bool removed = status->cgroup_empty == 1;
	kgb_jsonw_put(w, "empty: {proven: %hhd, survivors: %+d, tree_reaped: %hhd", proven,
		      survivors, status->tree_empty);
	if (status->cgroup_empty < 0)
		kgb_jsonw_put(w, "cgroup_removed: null}");
	else
		kgb_jsonw_put(w, "cgroup_removed: %hhd}", removed);
}

static void write_used(struct kgb_jsonw *w, const struct kgb_ending *ending)
{
	const struct kgb_attempt_limits *limits = &ending->facts->env->limits;
	const struct kgb_disk_count *used = &ending->watcher->disk.used;
	const struct kgb_sandbox_status *status = &ending->sums->status;
	kgb_jsonw_put(w,
		      "limits: {disk_bytes: %ld, files: %ld, memory_bytes: %ld, processes: %ld, "
		      "idle_timeout_ms: %ld}",
		      limits->disk_bytes, limits->n_files, limits->memory_bytes, limits->n_tasks,
		      limits->idle_timeout_ms);
	kgb_jsonw_put(w,
		      "used: {disk_bytes: %ld, workspace_bytes: %ld, home_bytes: %ld, "
		      "traffic_bytes: %ld, files: %ld, peak_memory_bytes: %+ld, "
		      "peak_processes: %+ld, memory_kills: %ld}",
		      used->total.bytes, used->parts[KGB_DISK_WS], used->parts[KGB_DISK_HOME],
		      used->parts[KGB_DISK_TRAFFIC] + used->parts[KGB_DISK_ROUNDS],
		      used->total.files, status->peak_memory_bytes, status->peak_tasks,
		      status->n_oom_kills);
}

static void write_clocks(struct kgb_jsonw *w, const struct kgb_ending *ending)
{
	const struct kgb_watcher *watcher = ending->watcher;
	int64_t wall_ms = watcher->end_ms - watcher->start_ms;
	int64_t working_ms = wall_ms - ending->sums->totals.wait_ms;
	kgb_jsonw_put(w,
		      "clocks: {wall_ms: %ld, working_ms: %ld, api_ms: %ld, tool_ms: %ld, "
		      "idle_ms: %ld, drain_ms: %+ld}",
		      wall_ms, working_ms > 0 ? working_ms : 0, watcher->api_ms, watcher->tool_ms,
		      watcher->idle_ms,
		      ending->result_ms ? watcher->end_ms - ending->result_ms : (int64_t)-1);
}

static void write_probe(struct kgb_jsonw *w, const char *by, const char *what, const char *detail,
			int64_t count)
{
	kgb_jsonw_put(w, "{code: 'cheat.probe', seen_by: %s, what: %s, detail: %s, count: %ld}", by,
		      what, *detail ? detail : NULL, count);
}

static void write_probes(struct kgb_jsonw *w, const struct kgb_ending *ending)
{
	const struct kgb_watcher *watcher = ending->watcher;
	const struct kgb_sandbox_status *status = &ending->sums->status;
	kgb_jsonw_put(w, "probes: [");
	for (size_t i = 0; i < status->n_probes; i++)
		write_probe(w, "system call", status->probes[i].name, status->probes[i].detail,
			    status->probes[i].count);
	for (size_t i = 0; i < watcher->n_probes; i++)
		write_probe(w, "gateway", watcher->probes[i].what, watcher->probes[i].path,
			    watcher->probes[i].count);
	kgb_jsonw_put(w, "]");
}

static void write_sandbox(struct kgb_jsonw *w, const struct kgb_ending *ending)
{
	const struct kgb_watcher *watcher = ending->watcher;
	const struct kgb_broken_limit *broken = &watcher->broken;
	const struct kgb_attempt_facts *facts = ending->facts;
	kgb_jsonw_put(w, "{isolation: ");
	kgb_ladder_write(facts->env->limits.ladder, w);
	kgb_jsonw_put(w, "gpu: %s", facts->sees_gpu ? facts->device->name : NULL);
	write_empty(w, ending);
	write_used(w, ending);
	if (broken->name)
		kgb_jsonw_put(w, "broken_limit: {name: %s, limit: %ld, seen: %ld, evidence: %s}",
			      broken->name, broken->limit, broken->measured, broken->why);
	else
		kgb_jsonw_put(w, "broken_limit: null");
	write_clocks(w, ending);
	if (watcher->waiting_class)
		kgb_jsonw_put(w, "waiting_for: {class: %s, evidence: %s}", watcher->waiting_class,
			      watcher->waiting);
	else
		kgb_jsonw_put(w, "waiting_for: null");
	write_probes(w, ending);
	kgb_jsonw_object_end(w);
}

/* ---- exit.json ---- */

static void write_process(struct kgb_jsonw *w, const struct kgb_sandbox_child_result *result)
{
	kgb_jsonw_put(
		w,
		"exit_code: %+d, term_signal: %d, killed: %hhd, survivors: %+d, wall_ms: %ld, "
		"user_ms: %+ld, sys_ms: %+ld, max_rss_bytes: %+ld",
		result->exit_code, result->term_signal, result->killed, result->survivors,
		result->wall_ms, result->user_ms, result->sys_ms, result->max_rss_bytes);
}

static void write_report(struct kgb_jsonw *w, const struct kgb_report *r)
{
	kgb_jsonw_put(w,
		      "cli: {session_id: %s, version: %s, has_result: %hhd, is_error: %hhd, "
		      "subtype: %s, terminal_reason: %s, stop_reason: %s, error: %s, "
		      "tool_calls: %ld, api_retries: %ld, events: %ld, unknown_events: %ld, "
		      "bad_lines: %ld, api_error_status: %+ld, turns: %+ld",
		      r->session_id, r->cli_version, r->has_result, r->is_error, r->subtype,
		      r->terminal_reason, r->stop_reason, r->error, r->n_tool_calls,
		      r->n_api_retries, r->n_events, r->n_unknown_events, r->n_bad_lines,
		      r->api_error_status, r->n_turns);
	kgb_report__usage(w, "usage", &r->usage);
	kgb_jsonw_object_end(w);
}

static void write_gateway(struct kgb_jsonw *w, const struct kgb_totals *totals)
{
	kgb_jsonw_key(w, "gateway");
	kgb_jsonw_object(w);
	kgb_rows_write(w, kgb_totals_rows, totals);
	kgb_report__usage(w, "usage", &totals->usage);
	kgb_jsonw_object_end(w);
}

static int write_exit(const struct kgb_ending *ending, enum kgb_agent_end end, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_JSON);
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, &text, 2);
	kgb_jsonw_put(&w, "{end: %s, timed_out: %hhd, cancelled: %hhd, lingered: %hhd, budget: %s",
		      kgb_agent_end_code(end), ending->timed_out, ending->cancelled,
		      ending->lingered, kgb_code_name(ending->budget_code));
	write_process(&w, &ending->sums->result);
	write_report(&w, ending->report);
	write_gateway(&w, &ending->sums->totals);
	kgb_jsonw_key(&w, "sandbox");
	write_sandbox(&w, ending);
	kgb_jsonw_object_end(&w);
	kgb_buf_addc(&text, '\n');
	KGB_AUTO(free) char *path = kgb_attempt_path(&ending->facts->paths, "exit.json");
	return kgb_fs_write_atomic(AT_FDCWD, path, text.ptr, text.len, 0644, false, err);
}

/* ---- the record ---- */

static void warn_of_survivors(const struct kgb_ending *ending)
{
	int survivors = ending->sums->result.survivors;
	if (survivors > 0)
		kgb_error("%s: %d processes of the sandbox survived its end",
			  ending->facts->spec->name, survivors);
	else if (survivors < 0)
		kgb_error("%s: whether the sandbox is empty could not be determined",
			  ending->facts->spec->name);
}

/** The two meters cannot be compared if the CLI did not report its tokens. */
static void warn_of_report(const struct kgb_ending *ending, enum kgb_agent_end end)
{
	const struct kgb_program *program = &ending->facts->env->method->program;
	if (end == KGB_AGENT_OK && program->usage == KGB_PROGRAM_USAGE_REPORTED &&
	    !kgb_usage_complete(&ending->report->usage))
		kgb_warn(
			"%s: %s did not report all of its tokens; those counted by the gateway stand",
			ending->facts->spec->name, program->title);
}

int kgb_ending_record(const struct kgb_ending *ending, const struct kgb_harvest *harvest,
		      const struct kgb_attempt_outcome *outcome, struct kgb_err *err)
{
	const struct kgb_attempt_facts *facts = ending->facts;
	KGB_AUTO(buf) struct kgb_buf sandbox = KGB_BUF_INIT(KGB_LIMIT_JSON);
	struct kgb_jsonw w;
	warn_of_report(ending, outcome->end);
	warn_of_survivors(ending);
	if (write_exit(ending, outcome->end, err) < 0)
		return -1;
	kgb_jsonw_init(&w, &sandbox, 0);
	write_sandbox(&w, ending);
	const struct kgb_event_attempt_finished event = {
		.operator= facts->spec->name,
		.attempt = facts->number,
		.end = outcome->end,
		.retry = outcome->retry,
		.exit_code = ending->sums->result.exit_code,
		.term_signal = ending->sums->result.term_signal,
		.kernel_sha256 = harvest->source ? harvest->sha256 : NULL,
		.kernel_source = harvest->source,
		.error_code = outcome->code,
		.error_message = outcome->message,
		.gateway = &ending->sums->totals,
		.cli = ending->report,
		.sandbox = sandbox.ptr,
		.stopped_by = ending->stopped_by,
	};
	return kgb_event_attempt_finished(facts->env->log, &event, err);
}
