/* SPDX-License-Identifier: MIT */
#include "agent/page/collected.h"

#include <math.h>

#include "base/formats/lines.h"
#include "base/limits.h"

static size_t place_of(struct kgb_collected *out, const struct kgb_op_row *op, size_t likely)
{
	if (likely < out->operators.n && kgb_str_eq(out->operators.items[likely].name, op->name))
		return likely;
	for (size_t i = 0; i < out->operators.n; i++)
		if (kgb_str_eq(out->operators.items[i].name, op->name))
			return i;
	KGB_VEC_ADD(&out->operators, *op);
	return out->operators.n - 1;
}

static void read_operators(struct kgb_collected *out, struct kgb_collected_run *run)
{
	const size_t n = run->row->ops.n;
	const cJSON *operators = kgb_json_get(run->document, "operators");
	const cJSON *node = operators ? operators->child : NULL;
	run->histories = kgb_xcalloc(n + 1, sizeof(*run->histories));
	run->places = kgb_xcalloc(n + 1, sizeof(*run->places));
	run->nodes = kgb_xcalloc(n + 1, sizeof(const cJSON *));
	for (size_t i = 0; i < n; i++, node = node ? node->next : NULL) {
		const struct kgb_op_row *op = &run->row->ops.items[i];
		run->places[i] = place_of(out, op, i);
		if (!node || !kgb_str_eq(node->string, op->name))
			continue;
		run->nodes[i] = node;
		kgb_history_read(node, op, &run->histories[i]);
	}
}

/** Lines of samples.jsonl on their way into histories. */
struct lines {
	struct kgb_collected_run *run;
	int64_t n;
	size_t op; /* of the last line: those of one operator follow each other */
	struct kgb_err *err;
	int rc;
};

static void on_line(void *payload, const char *line, size_t len)
{
	struct lines *lines = payload;
	const struct kgb_run_row *row = lines->run->row;
	cJSON *node = NULL;
	lines->n++;
	if (lines->rc < 0)
		return;
	lines->rc = kgb_json_parse(line, len, &node, lines->err);
	if (lines->rc < 0) {
		lines->rc = kgb_ctx(lines->err, "%s/samples.jsonl, line %lld", row->path,
				    (long long)lines->n);
		return;
	}
	KGB_VEC_ADD(&lines->run->samples, node);
	const struct kgb_op_row *op =
		kgb_run_row_find(row, kgb_json_str(node, "operator", ""), lines->op);
	if (!op)
		return;
	lines->op = (size_t)(op - row->ops.items);
	kgb_history_add_sample(node, &lines->run->histories[lines->op]);
}

static int read_samples(struct kgb_collected_run *run, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	struct lines payload = {.run = run, .err = err};
	struct kgb_lines lines;
	if (kgb_run_samples(run->row->path, &text, err) < 0)
		return -1;
	kgb_lines_init(&lines, KGB_LIMIT_LINE);
	kgb_lines_feed(&lines, text.ptr, text.len, on_line, &payload);
	(void)kgb_lines_finish(&lines, on_line, &payload);
	kgb_lines_release(&lines);
	for (size_t i = 0; i < run->row->ops.n; i++)
		kgb_history_order(&run->histories[i]);
	return payload.rc;
}

int kgb_collect(const struct kgb_runs *runs, const struct kgb_strv *labels,
		struct kgb_collected *out, struct kgb_err *err)
{
	for (size_t r = 0; r < runs->list.n; r++) {
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		struct kgb_collected_run run = {.row = &runs->list.items[r],
						.label = labels->items[r]};
		if (kgb_run_document(run.row->path, &text, err) < 0)
			return -1;
		if (kgb_json_parse(text.ptr, text.len, &run.document, err) < 0)
			return kgb_ctx(err, "%s", run.row->path);
		read_operators(out, &run);
		const int rc = read_samples(&run, err);
		out->n_cells += run.row->ops.n;
		KGB_VEC_ADD(&out->runs, run);
		if (rc < 0)
			return -1;
	}
	return 0;
}

void kgb_collected_release(struct kgb_collected *collected)
{
	KGB_VEC_FOREACH(run, &collected->runs) {
		for (size_t i = 0; i < run->row->ops.n; i++)
			kgb_history_release(&run->histories[i]);
		kgb_free(run->histories);
		kgb_free(run->places);
		kgb_free(run->nodes);
		kgb_auto_json(&run->document);
		KGB_VEC_FOREACH(sample, &run->samples)
			kgb_auto_json(sample);
		KGB_VEC_RELEASE(&run->samples);
	}
	KGB_VEC_RELEASE(&collected->runs);
	KGB_VEC_RELEASE(&collected->operators);
}

void kgb_auto_collected(struct kgb_collected *collected)
{
	kgb_collected_release(collected);
}

double kgb_shortened(double value)
{
	if (!isfinite(value) || value == 0)
		return value;
	const double digits = 4 - floor(log10(fabs(value)));
	/* A power of ten below 1 is no exact double, its inverse is. */
	if (digits < 0)
		return value;
	const double scale = pow(10, digits);
	return round(value * scale) / scale;
}
