/* SPDX-License-Identifier: MIT */
#include "agent/page/document.h"

#include <math.h>

#include "agent/page/cells.h"
#include "agent/page/kernels.h"
#include "agent/page/series.h"
#include "agent/page/timeline.h"
#include "agent/page/words.h"
#include "agent/report/common.h"
#include "base/time.h"

/** The parts that a page without enough room omits, in this order. */
enum part { HISTORIES, TIMELINES, KERNELS, N_PARTS };
static const struct {
	const char *name, *note;
} parts[N_PARTS] = {
	[HISTORIES] = {"histories", "histories of kernels are left out: results.json of each run "
				    "has them"},
	[TIMELINES] = {"timelines", "timelines are left out: a report of fewer runs has them"},
	[KERNELS] = {"kernels", "kernels are left out: each run has a folder of them"},
};

static void write_words(struct kgb_jsonw *w, const char *key, const struct kgb_strv *words)
{
	kgb_jsonw_key(w, key);
	kgb_jsonw_array(w);
	for (size_t i = 0; i < words->n; i++)
		kgb_jsonw_str(w, words->items[i]);
	kgb_jsonw_array_end(w);
}

static void write_run(struct kgb_jsonw *w, const struct kgb_collected_run *run, bool with_timeline)
{
	const struct kgb_run_row *row = run->row;
	kgb_jsonw_put(w,
		      "{label: %s, name: %s, path: %s, method: %s, model: %s, gateway: %s, "
		      "offline: %hhd, dataset: %s, platform: %s, status: %s, start_time: %s, "
		      "wall_seconds: %g, timeline: {",
		      run->label, row->name, row->path, row->method, row->model, row->gateway,
		      row->is_offline, row->dataset, row->platform,
		      row->status ? row->status : "running", row->start_time, row->wall_seconds);
	if (with_timeline)
		kgb_timeline_write(w, run);
	else
		kgb_jsonw_put(w, "rows: [], devices: [], bars: []");
	kgb_jsonw_put(w, "}}");
}

static void write_operators(struct kgb_jsonw *w, const struct kgb_collected *c)
{
	kgb_jsonw_put(w, "operators: [");
	KGB_VEC_FOREACH(op, &c->operators)
		kgb_jsonw_put(w, "{name: %s, source: %s, category: %s}", op->name, op->source,
			      op->category);
	kgb_jsonw_array_end(w);
}

/** The sentences of the document before its plots. */
struct words {
	const char *time;
	struct kgb_strv warnings, sentences;
};

static void write_left_out(struct kgb_jsonw *w, const struct words *words, size_t n_left_out)
{
	kgb_jsonw_put(w, "warnings: [");
	for (size_t i = 0; i < words->warnings.n; i++)
		kgb_jsonw_str(w, words->warnings.items[i]);
	for (size_t i = 0; i < n_left_out; i++) {
		KGB_AUTO(free)
		char *note = kgb_xasprintf("To keep this page small, %s.", parts[i].note);
		kgb_jsonw_str(w, note);
	}
	kgb_jsonw_put(w, "], left_out: [");
	for (size_t i = 0; i < n_left_out; i++)
		kgb_jsonw_str(w, parts[i].name);
	kgb_jsonw_array_end(w);
}

/** All but the texts of kernels, which are gathered. The object stays open. */
static void write_frame(struct kgb_jsonw *w, const struct words *words,
			const struct kgb_collected *c, size_t n_left_out,
			struct kgb_kernels *kernels)
{
	kgb_jsonw_put(w, "{schema: 'kgb.report/1', time: %s, kgb_version: %s", words->time,
		      KGB_VERSION);
	write_left_out(w, words, n_left_out);
	write_words(w, "summary", &words->sentences);
	kgb_jsonw_put(w, "runs: [");
	KGB_VEC_FOREACH(run, &c->runs)
		write_run(w, run, n_left_out <= TIMELINES);
	kgb_jsonw_array_end(w);
	write_operators(w, c);
	kgb_series_write(w, c);
	kgb_cells_write(w, c, n_left_out <= HISTORIES, n_left_out <= KERNELS ? kernels : NULL);
}

/** Append the document if it leaves enough of the limit for the texts of kernels. */
static bool add_fitting(struct kgb_buf *out, const struct words *words,
			const struct kgb_collected *c, size_t n_left_out, size_t limit)
{
	struct kgb_kernels kernels = {0};
	struct kgb_jsonw w;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0), page = KGB_BUF_INIT(0);
	kgb_jsonw_init(&w, &text, 0);
	write_frame(&w, words, c, n_left_out, &kernels);
	kgb_embed_json(&page, text.ptr, text.len);
	const bool fits = page.len <= (n_left_out <= KERNELS ? limit - limit / 4 : limit);
	if (fits) {
		kgb_jsonw_key(&w, "kernels");
		kgb_kernels_write(&kernels, limit - page.len, &w);
		kgb_jsonw_object_end(&w);
		kgb_buf_add(out, text.ptr, text.len);
		kgb_buf_addc(out, '\n');
	}
	kgb_kernels_release(&kernels);
	return fits;
}

int kgb_report_document(const struct kgb_runs *runs, const struct kgb_collected *c, int64_t now_ms,
			size_t limit, struct kgb_buf *out, struct kgb_strv *left_out,
			struct kgb_err *err)
{
	struct words words = {.time = KGB_REPORT_TIME(now_ms)};
	int rc = kgb_words(runs, c, &words.warnings, &words.sentences, err);
	size_t n_left_out = 0;
	while (rc == 0 && n_left_out <= N_PARTS && !add_fitting(out, &words, c, n_left_out, limit))
		n_left_out++;
	if (rc == 0 && n_left_out > N_PARTS)
		rc = kgb_fail(err, KGB_ERR_LIMIT,
			      "%zu runs with %zu operators are too many for one page: name fewer; "
			      "analyze, compare and leaderboard take any number",
			      c->runs.n, c->operators.n);
	for (size_t i = 0; rc == 0 && i < n_left_out; i++)
		kgb_strv_add(left_out, parts[i].name);
	kgb_strv_release(&words.warnings);
	kgb_strv_release(&words.sentences);
	return rc;
}
