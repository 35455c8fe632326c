/* SPDX-License-Identifier: MIT */
#include "agent/attempt/rounds.h"

#include <ctype.h>

#include "base/str.h"

/* Most bytes of a report that the next round reads. */
#define REPORT_BYTES 4096

bool kgb_rounds_is_better(const struct kgb_rounds_best *best,
			  const struct kgb_verdict_summary *verdict)
{
	if (!kgb_str_eq(verdict->status, "passed"))
		return false;
	if (best->check == 0)
		return true;
	double surely = verdict->speedup_low > 0 ? verdict->speedup_low : verdict->speedup;
	return surely > best->speedup;
}

const char *kgb_rounds_stop(const struct kgb_method_loop *loop, int round,
			    const struct kgb_rounds_best *best)
{
	if (loop->target_speedup > 0 && best->check > 0 && best->speedup >= loop->target_speedup)
		return "target";
	if (round >= loop->iterations)
		return "iterations";
	if (loop->patience > 0 && round - best->round >= loop->patience)
		return "patience";
	return NULL;
}

bool kgb_rounds_goes_on_after(enum kgb_agent_end end)
{
	return end == KGB_AGENT_OK || end == KGB_AGENT_LIMIT || end == KGB_AGENT_CONTEXT ||
	       end == KGB_AGENT_REFUSED || end == KGB_AGENT_TRUNCATED;
}

/** Cut at a whole character. */
static void cut(struct kgb_buf *text, size_t len)
{
	if (text->len <= len)
		return;
	kgb_buf_truncate(text, kgb_utf8_valid(text->ptr, len));
	kgb_buf_adds(text, "...");
}

void kgb_rounds_summary(const char *message, struct kgb_buf *out)
{
	static const char markup[] = "#*->`_ \t\r\n";
	const char *line = message ? message + strspn(message, markup) : "";
	size_t len = strcspn(line, "\r\n");
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	kgb_utf8_repair(&text, line, len);
	while (text.len > 0 && strchr("*`_ \t", text.ptr[text.len - 1]))
		kgb_buf_truncate(&text, text.len - 1);
	for (char *c = text.ptr; *c; c++)
		if (iscntrl((unsigned char)*c))
			*c = ' ';
		else if (*c == '|') /* it becomes a cell of a table */
			*c = '/';
	cut(&text, KGB_ROUNDS_SUMMARY_LEN);
	kgb_buf_adds(out, text.ptr);
}

/** "passed", "failed verify.mismatch", "nothing was judged: agent.no_kernel" */
static void add_result(const struct kgb_round *round, struct kgb_buf *out)
{
	const struct kgb_verdict_summary *v = &round->verdict;
	if (!round->has_verdict)
		kgb_buf_addf(out, "nothing was judged: %s", round->code ? round->code : "?");
	else
		kgb_buf_addf(out, "%s%s%s", v->status, v->code ? " " : "", v->code ? v->code : "");
}

static const char *own_words(const struct kgb_round *round)
{
	if (round->number == 0)
		return "(the kernel to begin with)";
	return round->summary ? round->summary : "(nothing said)";
}

/** Whether some round was timed. Without a GPU none is, and the text omits speed. */
static bool has_speedup(const struct kgb_attempt_state *attempt)
{
	for (size_t i = 0; i < attempt->n_rounds; i++)
		if (attempt->rounds[i].has_verdict && attempt->rounds[i].verdict.speedup > 0)
			return true;
	return false;
}

static void add_speedup(const struct kgb_round *round, struct kgb_buf *out)
{
	if (round->has_verdict && round->verdict.speedup > 0)
		kgb_buf_addf(out, " | %.3f", round->verdict.speedup);
	else
		kgb_buf_adds(out, " | -");
}

void kgb_rounds_log(const struct kgb_attempt_state *attempt, struct kgb_buf *out)
{
	const bool is_timed = has_speedup(attempt);

	kgb_buf_addf(out, "| round | result |%s kept | what changed |\n",
		     is_timed ? " speedup |" : "");
	kgb_buf_addf(out, "|---|---|%s---|---|\n", is_timed ? "---|" : "");
	for (size_t i = 0; i < attempt->n_rounds; i++) {
		const struct kgb_round *round = &attempt->rounds[i];
		kgb_buf_addf(out, "| %d | ", round->number);
		add_result(round, out);
		if (is_timed)
			add_speedup(round, out);
		kgb_buf_addf(out, " | %s | %s |\n", round->kept ? "yes" : "no", own_words(round));
	}
	if (attempt->n_rounds == 0)
		kgb_buf_adds(out, "| - | none yet | - | - |\n");
}

