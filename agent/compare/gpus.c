/* SPDX-License-Identifier: MIT */
#include "agent/compare/gpus.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/compare/versus.h"
#include "agent/report/common.h"
#include "agent/statistics/paired.h"
#include "agent/statistics/power.h"
#include "agent/statistics/speedup.h"

#define MOST_GPUS 16
#define SHA_SHOWN 8

/** The summary of the verdicts on one kernel on one GPU. */
struct cell {
	size_t n_judged, n_passed, n_timed;
	double sum_of_logs; /* of speedups */
	const char *status; /* of a verdict that is not passed */
};

struct kernel {
	const struct kgb_op_row *row;
	struct cell cells[MOST_GPUS];
	double spread; /* largest speedup by smallest; NaN: fewer than two GPUs timed it */
};

struct verdict {
	const struct kgb_op_row *row;
	size_t gpu;
};

struct join {
	struct kgb_strv gpus;
	KGB_VEC(struct verdict) verdicts;
	KGB_VEC(struct kernel)
	kernels; /* on two GPUs or more, those with the largest spread first */
	bool has_offline;
};

/* ---- verdicts ---- */

/** The one GPU of a run: a kernel that failed has no name of a GPU. */
static const char *gpu_of_run(const struct kgb_run_row *run)
{
	const char *gpu = NULL;
	KGB_VEC_FOREACH(op, &run->ops) {
		if (gpu && op->gpu && !kgb_str_eq(gpu, op->gpu))
			return NULL;
		gpu = op->gpu ? op->gpu : gpu;
	}
	return gpu ? gpu : kgb_str_eq(run->platform, "cpu") ? "CPU" : NULL;
}

static size_t place_of(struct kgb_strv *gpus, const char *gpu)
{
	for (size_t i = 0; i < gpus->n; i++)
		if (kgb_str_eq(gpus->items[i], gpu))
			return i;
	kgb_strv_add(gpus, gpu);
	return gpus->n - 1;
}

static bool is_judged(const struct kgb_op_row *op)
{
	static const char *const judged[] = {"passed", "failed", "refused", "cheated", NULL};
	return op->kernel_sha256 && kgb_str_is_one_of(op->status, judged);
}

static int collect(const struct kgb_runs *runs, struct join *join, struct kgb_err *err)
{
	KGB_VEC_FOREACH(run, &runs->list) {
		const char *of_run = gpu_of_run(run);
		join->has_offline = join->has_offline || run->is_offline;
		KGB_VEC_FOREACH(op, &run->ops) {
			const char *gpu = op->gpu ? op->gpu : of_run;
			if (!gpu || !is_judged(op))
				continue;
			KGB_VEC_ADD(&join->verdicts,
				    (struct verdict){op, place_of(&join->gpus, gpu)});
		}
	}
	if (join->gpus.n > MOST_GPUS)
		return kgb_fail(err, KGB_ERR_INVALID, "the runs have %zu GPUs, %d at most",
				join->gpus.n, MOST_GPUS);
	return 0;
}

/* ---- kernels ---- */

