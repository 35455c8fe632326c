/* SPDX-License-Identifier: MIT */
#include "agent/screen/block.h"

#include <inttypes.h>
#include <math.h>

#include "agent/report/common.h"
#include "agent/screen/block_rows.h"
#include "base/mem.h"
#include "base/str.h"

#define BAR_COLUMNS_MIN 10

const char *kgb_clock_format(int64_t ms, char out[KGB_CLOCK_LEN])
{
	const int64_t s = ms > 0 ? ms / 1000 : 0;
	if (s >= 3600)
		snprintf(out, KGB_CLOCK_LEN, "%" PRId64 ":%02" PRId64 ":%02" PRId64, s / 3600,
			 s / 60 % 60, s % 60);
	else
		snprintf(out, KGB_CLOCK_LEN, "%" PRId64 ":%02" PRId64, s / 60, s % 60);
	return out;
}

/* ---- the head ---- */

/** "claude-sonnet-4-5"; NULL: the runs have several. */
static const char *model_of(const struct kgb_shown *shown)
{
	const char *first = kgb_run_maker(shown->runs[0].state).model;
	for (size_t i = 1; i < shown->n; i++)
		if (!kgb_str_eq(kgb_run_maker(shown->runs[i].state).model, first))
			return NULL;
	return first;
}

static bool is_offline(const struct kgb_shown *shown)
{
	for (size_t i = 0; i < shown->n; i++) {
		const struct kgb_maker maker = kgb_run_maker(shown->runs[i].state);
		if (kgb_maker_is_offline(&maker))
			return true;
	}
	return false;
}

static void add_title(const struct kgb_shown *shown, int64_t until_ms, struct kgb_styled *out)
{
	const char *name = shown->name ? shown->name : shown->runs[0].state->run_name;
	const char *model = model_of(shown);
	kgb_styled_line(out);
	kgb_styled_add(out, kgb_shown_lives(shown) ? KGB_STYLE_LIVE : KGB_STYLE_STRONG,
		       kgb_shown_status(shown));
	kgb_styled_addf(out, KGB_STYLE_PLAIN, " %s",
			KGB_CLOCK(until_ms - kgb_shown_started_ms(shown)));
	if (is_offline(shown))
		kgb_styled_add(out, KGB_STYLE_STRONG, "  " KGB_MARK_OFFLINE);
	kgb_styled_addf(out, KGB_STYLE_PLAIN, "  %s", name ? name : "?");
	if (shown->name)
		kgb_styled_addf(out, KGB_STYLE_PLAIN, "  %zu runs", shown->n);
	if (model && !is_offline(shown))
		kgb_styled_addf(out, KGB_STYLE_PLAIN, "  %s", model);
}

/** The parts of the bar, each with its letter, as the line below names them. */
struct part {
	char letter;
	const char *word;
	size_t n;
	enum kgb_style style;
};
enum { N_PARTS = 4 };

static void find_parts(const struct kgb_shown *shown, const struct kgb_run_counts *counts,
		       struct part parts[N_PARTS])
{
	const struct part found[N_PARTS] = {
		{'#', kgb_block__word_for_completed(shown->runs[0].state), counts->completed,
		 KGB_STYLE_GOOD},
		{'x', "not passed", counts->failed, KGB_STYLE_BAD},
		{'>', "running", counts->running, KGB_STYLE_LIVE},
		{'.', "waiting", counts->pending, KGB_STYLE_FAINT},
	};
	memcpy(parts, found, sizeof(found));
}

static void add_bar(const struct part parts[N_PARTS], struct kgb_styled *out)
{
	size_t n_before = 0, n_all = 0, at = 0;
	for (size_t i = 0; i < N_PARTS; i++)
		n_all += parts[i].n;
	const size_t n_ended = parts[0].n + parts[1].n;
	KGB_AUTO(free)
	char *figures = kgb_xasprintf("%zu/%zu  %zu %%", n_ended, n_all,
				      n_all > 0 ? 100 * n_ended / n_all : 0);
	const size_t taken = strlen(figures) + 3;
	const size_t columns = out->width > taken + BAR_COLUMNS_MIN ? out->width - taken : 0;
	kgb_styled_line(out);
	if (columns > 0)
		kgb_styled_add(out, KGB_STYLE_PLAIN, "[");
	for (size_t i = 0; i < N_PARTS && n_all > 0 && columns > 0; i++) {
		char cells[512];
		n_before += parts[i].n;
		size_t n = (columns * n_before + n_all / 2) / n_all - at;
		n = n < sizeof(cells) - 1 ? n : sizeof(cells) - 1;
		memset(cells, parts[i].letter, n);
		cells[n] = '\0';
		kgb_styled_add(out, parts[i].style, cells);
		at += n;
	}
	if (columns > 0)
		kgb_styled_add(out, KGB_STYLE_PLAIN, "] ");
	kgb_styled_add(out, KGB_STYLE_STRONG, figures);
}

