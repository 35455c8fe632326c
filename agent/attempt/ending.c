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
	struct kgb_agent_exit ended = {
		.started = ending->sums->result.started && ending->sums->result.exit_code >= 0,
		.timed_out = ending->timed_out,
		.cancelled = ending->cancelled,
		.status = ending->sums->result.exit_code,
		.signal = ending->sums->result.term_signal,
	};
	if (ending->lingered && ending->report->has_result) {
		/* It had finished its work; the signal that ended it was ours. */
		ended.started = true;
		ended.status = 0;
		ended.signal = 0;
	}
	enum kgb_agent_end end = kgb_agent_classify(ending->report, &ended);
	/* A CLI whose last request was refused reports just that; one that made do without is fine.
	 */
	if (ending->budget_code && end != KGB_AGENT_OK && end != KGB_AGENT_CANCELLED &&
	    end != KGB_AGENT_NOT_STARTED)
		end = KGB_AGENT_BUDGET;
	return end;
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
	if (harvest->refusal && !kgb_str_eq(harvest->refusal, "agent.kernel_missing")) {
		outcome->code = harvest->refusal;
		outcome->message = "kernel.py was refused";
	} else if (end == KGB_AGENT_OK) {
		outcome->code = "agent.no_kernel";
		outcome->message =
			harvest->unchanged
				? "the agent left kernel.py as it was at the beginning"
				: "the agent ended without a kernel.py and without a python block in its last message";
	} else if (end == KGB_AGENT_BUDGET) {
		outcome->code = ending->budget_code;
		outcome->message = ending->budget_why;
	} else {
		outcome->code = kgb_agent_end_code(end);
		outcome->message = ending->report->error;
		if (end == KGB_AGENT_NOT_STARTED)
			outcome->message = ending->sums->result.err.msg;
		else if (end == KGB_AGENT_TIMEOUT)
			outcome->message = "the attempt's time was over";
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
	kgb_jsonw_key(w, "empty");
	kgb_jsonw_object(w);
	kgb_jsonw_kbool(w, "proven",
			ending->sums->result.survivors == 0 && status->cgroup_empty != 0);
	kgb_jsonw_kcount(w, "survivors", ending->sums->result.survivors);
	kgb_jsonw_kbool(w, "tree_reaped", status->tree_empty);
	kgb_jsonw_key(w, "cgroup_removed");
	if (status->cgroup_empty < 0)
		kgb_jsonw_null(w);
	else
		kgb_jsonw_bool(w, status->cgroup_empty == 1);
	kgb_jsonw_object_end(w);
}

static void write_limits(struct kgb_jsonw *w, const struct kgb_attempt_limits *limits)
{
	kgb_jsonw_key(w, "limits");
	kgb_jsonw_object(w);
	kgb_jsonw_ki64(w, "disk_bytes", limits->disk_bytes);
	kgb_jsonw_ki64(w, "files", limits->n_files);
	kgb_jsonw_ki64(w, "memory_bytes", limits->memory_bytes);
	kgb_jsonw_ki64(w, "processes", limits->n_tasks);
	kgb_jsonw_ki64(w, "idle_timeout_ms", limits->idle_timeout_ms);
	kgb_jsonw_object_end(w);
}

static void write_used(struct kgb_jsonw *w, const struct kgb_ending *ending)
{
	const struct kgb_watcher *watcher = ending->watcher;
	const struct kgb_sandbox_status *status = &ending->sums->status;
	kgb_jsonw_key(w, "used");
	kgb_jsonw_object(w);
	kgb_jsonw_ki64(w, "disk_bytes", watcher->disk.used.total.bytes);
	kgb_jsonw_ki64(w, "workspace_bytes", watcher->disk.used.parts[KGB_DISK_WS]);
	kgb_jsonw_ki64(w, "home_bytes", watcher->disk.used.parts[KGB_DISK_HOME]);
	kgb_jsonw_ki64(w, "traffic_bytes",
		       watcher->disk.used.parts[KGB_DISK_TRAFFIC] +
			       watcher->disk.used.parts[KGB_DISK_ROUNDS]);
	kgb_jsonw_ki64(w, "files", watcher->disk.used.total.files);
	kgb_jsonw_kcount(w, "peak_memory_bytes", status->peak_memory_bytes);
	kgb_jsonw_kcount(w, "peak_processes", status->peak_tasks);
	kgb_jsonw_ki64(w, "memory_kills", status->n_oom_kills);
	kgb_jsonw_object_end(w);
}