static int compare_words(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

/** 0: the same kernel, judged by the same specification. */
static int by_kernel(const void *a, const void *b)
{
	const struct kgb_op_row *x = ((const struct verdict *)a)->row,
				*y = ((const struct verdict *)b)->row;
	const int op = compare_words(x->name, y->name);
	const int kernel = op ? op : compare_words(x->kernel_sha256, y->kernel_sha256);
	return kernel ? kernel : compare_words(x->spec_sha256, y->spec_sha256);
}

static int by_spread(const void *a, const void *b)
{
	const struct kernel *x = a, *y = b;
	const double of_x = isnan(x->spread) ? 0 : x->spread,
		     of_y = isnan(y->spread) ? 0 : y->spread;
	if (of_x != of_y)
		return of_x > of_y ? -1 : 1;
	return compare_words(x->row->name, y->row->name);
}

static void add_verdict(struct cell *cell, const struct kgb_op_row *row)
{
	cell->n_judged++;
	cell->n_passed += row->is_correct;
	if (!row->is_correct)
		cell->status = row->status;
	if (!(row->speedup > 0))
		return;
	cell->n_timed++;
	cell->sum_of_logs += log(row->speedup);
}

/** The geometric mean of the verdicts. */
static double speedup_of(const struct cell *cell)
{
	return cell->n_timed > 0 ? exp(cell->sum_of_logs / (double)cell->n_timed) : (double)NAN;
}

static double spread_of(const struct kernel *kernel)
{
	double least = (double)INFINITY, most = 0;
	size_t n = 0;
	for (size_t i = 0; i < MOST_GPUS; i++) {
		const double speedup = speedup_of(&kernel->cells[i]);
		if (isnan(speedup))
			continue;
		least = fmin(least, speedup);
		most = fmax(most, speedup);
		n++;
	}
	return n > 1 ? most / least : (double)NAN;
}

static void join_kernels(struct join *join)
{
	struct verdict *all = join->verdicts.items;
	const size_t n = join->verdicts.n;
	if (n > 0)
		qsort(all, n, sizeof(*all), by_kernel);
	for (size_t first = 0, end = 0; first < n; first = end) {
		struct kernel kernel = {.row = all[first].row};
		size_t n_gpus = 0;
		for (; end < n && by_kernel(&all[first], &all[end]) == 0; end++) {
			n_gpus += kernel.cells[all[end].gpu].n_judged == 0;
			add_verdict(&kernel.cells[all[end].gpu], all[end].row);
		}
		kernel.spread = spread_of(&kernel);
		if (n_gpus > 1)
			KGB_VEC_ADD(&join->kernels, kernel);
	}
	if (join->kernels.n > 0)
		qsort(join->kernels.items, join->kernels.n, sizeof(struct kernel), by_spread);
}

/* ---- tables ---- */

static const struct kgb_table_column first_columns[] = {
	{"operator", "operator", NULL},
	{"kernel_sha256", NULL, NULL},
	{"kernel", "kernel", NULL}, /* the beginning of its hash */
	{"spread", "spread", NULL},
};
#define N_FIRST KGB_ARRAY_LEN(first_columns)

static const struct kgb_table_column gpu_columns[] = {
	{"letter", "GPU", NULL},
	{"gpu", "name", NULL},
	{"kernels", "kernels", NULL},
	{"passed", "passed", NULL},
	{"speedup", "speedup", NULL},
	{"against_first", "by that on A", NULL},
	{"low", NULL, NULL},
	{"high", NULL, NULL},
	{"common", "of", NULL},
	{"p_holm", "p", NULL},
	{"detectable", "detects", NULL},
};

/** One column for each GPU follows; its key is the GPU's name. */
static void name_columns(const struct join *join, struct kgb_table *table)
{
	const size_t n = N_FIRST + join->gpus.n;
	struct kgb_table_column *columns = kgb_arena_array(&table->arena, n, sizeof(*columns));
	memcpy(columns, first_columns, sizeof(first_columns));
	for (size_t i = 0; i < join->gpus.n; i++) {
		columns[N_FIRST + i].key = kgb_arena_strdup(&table->arena, join->gpus.items[i]);
		columns[N_FIRST + i].title =
			kgb_arena_printf(&table->arena, "%c", (char)('A' + (int)i));
	}
	table->columns = columns;
	table->n_columns = n;
}

/** The speedup, or the status of a verdict that is not passed. */
static void add_cell(struct kgb_table *table, const struct cell *cell)
{
	const double speedup = speedup_of(cell);
	if (cell->status)
		kgb_table_word(table, cell->status);
	else if (cell->n_judged > 0 && isnan(speedup))
		kgb_table_word(table, "passed");
	else
		kgb_table_speedup(table, speedup);
}

static void add_kernels(const struct join *join, struct kgb_table *table)
{
	name_columns(join, table);
	KGB_VEC_FOREACH(kernel, &join->kernels) {
		kgb_table_word(table, kernel->row->name);
		kgb_table_word(table, kernel->row->kernel_sha256);
		kgb_table_word(table, kgb_arena_strndup(&table->arena, kernel->row->kernel_sha256,
							SHA_SHOWN));
		kgb_table_speedup(table, kernel->spread);
		for (size_t i = 0; i < join->gpus.n; i++)
			add_cell(table, &kernel->cells[i]);
	}
}

/** Speedups of all kernels on one GPU. */
static double *speedups_on(const struct join *join, size_t gpu)
{
	double *speedups = kgb_xcalloc(join->kernels.n + 1, sizeof(*speedups));
	for (size_t i = 0; i < join->kernels.n; i++)
		speedups[i] = speedup_of(&join->kernels.items[i].cells[gpu]);
	return speedups;
}

/** Each GPU against the first, on the kernels that both timed. */
static void compare_with_first(const struct join *join, struct kgb_paired *out)
{
	KGB_AUTO(free) double *first = speedups_on(join, 0);
	double p[MOST_GPUS] = {0};
	for (size_t i = 1; i < join->gpus.n; i++) {
		KGB_AUTO(free) double *other = speedups_on(join, i);
		out[i] = kgb_paired_ratio(other, first, join->kernels.n);
		p[i - 1] = out[i].p;
	}
	kgb_holm(p, join->gpus.n - 1);
	out[0] = (struct kgb_paired){(double)NAN, (double)NAN, (double)NAN,
				     (double)NAN, (double)NAN, 0};
	for (size_t i = 1; i < join->gpus.n; i++)
		out[i].p = out[i].n > 0 ? p[i - 1] : (double)NAN;
}

static void add_gpu(const struct join *join, size_t gpu, const struct kgb_paired *ratio,
		    struct kgb_table *table)
{
	size_t n_kernels = 0, n_passed = 0;
	KGB_AUTO(free) double *speedups = speedups_on(join, gpu);
	const struct kgb_mean mean = kgb_geometric_mean_of_correct(speedups, join->kernels.n);
	const double least =
		exp(kgb_detectable_by_flips(ratio->sd, ratio->n, KGB_POWER, join->gpus.n - 1));
	KGB_VEC_FOREACH(kernel, &join->kernels) {
		const struct cell *cell = &kernel->cells[gpu];
		n_kernels += cell->n_judged > 0;
		n_passed += cell->n_judged > 0 && cell->n_passed == cell->n_judged;
	}
	kgb_table_word(table, (const char[]){(char)('A' + (int)gpu), '\0'});
	kgb_table_word(table, join->gpus.items[gpu]);
	kgb_table_count(table, n_kernels);
	kgb_table_count(table, n_passed);
	kgb_table_speedup(table, mean.value);
	if (isnan(ratio->low))
		kgb_table_speedup(table, ratio->value);
	else
		kgb_table_number(table, ratio->value, "%.2fx [%.2f, %.2f]", ratio->value,
				 ratio->low, ratio->high);
	kgb_table_number(table, ratio->low, "%s", "");
	kgb_table_number(table, ratio->high, "%s", "");
	kgb_table_number(table, gpu > 0 ? (double)ratio->n : (double)NAN, "%zu", ratio->n);
	kgb_table_number(table, ratio->p, "%.2g", ratio->p);
	if (isinf(least))
		kgb_table_number(table, least, "none");
	else
		kgb_table_speedup(table, least);
}

/** The spread of speedups, in words. */
static void add_notes(const struct join *join, struct kgb_strv *notes)
{
	const size_t n = join->kernels.n;
	KGB_AUTO(free) double *spreads = kgb_xcalloc(n + 1, sizeof(*spreads));
	size_t n_split = 0;
	KGB_ASSERT(n > 0);
	for (size_t i = 0; i < n; i++) {
		const struct kernel *kernel = &join->kernels.items[i];
		size_t n_passed = 0, n_failed = 0;
		spreads[i] = kernel->spread;
		for (size_t k = 0; k < join->gpus.n; k++) {
			n_passed += kernel->cells[k].n_judged > 0 && !kernel->cells[k].status;
			n_failed += kernel->cells[k].status != NULL;
		}
		n_split += n_passed > 0 && n_failed > 0;
	}
	const struct kgb_mean mean = kgb_geometric_mean_of_correct(spreads, n);
	if (join->has_offline)
		kgb_strv_addf(notes,
			      "%s: kernels of the built-in script show nothing about a model",
			      KGB_MARK_OFFLINE);
	kgb_strv_addf(notes, "%zu kernels were judged on two GPUs or more", n);
	if (mean.n > 0)
		kgb_strv_addf(
			notes,
			"speedups of a kernel differ by a factor of %.2f (mean of %zu), %.2f at most",
			mean.value, mean.n, join->kernels.items[0].spread);
	if (n_split > 0)
		kgb_strv_addf(notes, "%zu kernels passed on one GPU and not on another", n_split);
}

int kgb_compare_gpus(const struct kgb_runs *runs, struct kgb_sheet *sheet, struct kgb_err *err)
{
	struct join join = {0};
	struct kgb_paired ratios[MOST_GPUS];
	int rc = collect(runs, &join, err);
	if (rc == 0)
		join_kernels(&join);
	if (rc == 0 && join.kernels.n == 0)
		rc = kgb_fail(
			err, KGB_ERR_INVALID,
			"no kernel was judged on two GPUs: on another machine judge those of a "
			"run by `kgb-agent --kernels RUN/kernels`");
	if (rc == 0) {
		*sheet = (struct kgb_sheet){.schema = "kgb.compare_gpus/1",
					    .tables = {{"kernels", {.arena = KGB_ARENA_INIT}},
						       {"gpus", KGB_TABLE(gpu_columns)}}};
		add_notes(&join, &sheet->notes);
		add_kernels(&join, &sheet->tables[0].table);
		compare_with_first(&join, ratios);
		for (size_t i = 0; i < join.gpus.n; i++)
			add_gpu(&join, i, &ratios[i], &sheet->tables[1].table);
	}
	kgb_strv_release(&join.gpus);
	KGB_VEC_RELEASE(&join.verdicts);
	KGB_VEC_RELEASE(&join.kernels);
	return rc;
}
