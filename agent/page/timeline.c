/* SPDX-License-Identifier: MIT */
#include "agent/page/timeline.h"

#include <math.h>
#include <stdlib.h>

#include "base/time.h"

struct bar {
	const char *what; /* "agent", "check", "final" */
	const char *group; /* group of its row: "agent", or a device */
	size_t op, place, row; /* the operator; its place in the document; the row it got */
	double from, to; /* seconds after the start of the run */
};

/** A row that is free from a moment on. */
struct row {
	const char *group;
	size_t number; /* among those of its group */
	double free_from;
};

struct timeline {
	KGB_VEC(struct bar) bars;
	KGB_VEC(struct row) rows;
	int64_t start_ms;
	struct kgb_arena arena;
};

static double seconds_at(const struct timeline *t, const char *time)
{
	struct kgb_err ignored = KGB_ERR_INIT;
	int64_t ms = 0;
	return time && kgb_time_parse(time, &ms, &ignored) == 0 ? (double)(ms - t->start_ms) / 1000
								: (double)NAN;
}

static void add_bar(struct timeline *t, size_t op, const char *what, const char *group, double from,
		    double to)
{
	if (from >= 0 && to >= from)
		KGB_VEC_ADD(&t->bars, (struct bar){.what = what,
						   .group = group,
						   .op = op,
						   .place = t->bars.n,
						   .from = from,
						   .to = to});
}

/** The device on which checks of an attempt were judged. */
static const char *device_of(struct timeline *t, const cJSON *document, const cJSON *attempt)
{
	const char *platform = kgb_json_str(document, "platform", "cpu");
	const int64_t device = kgb_json_i64(attempt, "device", -1);
	if (kgb_str_eq(platform, "cpu") || device < 0)
		return platform;
	return kgb_arena_printf(&t->arena, "%s:%d", platform, (int)device);
}

static void add_operator(struct timeline *t, size_t op, const cJSON *node, const cJSON *document)
{
	const double now = seconds_at(t, kgb_json_str(document, "timestamp", NULL));
	const cJSON *attempt = NULL, *call = NULL;
	cJSON_ArrayForEach(attempt, kgb_json_get(node, "attempts")) {
		const int64_t number = kgb_json_i64(attempt, "number", 0);
		const double end = seconds_at(t, kgb_json_str(attempt, "end_time", NULL));
		add_bar(t, op, "agent", "agent",
			seconds_at(t, kgb_json_str(attempt, "start_time", NULL)),
			isnan(end) ? now : end);
		cJSON_ArrayForEach(call, kgb_json_get(node, "verify_calls")) {
			const double to = seconds_at(t, kgb_json_str(call, "time", NULL));
			if (kgb_json_i64(call, "attempt", 0) == number)
				add_bar(t, op, "check", device_of(t, document, attempt),
					to - kgb_json_num(call, "seconds", (double)NAN), to);
		}
	}
	const double to = seconds_at(t, kgb_json_str(node, "time.end_time", NULL));
	const char *device = kgb_json_str(node, "device", NULL);
	if (device)
		add_bar(t, op, "final", device,
			to - kgb_json_num(node, "time.verify_seconds", (double)NAN), to);
}

static int by_time(const void *a, const void *b)
{
	const struct bar *x = a, *y = b;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->place < y->place ? -1 : 1;
}

static size_t take_row(struct timeline *t, const struct bar *bar)
{
	size_t n_of_group = 0;
	for (size_t i = 0; i < t->rows.n; i++) {
		struct row *row = &t->rows.items[i];
		if (!kgb_str_eq(row->group, bar->group))
			continue;
		n_of_group++;
		if (row->free_from > bar->from)
			continue;
		row->free_from = bar->to;
		return i;
	}
	KGB_VEC_ADD(&t->rows, (struct row){bar->group, n_of_group + 1, bar->to});
	return t->rows.n - 1;
}

/** Seconds in which the device judged: of its bars together, each moment once. */
static double busy_seconds(const struct timeline *t, const char *device)
{
	double busy = 0, until = 0;
	KGB_VEC_FOREACH(bar, &t->bars) {
		if (!kgb_str_eq(bar->group, device))
			continue;
		busy += fmax(bar->to - fmax(bar->from, until), 0);
		until = fmax(until, bar->to);
	}
	return busy;
}

static bool has_second(const struct timeline *t, const char *group)
{
	KGB_VEC_FOREACH(row, &t->rows)
		if (row->number == 2 && kgb_str_eq(row->group, group))
			return true;
	return false;
}

static void write_rows(struct kgb_jsonw *w, const struct timeline *t)
{
	kgb_jsonw_put(w, "rows: [");
	KGB_VEC_FOREACH(row, &t->rows) {
		KGB_AUTO(free) char *name = kgb_xasprintf("%s #%zu", row->group, row->number);
		kgb_jsonw_str(w, row->number > 1 || has_second(t, row->group) ? name : row->group);
	}
	kgb_jsonw_put(w, "], devices: [");
	KGB_VEC_FOREACH(row, &t->rows)
		if (row->number == 1 && !kgb_str_eq(row->group, "agent"))
			kgb_jsonw_put(w, "{name: %s, busy_seconds: %g}", row->group,
				      busy_seconds(t, row->group));
	kgb_jsonw_array_end(w);
}

void kgb_timeline_write(struct kgb_jsonw *w, const struct kgb_collected_run *run)
{
	struct timeline t = {.arena = KGB_ARENA_INIT};
	struct kgb_err ignored = KGB_ERR_INIT;
	const char *start = run->row->start_time;
	if (start && kgb_time_parse(start, &t.start_ms, &ignored) == 0)
		for (size_t i = 0; i < run->row->ops.n; i++)
			add_operator(&t, run->places[i], run->nodes[i], run->document);
	if (t.bars.n > 0)
		qsort(t.bars.items, t.bars.n, sizeof(*t.bars.items), by_time);
	KGB_VEC_FOREACH(bar, &t.bars)
		bar->row = take_row(&t, bar);
	write_rows(w, &t);
	kgb_jsonw_put(w, "bars: [");
	KGB_VEC_FOREACH(bar, &t.bars)
		kgb_jsonw_put(w, "[%zu, %s, %g, %g, %zu]", bar->op, bar->what,
			      round(100 * bar->from) / 100, round(100 * bar->to) / 100, bar->row);
	kgb_jsonw_array_end(w);
	KGB_VEC_RELEASE(&t.bars);
	KGB_VEC_RELEASE(&t.rows);
	kgb_arena_release(&t.arena);
}
