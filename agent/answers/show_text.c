/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "agent/answers/show.h"
#include "agent/report/common.h"

#define BOLD "\033[1m"
#define RED "\033[31m"
#define GREEN "\033[32m"
#define CYAN "\033[36m"
#define RESET "\033[0m"

struct page {
	struct kgb_buf *out;
	enum kgb_show_form form;
};

/** A line in a colour, stripped of controls; tabs stay. */
static void add_line(const struct page *page, const char *color, const char *line, size_t len)
{
	const bool is_colored = page->form == KGB_SHOW_COLOR && *color;
	kgb_buf_adds(page->out, is_colored ? color : "");
	while (len > 0) {
		const char *tab = memchr(line, '\t', len);
		const size_t n = tab ? (size_t)(tab - line) : len;
		kgb_escape(page->out, line, n);
		if (tab)
			kgb_buf_addc(page->out, '\t');
		line += n + (tab != NULL);
		len -= n + (tab != NULL);
	}
	kgb_buf_adds(page->out, is_colored ? RESET "\n" : "\n");
}

static const char *color_of_change(const char *line)
{
	switch (*line) {
	case '+':
		return GREEN;
	case '-':
		return RED;
	case '@':
		return CYAN;
	default:
		return "";
	}
}

static void add_lines(const struct page *page, const char *text, size_t len, bool is_diff)
{
	for (size_t at = 0; at < len;) {
		const char *line = text + at;
		const char *end = memchr(line, '\n', len - at);
		const size_t n = end ? (size_t)(end - line) : len - at;
		add_line(page, is_diff ? color_of_change(line) : "", line, n);
		at += n + 1;
	}
}

/** Longer than any run of tildes in the text, so that the text cannot end its block. */
static size_t fence_of(const char *text, size_t len)
{
	size_t longest = 2, here = 0;
	for (size_t i = 0; i < len; i++) {
		here = text[i] == '~' ? here + 1 : 0;
		longest = here > longest ? here : longest;
	}
	return longest + 1;
}

/** A text as it is, in Markdown fenced. */
static void add_block(const struct page *page, const char *language, const char *text, size_t len)
{
	const size_t fence = page->form == KGB_SHOW_MARKDOWN ? fence_of(text, len) : 0;
	for (size_t i = 0; i < fence; i++)
		kgb_buf_addc(page->out, '~');
	if (fence > 0)
		kgb_buf_addf(page->out, "%s\n", language);
	add_lines(page, text, len, kgb_str_eq(language, "diff"));
	for (size_t i = 0; i < fence; i++)
		kgb_buf_addc(page->out, '~');
	kgb_buf_adds(page->out, fence > 0 ? "\n\n" : "\n");
}

static void KGB_PRINTF(3, 4)
	add_heading(const struct page *page, const char *color, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	KGB_AUTO(free) char *text = kgb_xvasprintf(format, args);
	va_end(args);
	const bool is_colored = page->form == KGB_SHOW_COLOR;
	kgb_buf_adds(page->out, page->form == KGB_SHOW_MARKDOWN ? "## " : "== ");
	kgb_buf_adds(page->out, is_colored ? BOLD : "");
	kgb_buf_adds(page->out, is_colored ? color : "");
	kgb_escape(page->out, text, strlen(text));
	kgb_buf_adds(page->out, is_colored ? RESET "\n" : "\n");
	kgb_buf_adds(page->out, page->form == KGB_SHOW_MARKDOWN ? "\n" : "");
}

static void KGB_PRINTF(2, 3) add_fact(const struct page *page, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	KGB_AUTO(free) char *text = kgb_xvasprintf(format, args);
	va_end(args);
	kgb_buf_adds(page->out, page->form == KGB_SHOW_MARKDOWN ? "- " : "");
	add_line(page, "", text, strlen(text));
}

/* ---- the head ---- */

static const char *color_of_status(const char *status)
{
	return kgb_str_eq(status, "passed") ? GREEN : RED;
}

static const char *dollars_of(const struct kgb_spent *spent, char *out, size_t cap)
{
	if (spent->cost_nanos < 0)
		snprintf(out, cap, "no known price");
	else
		snprintf(out, cap, "%s%.4f USD", spent->cost_unknown ? "at least " : "",
			 kgb_nanos_to_usd(spent->cost_nanos));
	return out;
}

static void add_cost(const struct page *page, const struct kgb_op_state *op)
{
	struct kgb_spent spent = KGB_SPENT_NOTHING, lost = KGB_SPENT_NOTHING;
	KGB_AUTO(buf) struct kgb_buf tokens = KGB_BUF_INIT(0);
	char dollars[48];
	kgb_op_spent(op, &spent);
	kgb_op_lost(op, &lost);
	kgb_report__add_tokens(&tokens,
			       kgb_usage_complete(&spent.gateway) ? &spent.gateway : &spent.cli);
	add_fact(page, "cost: %s tokens, %s", tokens.ptr,
		 dollars_of(&spent, dollars, sizeof(dollars)));
	if (lost.n_attempts > 0)
		add_fact(page, "besides: %zu attempts that do not count, %s", lost.n_attempts,
			 dollars_of(&lost, dollars, sizeof(dollars)));
}