/** "helped, speedup 1.1 to 1.3", "did not help", "was rejected: verify.mismatch" */
static void add_effect(const struct kgb_round *round, double before, struct kgb_buf *out)
{
	const struct kgb_verdict_summary *v = &round->verdict;
	if (round->kept && before > 0 && v->speedup > 0)
		kgb_buf_addf(out, "helped, speedup %.3f to %.3f", before, v->speedup);
	else if (round->kept && v->speedup > 0)
		kgb_buf_addf(out, "helped, speedup %.3f", v->speedup);
	else if (round->kept)
		kgb_buf_adds(out, "helped, it passed");
	else if (kgb_str_eq(v->status, "passed"))
		kgb_buf_adds(out, "did not help");
	else
		kgb_buf_addf(out, "was rejected: %s", v->code ? v->code : v->status);
}

static void remember(const struct kgb_op_state *op, const struct kgb_attempt_state *attempt,
		     struct kgb_strv *lines)
{
	double before = 0;
	for (size_t i = 0; i < attempt->n_rounds; i++) {
		const struct kgb_round *round = &attempt->rounds[i];
		if (round->number > 0 && round->has_verdict && round->summary) {
			KGB_AUTO(buf) struct kgb_buf line = KGB_BUF_INIT(0);
			kgb_buf_addf(&line, "- %s (%s): ", op->name,
				     round->category ? round->category : "?");
			add_effect(round, before, &line);
			kgb_buf_addf(&line, ": %s\n", round->summary);
			kgb_strv_add(lines, line.ptr);
		}
		before = round->kept ? round->verdict.speedup : before;
	}
}

void kgb_rounds_memory(const struct kgb_run_state *state, const char *except, struct kgb_buf *out)
{
	KGB_AUTO(strv) struct kgb_strv lines = KGB_STRV_INIT;
	for (size_t i = 0; i < state->n_ops; i++) {
		const struct kgb_op_state *op = &state->ops[i];
		for (size_t k = 0; k < op->n_attempts && !kgb_str_eq(op->name, except); k++)
			remember(op, &op->attempts[k], &lines);
	}
	size_t first = lines.n > KGB_ROUNDS_MEMORY_LINES ? lines.n - KGB_ROUNDS_MEMORY_LINES : 0;
	for (size_t i = first; i < lines.n; i++)
		kgb_buf_adds(out, lines.items[i]);
	if (lines.n == 0)
		kgb_buf_adds(out, "- nothing yet\n");
}

static void add_content(const struct kgb_rounds_kernel *kernel, struct kgb_buf *out)
{
	const struct kgb_rounds_best *best = kernel->best;
	if (best->check > 0) {
		kgb_buf_adds(out, "`kernel.py` holds the best version so far: ");
		if (best->round > 0)
			kgb_buf_addf(out, "that of round %d", best->round);
		else
			kgb_buf_adds(out, "the kernel to begin with");
		kgb_buf_adds(out, ". It passed");
		if (best->speedup > 0)
			kgb_buf_addf(out, ", with a speedup of %.3f", best->speedup);
		kgb_buf_adds(out, ".");
	} else if (!kernel->exists) {
		kgb_buf_adds(out, "There is no `kernel.py` yet.");
	} else if (kernel->is_stub) {
		kgb_buf_adds(out,
			     "`kernel.py` is a stub: its functions raise NotImplementedError.");
	} else {
		kgb_buf_adds(out, "No version has passed yet; `kernel.py` holds the last one.");
	}
}

void kgb_rounds_describe_kernel(const struct kgb_rounds_kernel *kernel, struct kgb_buf *out)
{
	const struct kgb_rounds_best *best = kernel->best;
	bool is_best = best->check > 0 && best->round == kernel->round;
	add_content(kernel, out);
	if (!kernel->report || is_best)
		return;
	KGB_AUTO(buf) struct kgb_buf report = KGB_BUF_INIT(0);
	kgb_buf_adds(&report, kernel->report);
	cut(&report, REPORT_BYTES);
	while (report.len > 0 && report.ptr[report.len - 1] == '\n')
		kgb_buf_truncate(&report, report.len - 1);
	if (best->check > 0)
		kgb_buf_addf(
			out,
			" The version of round %d was not better and was replaced by the best. ",
			kernel->round);
	else
		kgb_buf_adds(out, " ");
	kgb_buf_addf(out, "The judge's report on it:\n\n```\n%s\n```", report.ptr);
}
