/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <signal.h>

#include "agent/attempt/attempt_internal.h"
#include "agent/report/common.h"
#include "base/formats/jsonw.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/system/fs.h"

/** The best version that passed, as it was judged. The one to begin with is a result once an agent
 * has really tried to better it. */
static int take_verified(const struct kgb_attempt *attempt, struct kgb_harvest *out,
			 struct kgb_err *err)
{
	const struct kgb_rounds_best *best = &attempt->best;
	if (best->check == 0 || (best->round == 0 && attempt->n_good_rounds == 0))
		return 0;
	KGB_AUTO(free) char *path = kgb_attempt__verdict_file(attempt, best->check, "py");
	if (kgb_fs_read(AT_FDCWD, path, KGB_LIMIT_KERNEL, &out->kernel, err) < 0)
		return -1;
	out->source = best->round == 0 ? "start" : "verified";
	return 0;
}

static int take_file(const struct kgb_attempt *attempt, struct kgb_harvest *out,
		     struct kgb_err *err)
{
	if (out->source)
		return 0;
	if (kgb_workspace_read_kernel(&attempt->ws, &out->kernel, &out->refusal, err) < 0)
		return -1;
	if (out->refusal || out->kernel.len == 0)
		return 0;
	kgb_sha256_hex(out->kernel.ptr, out->kernel.len, out->sha256);
	out->unchanged = kgb_str_eq(out->sha256, attempt->start_sha256);
	if (!out->unchanged)
		out->source = "file";
	return 0;
}

static void take_message(const struct kgb_attempt *attempt, struct kgb_harvest *out)
{
	const char *text = attempt->stream.events.report.final_text;
	if (out->source || !text)
		return;
	KGB_AUTO(free) char *block = kgb_last_python_block(text);
	if (!block || strlen(block) > KGB_LIMIT_KERNEL)
		return;
	kgb_buf_clear(&out->kernel);
	kgb_buf_adds(&out->kernel, block);
	out->source = "message";
}

int kgb_attempt__harvest(struct kgb_attempt *attempt, struct kgb_harvest *out, struct kgb_err *err)
{
	if (take_verified(attempt, out, err) < 0)
		return -1;
	if (attempt->env->method->result == KGB_METHOD_RESULT_REPLY)
		take_message(attempt, out);
	if (take_file(attempt, out, err) < 0)
		return -1;
	take_message(attempt, out);
	if (!out->source)
		return 0;
	kgb_sha256_hex(out->kernel.ptr, out->kernel.len, out->sha256);
	return kgb_rundir_write_kernel(attempt->env->dir, attempt->spec->safe_name, out->kernel.ptr,
				       out->kernel.len, err);
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

void kgb_attempt__explain_missing(const struct kgb_attempt *attempt, enum kgb_agent_end end,
				  const struct kgb_harvest *harvest,
				  struct kgb_attempt_outcome *out)
{
	if (harvest->refusal && !kgb_str_eq(harvest->refusal, "agent.kernel_missing")) {
		out->code = harvest->refusal;
		out->message = "kernel.py was refused";
	} else if (end == KGB_AGENT_OK) {
		out->code = "agent.no_kernel";
		out->message =
			harvest->unchanged
				? "the agent left kernel.py as it was at the beginning"
				: "the agent ended without a kernel.py and without a python block in its last message";
	} else if (end == KGB_AGENT_BUDGET) {
		out->code = attempt->budget_code;
		out->message = attempt->budget_why;
	} else {
		out->code = kgb_agent_end_code(end);
		out->message = attempt->stream.events.report.error;
		if (end == KGB_AGENT_NOT_STARTED)
			out->message = attempt->sums.result.err.msg;
		else if (end == KGB_AGENT_TIMEOUT)
			out->message = "the attempt's time was over";
		else if (attempt->watcher.broken.name)
			out->message = attempt->watcher.broken.why;
		else if (end == KGB_AGENT_CANCELLED)
			out->message = "cancelled before there was a kernel";
		else if (end == KGB_AGENT_KILLED && !*out->message)
			out->message = killed_by(attempt->sums.result.term_signal);
		else if (end == KGB_AGENT_CRASHED && !*out->message)
			out->message = "the CLI ended without its closing event; see stderr.log";
	}
}

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

int kgb_attempt__write_exit(const struct kgb_attempt *attempt, enum kgb_agent_end end,
			    struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_JSON);
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, &text, 2);
	kgb_jsonw_object(&w);
	kgb_jsonw_kstr(&w, "end", kgb_agent_end_code(end));
	kgb_jsonw_kbool(&w, "timed_out", attempt->timed_out);
	kgb_jsonw_kbool(&w, "cancelled", attempt->cancelled);
	kgb_jsonw_kbool(&w, "lingered", attempt->lingered);
	kgb_jsonw_kstr(&w, "budget", attempt->budget_code);
	write_process(&w, &attempt->sums.result);
	write_report(&w, &attempt->stream.events.report);
	write_gateway(&w, &attempt->sums.totals);
	kgb_jsonw_key(&w, "sandbox");
	kgb_attempt__write_sandbox(&w, attempt);
	kgb_jsonw_object_end(&w);
	kgb_buf_addc(&text, '\n');
	KGB_AUTO(free) char *path = kgb_path_join(attempt->dir, "exit.json");
	return kgb_fs_write_atomic(AT_FDCWD, path, text.ptr, text.len, 0644, false, err);
}