static void add_attempt(const struct page *page, const struct kgb_show *show)
{
	const struct kgb_attempt_state *attempt = show->attempt;
	char took[32];
	if (!attempt) {
		add_fact(page, "attempt: none began");
		return;
	}
	add_fact(page, "attempt: %d of %zu, %s%s%s", attempt->number, show->op->n_attempts,
		 attempt->ended_ms < 0 ? "running or cut off" : kgb_agent_end_code(attempt->end),
		 attempt->ended_ms < 0 ? "" : ", ",
		 attempt->ended_ms < 0
			 ? ""
			 : kgb_duration_format(attempt->ended_ms - attempt->started_ms, took,
					       sizeof(took)));
	if (attempt->error_message)
		add_fact(page, "error: %s", attempt->error_message);
	for (size_t i = 0; i < attempt->n_rounds; i++) {
		const struct kgb_round *round = &attempt->rounds[i];
		add_fact(page, "round %d: %s%s%s%s%s", round->number,
			 round->has_verdict ? round->verdict.status
			 : round->code      ? round->code
					    : "not judged",
			 round->kept ? ", kept" : "", round->summary ? ": " : "",
			 round->summary ? round->summary : "",
			 round->check > 0 ? "" : " (no version)");
	}
}

static void add_head(const struct page *page, const struct kgb_show *show)
{
	const struct kgb_op_state *op = show->op;
	const struct kgb_maker maker = kgb_op_maker(op);
	const char *status = kgb_op_status_name(op->status);
	char speed[96];
	char tests[64] = "";
	if (op->has_verdict && op->verdict.total_tests > 0)
		snprintf(tests, sizeof(tests), " %lld/%lld cases",
			 (long long)op->verdict.passed_tests, (long long)op->verdict.total_tests);
	add_heading(page, color_of_status(status), "%s: %s%s%s%s%s%s", op->name, status, tests,
		    op->error_code ? " " : "", op->error_code ? op->error_code : "",
		    op->has_verdict && op->verdict.speedup > 0 ? ", " : "",
		    op->has_verdict && op->verdict.speedup > 0
			    ? kgb_report__interval(&op->verdict, speed, sizeof(speed))
			    : "");
	if (op->error_message)
		add_fact(page, "%s", op->error_message);
	add_fact(page, "run: %s%s", show->record.dir.name,
		 show->record.is_pruned
			 ? " (pruned: homes, workspaces, traffic and git histories are gone)"
			 : "");
	add_fact(page, "by: %s, %s",
		 maker.method                      ? maker.method
		 : show->record.state.maker.method ? show->record.state.maker.method
						   : "kernels from elsewhere",
		 kgb_maker_is_offline(&maker) ? KGB_MARK_OFFLINE
		 : maker.model                ? maker.model
					      : "no model");
	add_attempt(page, show);
	add_cost(page, op);
	if (kgb_op_is_replaced(op))
		add_fact(page, "the kernel was replaced by hand: it counts in no rate");
	kgb_buf_addc(page->out, '\n');
}

/* ---- the parts ---- */

static int add_draft(const struct page *page, const struct kgb_show *show, size_t index,
		     struct kgb_err *err)
{
	const struct kgb_draft *draft = &show->drafts.list.items[index];
	const char *status = draft->verdict.status                    ? draft->verdict.status
			     : draft->sample && draft->sample->status ? draft->sample->status
								      : "not judged";
	const char *noun = show->sample > 0 ? "Sample" : "Version";
	KGB_AUTO(buf) struct kgb_buf changes = KGB_BUF_INIT(0);
	double similarity = (double)NAN;
	const int number = show->sample > 0 ? show->sample : draft->number;
	if (kgb_show_diff(show, index, &changes, &similarity, err) < 0)
		return -1;
	if (show->sample > 0 && show->drafts.list.n > 1)
		add_heading(page, color_of_status(status), "%s %d, round %d: %s", noun, number,
			    draft->round, status);
	else if (draft->round > 0 && show->sample == 0)
		add_heading(page, color_of_status(status), "%s %d (round %d): %s", noun, number,
			    draft->round, status);
	else
		add_heading(page, color_of_status(status), "%s %d: %s", noun, number, status);
	if (draft->report)
		add_block(page, "text", draft->report, strlen(draft->report));
	if (draft->kernel.len == 0)
		add_fact(page, "%s is not there", draft->path);
	else if (isnan(similarity))
		add_block(page, "python", draft->kernel.ptr, draft->kernel.len);
	else if (changes.len == 0)
		add_fact(page, "the same text as the version before");
	else
		add_block(page, "diff", changes.ptr, changes.len);
	return 0;
}

static void add_text(const struct page *page, const char *title, const char *path,
		     const char *language, const struct kgb_buf *text)
{
	if (text->len == 0) {
		add_heading(page, "", "%s: none", title);
		return;
	}
	add_heading(page, "", "%s: %s", title, path);
	add_block(page, language, text->ptr, text->len);
}

int kgb_show_text(const struct kgb_show *show, enum kgb_show_form form, size_t width,
		  struct kgb_buf *out, struct kgb_err *err)
{
	const struct page page = {.out = out, .form = form};
	const int last = kgb_show_final_draft(show);
	add_head(&page, show);
	if (kgb_table_n_rows(&show->versions) > 0) {
		if (form == KGB_SHOW_MARKDOWN)
			kgb_table_markdown(&show->versions, out);
		else
			kgb_table_text(&show->versions, width, out);
		kgb_buf_addc(out, '\n');
	}
	add_text(&page, "Prompt", show->prompt_path, "markdown", &show->prompt);
	for (size_t i = 0; i < show->drafts.list.n; i++)
		if (add_draft(&page, show, i, err) < 0)
			return -1;
	if (last > 0) {
		add_heading(&page, "", "The kernel that counts: %s, %s %d", show->kernel_path,
			    show->sample > 0 ? "round" : "version", last);
		add_block(&page, "python", show->kernel.ptr, show->kernel.len);
	} else {
		add_text(&page, "The kernel that counts", show->kernel_path, "python",
			 &show->kernel);
	}
	return 0;
}