static void write_clocks(struct kgb_jsonw *w, const struct kgb_ending *ending)
{
	const struct kgb_watcher *watcher = ending->watcher;
	int64_t wall_ms = watcher->end_ms - watcher->start_ms;
	int64_t working_ms = wall_ms - ending->sums->totals.wait_ms;
	kgb_jsonw_key(w, "clocks");
	kgb_jsonw_object(w);
	kgb_jsonw_ki64(w, "wall_ms", wall_ms);
	kgb_jsonw_ki64(w, "working_ms", working_ms > 0 ? working_ms : 0);
	kgb_jsonw_ki64(w, "api_ms", watcher->api_ms);
	kgb_jsonw_ki64(w, "tool_ms", watcher->tool_ms);
	kgb_jsonw_ki64(w, "idle_ms", watcher->idle_ms);
	kgb_jsonw_kcount(w, "drain_ms",
			 ending->result_ms ? watcher->end_ms - ending->result_ms : -1);
	kgb_jsonw_object_end(w);
}

static void write_probe(struct kgb_jsonw *w, const char *by, const char *what, const char *detail,
			int64_t count)
{
	kgb_jsonw_object(w);
	kgb_jsonw_kstr(w, "code", "cheat.probe");
	kgb_jsonw_kstr(w, "seen_by", by);
	kgb_jsonw_kstr(w, "what", what);
	kgb_jsonw_kstr(w, "detail", *detail ? detail : NULL);
	kgb_jsonw_ki64(w, "count", count);
	kgb_jsonw_object_end(w);
}

static void write_probes(struct kgb_jsonw *w, const struct kgb_ending *ending)
{
	const struct kgb_watcher *watcher = ending->watcher;
	const struct kgb_sandbox_status *status = &ending->sums->status;
	kgb_jsonw_key(w, "probes");
	kgb_jsonw_array(w);
	for (size_t i = 0; i < status->n_probes; i++)
		write_probe(w, "system call", status->probes[i].name, status->probes[i].detail,
			    status->probes[i].count);
	for (size_t i = 0; i < watcher->n_probes; i++)
		write_probe(w, "gateway", watcher->probes[i].what, watcher->probes[i].path,
			    watcher->probes[i].count);
	kgb_jsonw_array_end(w);
}

static void write_broken(struct kgb_jsonw *w, const struct kgb_watcher *watcher)
{
	kgb_jsonw_key(w, "broken_limit");
	if (!watcher->broken.name) {
		kgb_jsonw_null(w);
		return;
	}
	kgb_jsonw_object(w);
	kgb_jsonw_kstr(w, "name", watcher->broken.name);
	kgb_jsonw_ki64(w, "limit", watcher->broken.limit);
	kgb_jsonw_ki64(w, "seen", watcher->broken.measured);
	kgb_jsonw_kstr(w, "evidence", watcher->broken.why);
	kgb_jsonw_object_end(w);
}

static void write_sandbox(struct kgb_jsonw *w, const struct kgb_ending *ending)
{
	const struct kgb_watcher *watcher = ending->watcher;
	const struct kgb_attempt_facts *facts = ending->facts;
	kgb_jsonw_object(w);
	kgb_jsonw_key(w, "isolation");
	kgb_ladder_write(facts->env->limits.ladder, w);
	kgb_jsonw_kstr(w, "gpu", facts->sees_gpu ? facts->device->name : NULL);
	write_empty(w, ending);
	write_limits(w, &facts->env->limits);
	write_used(w, ending);
	write_broken(w, watcher);
	write_clocks(w, ending);
	kgb_jsonw_key(w, "waiting_for");
	if (watcher->waiting_class) {
		kgb_jsonw_object(w);
		kgb_jsonw_kstr(w, "class", watcher->waiting_class);
		kgb_jsonw_kstr(w, "evidence", watcher->waiting);
		kgb_jsonw_object_end(w);
	} else {
		kgb_jsonw_null(w);
	}
	write_probes(w, ending);
	kgb_jsonw_object_end(w);
}