/** "# 41 passed  x 16 not passed  > 4 running  . 149 waiting  (12 failed, 4 timeout)" */
static void add_counts(const struct kgb_run_counts *counts, const struct part parts[N_PARTS],
		       struct kgb_styled *out)
{
	const char *gap = "";
	kgb_styled_line(out);
	for (size_t i = 0; i < N_PARTS; i++) {
		if (parts[i].n == 0)
			continue;
		kgb_styled_addf(out, parts[i].style, "%s%c", gap, parts[i].letter);
		kgb_styled_addf(out, KGB_STYLE_PLAIN, " %zu %s", parts[i].n, parts[i].word);
		gap = "  ";
	}
	gap = "  (";
	for (int status = KGB_OP_PASSED + 1; status < KGB_OP_N_STATUSES; status++) {
		if (counts->by_status[status] == 0)
			continue;
		kgb_styled_addf(out, KGB_STYLE_FAINT, "%s%zu %s", gap, counts->by_status[status],
				kgb_op_status_name((enum kgb_op_status)status));
		gap = ", ";
	}
	kgb_styled_add(out, KGB_STYLE_FAINT, *gap == ',' ? ")" : "");
}

/** Cap times of a broken journal at a million years. */
static int64_t whole_ms(double ms)
{
	return (int64_t)fmin(ms, 3e16);
}

static void write_time(const struct kgb_shown *shown, const struct kgb_forecast *forecast,
		       struct kgb_buf *out)
{
	const struct kgb_remaining *ms = &forecast->ms;
	if (!kgb_shown_lives(shown))
		return;
	if (!isnan(ms->median))
		kgb_buf_addf(out, "left %s (%s to %s)", KGB_CLOCK(whole_ms(ms->median)),
			     KGB_CLOCK(whole_ms(ms->low)), KGB_CLOCK(whole_ms(ms->high)));
	else if (forecast->will_know)
		kgb_buf_addf(out, "left: known once %d operators%s have ended", KGB_REMAINING_LEAST,
			     forecast->n_methods > 1 ? " of each method" : "");
}

static void write_cost(const struct kgb_shown *shown, const struct kgb_forecast *forecast,
		       struct kgb_buf *out)
{
	struct kgb_spent spent = KGB_SPENT_NOTHING;
	for (size_t i = 0; i < shown->n; i++) {
		struct kgb_spent part;
		kgb_shown_run_spent(&shown->runs[i], &part);
		kgb_spent_add(&spent, &part);
	}
	if (!isnan(forecast->usd_spent)) {
		kgb_buf_addf(out, "cost $%.2f", forecast->usd_spent);
		if (forecast->usd.median > forecast->usd_spent && kgb_shown_lives(shown))
			kgb_buf_addf(out, " of about $%.2f (%.2f to %.2f)", forecast->usd.median,
				     forecast->usd.low, forecast->usd.high);
	}
	if (spent.gateway.output >= 0) {
		kgb_buf_addf(out, "%stokens ", out->len > 0 ? ", " : "");
		kgb_report__add_tokens(out, &spent.gateway);
	}
}

/** Time and cost, in one line where both fit. \param n_lines 1: time alone where they do not. */
static void add_forecast(const struct kgb_shown *shown, const struct kgb_forecast *forecast,
			 size_t n_lines, struct kgb_styled *out)
{
	KGB_AUTO(buf) struct kgb_buf time = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf money = KGB_BUF_INIT(0);
	write_time(shown, forecast, &time);
	write_cost(shown, forecast, &money);
	const bool both_fit = time.len + 2 + money.len <= out->width;
	if (time.len > 0) {
		kgb_styled_line(out);
		kgb_styled_add(out, KGB_STYLE_PLAIN, time.ptr);
	}
	if (money.len == 0 || (n_lines == 1 && time.len > 0 && !both_fit))
		return;
	if (time.len == 0 || !both_fit)
		kgb_styled_line(out);
	kgb_styled_addf(out, KGB_STYLE_PLAIN, "%s%s", time.len > 0 && both_fit ? "  " : "",
			money.ptr);
}

/** The more rows there are, the more of the head is shown; the bar always. */
static void add_head(const struct kgb_shown *shown, const struct kgb_block_view *view,
		     int64_t until_ms, struct kgb_styled *out)
{
	struct part parts[N_PARTS];
	struct kgb_run_counts counts;
	kgb_shown_count(shown, &counts);
	find_parts(shown, &counts, parts);
	if (view->rows >= 8)
		add_title(shown, until_ms, out);
	add_bar(parts, out);
	if (view->rows >= 6)
		add_counts(&counts, parts, out);
	if (view->rows >= 4)
		add_forecast(shown, view->forecast, view->rows >= 10 ? 2 : 1, out);
}

void kgb_block_lay(const struct kgb_shown *shown, const struct kgb_block_view *view,
		   struct kgb_styled *out)
{
	const size_t before = out->columns.n;
	/* The last record of runs that do not live is the last known moment. */
	const int64_t until_ms = kgb_shown_until_ms(shown, view->now_ms);
	add_head(shown, view, until_ms, out);
	const size_t taken = out->columns.n - before;
	kgb_block__add_rows(shown, until_ms, view->rows > taken ? view->rows - taken : 0, out);
}
