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

static void write_words(struct kgb_jsonw *w, const char *key, const struct kgb_strv *words)
{
	kgb_jsonw_key(w, key);
	kgb_jsonw_array(w);
	for (size_t i = 0; i < words->n; i++)
		kgb_jsonw_str(w, words->items[i]);
	kgb_jsonw_array_end(w);
}

static void write_run(struct kgb_jsonw *w, const struct kgb_collected_run *run)
{
	const struct kgb_run_row *row = run->row;
	kgb_jsonw_put(w,
		      "{label: %s, name: %s, path: %s, method: %s, model: %s, gateway: %s, "
		      "offline: %hhd, dataset: %s, platform: %s, status: %s, start_time: %s, "
		      "wall_seconds: %g, timeline: {",
		      run->label, row->name, row->path, row->method, row->model, row->gateway,
		      row->is_offline, row->dataset, row->platform,
		      row->status ? row->status : "running", row->start_time, row->wall_seconds);
	kgb_timeline_write(w, run);
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

int kgb_report_document(const struct kgb_runs *runs, const struct kgb_collected *c, int64_t now_ms,
			size_t limit, struct kgb_buf *out, struct kgb_err *err)
{
	KGB_AUTO(strv) struct kgb_strv warnings = KGB_STRV_INIT, sentences = KGB_STRV_INIT;
	struct kgb_kernels kernels = {0};
	struct kgb_jsonw w;
	KGB_AUTO(buf) struct kgb_buf page = KGB_BUF_INIT(0);
	const size_t before = out->len;
	if (kgb_words(runs, c, &warnings, &sentences, err) < 0)
		return -1;
	kgb_jsonw_init(&w, out, 0);
	kgb_jsonw_put(&w, "{schema: 'kgb.report/1', time: %s, kgb_version: %s",
		      KGB_REPORT_TIME(now_ms), KGB_VERSION);
	write_words(&w, "warnings", &warnings);
	write_words(&w, "summary", &sentences);
	kgb_jsonw_put(&w, "runs: [");
	KGB_VEC_FOREACH(run, &c->runs)
		write_run(&w, run);
	kgb_jsonw_array_end(&w);
	write_operators(&w, c);
	kgb_series_write(&w, c);
	kgb_cells_write(&w, c, &kernels);
	kgb_embed_json(&page, out->ptr + before, out->len - before);
	kgb_jsonw_key(&w, "kernels");
	kgb_kernels_write(&kernels, limit > page.len ? limit - page.len : 0, &w);
	kgb_jsonw_object_end(&w);
	kgb_buf_addc(out, '\n');
	kgb_kernels_release(&kernels);
	return 0;
}