/* ---- exit.json ---- */

static void write_process(struct kgb_jsonw *w, const struct kgb_sandbox_child_result *result)
{
	kgb_jsonw_kcount(w, "exit_code", result->exit_code);
	kgb_jsonw_ki64(w, "term_signal", result->term_signal);
	kgb_jsonw_kbool(w, "killed", result->killed);
	kgb_jsonw_kcount(w, "survivors", result->survivors);
	kgb_jsonw_ki64(w, "wall_ms", result->wall_ms);
	kgb_jsonw_kcount(w, "user_ms", result->user_ms);
	kgb_jsonw_kcount(w, "sys_ms", result->sys_ms);
	kgb_jsonw_kcount(w, "max_rss_bytes", result->max_rss_bytes);
}

static void write_report(struct kgb_jsonw *w, const struct kgb_report *r)
{
	kgb_jsonw_key(w, "cli");
	kgb_jsonw_object(w);
	kgb_jsonw_kstr(w, "session_id", r->session_id);
	kgb_jsonw_kstr(w, "version", r->cli_version);
	kgb_jsonw_kbool(w, "has_result", r->has_result);
	kgb_jsonw_kbool(w, "is_error", r->is_error);
	kgb_jsonw_kstr(w, "subtype", r->subtype);
	kgb_jsonw_kstr(w, "terminal_reason", r->terminal_reason);
	kgb_jsonw_kstr(w, "stop_reason", r->stop_reason);
	kgb_jsonw_kstr(w, "error", r->error);
	kgb_jsonw_kcount(w, "api_error_status", r->api_error_status);
	kgb_jsonw_kcount(w, "turns", r->n_turns);
	kgb_jsonw_ki64(w, "tool_calls", r->n_tool_calls);
	kgb_jsonw_ki64(w, "api_retries", r->n_api_retries);
	kgb_jsonw_ki64(w, "events", r->n_events);
	kgb_jsonw_ki64(w, "unknown_events", r->n_unknown_events);
	kgb_jsonw_ki64(w, "bad_lines", r->n_bad_lines);
	kgb_report__usage(w, "usage", &r->usage);
	kgb_jsonw_object_end(w);
}

static void write_gateway(struct kgb_jsonw *w, const struct kgb_totals *totals)
{
	kgb_jsonw_key(w, "gateway");
	kgb_jsonw_object(w);
	kgb_jsonw_ki64(w, "exchanges", totals->n_exchanges);
	kgb_jsonw_ki64(w, "errors", totals->n_errors);
	kgb_jsonw_ki64(w, "incomplete", totals->n_incomplete);
	kgb_jsonw_ki64(w, "repeated", totals->n_repeated);
	kgb_jsonw_ki64(w, "probes", totals->n_probes);
	kgb_jsonw_ki64(w, "verify_calls", totals->n_verify);
	kgb_jsonw_ki64(w, "busy_ms", totals->busy_ms);
	kgb_jsonw_ki64(w, "wait_ms", totals->wait_ms);
	kgb_jsonw_ki64(w, "retries", totals->n_retries);
	kgb_jsonw_ki64(w, "charged_tokens", totals->charged_tokens);
	kgb_report__usage(w, "usage", &totals->usage);
	kgb_jsonw_object_end(w);
}

static int write_exit(const struct kgb_ending *ending, enum kgb_agent_end end, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_JSON);
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, &text, 2);
	kgb_jsonw_object(&w);
	kgb_jsonw_kstr(&w, "end", kgb_agent_end_code(end));
	kgb_jsonw_kbool(&w, "timed_out", ending->timed_out);
	kgb_jsonw_kbool(&w, "cancelled", ending->cancelled);
	kgb_jsonw_kbool(&w, "lingered", ending->lingered);
	kgb_jsonw_kstr(&w, "budget", ending->budget_code);
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
