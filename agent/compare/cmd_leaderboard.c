/* SPDX-License-Identifier: MIT */
/** \file
 * `leaderboard`: methods by the operators that they solve, with ties.
 */
#include <math.h>

#include "agent/answers/sheet.h"
#include "agent/compare/board.h"
#include "agent/compare/unlike.h"
#include "agent/report/common.h"

#define RIGHT "Operators solved, %"
#define COST "Speedup over the baseline (geometric means), and the cost of an operator"

static const struct kgb_table_column columns[] = {
	{"rank", "rank", NULL},
	{"rank_best", NULL, NULL},
	{"rank_worst", NULL, NULL},
	{"label", "method", NULL},
	{"method", NULL, NULL},
	{"model", NULL, NULL},
	{"run_names", NULL, NULL},
	{"k", "pass@", NULL},
	{"runs", "runs", RIGHT},
	{"attempts", "attempts", RIGHT},
	{"operators", "of", RIGHT},
	{"correct", "correct", RIGHT},
	{"correct_low", NULL, RIGHT},
	{"correct_high", NULL, RIGHT},
	{"core", "core", RIGHT},
	{"core_low", NULL, RIGHT},
	{"core_high", NULL, RIGHT},
	{"timed", "timed", COST},
	{"speedup_correct", "correct", COST},
	{"speedup_fallback", "failed = 1.0", COST},
	{"tokens", "tokens", COST},
	{"usd", "USD", COST},
	{"agent_seconds", "time", COST},
};
static const struct kgb_table_column pair_columns[] = {
	{"better", "better", NULL},     {"other", "other", NULL},
	{"difference", "points", NULL}, {"low", NULL, NULL},
	{"high", NULL, NULL},           {"p", NULL, NULL},
	{"p_holm", "p", NULL},          {"detectable", "detects", NULL},
	{"verdict", "verdict", NULL},
};

static const char *label_of(const struct kgb_contender *c, struct kgb_arena *arena)
{
	const bool is_offline = c->side->runs.items[0]->is_offline;
	return kgb_arena_printf(arena, "%s%s", is_offline ? KGB_MARK_OFFLINE " " : "",
				c->side->label);
}

static void add_rank(struct kgb_table *table, const struct kgb_rank *rank)
{
	const bool is_tied = rank->best != rank->worst;
	kgb_table_word(table,
		       is_tied ? kgb_arena_printf(&table->arena, "%zu-%zu", rank->best, rank->worst)
			       : kgb_arena_printf(&table->arena, "%zu", rank->best));
	kgb_table_number(table, (double)rank->best, "%s", "");
	kgb_table_number(table, (double)rank->worst, "%s", "");
}

static void add_costs(struct kgb_table *table, const struct kgb_contender *c)
{
	kgb_table_count(table, c->of_correct.n);
	kgb_table_speedup(table, c->of_correct.value);
	kgb_table_speedup(table, c->with_fallback);
	kgb_table_tokens(table, 1000 * c->tokens);
	kgb_table_number(table, c->dollars, "%.3f", c->dollars);
	kgb_table_seconds(table, c->seconds);
}

static void add_row(struct kgb_table *table, const struct kgb_contender *c, size_t n_ops)
{
	const struct kgb_run_row *run = c->side->runs.items[0];
	add_rank(table, &c->rank);
	kgb_table_word(table, label_of(c, &table->arena));
	kgb_table_word(table, run->method);
	kgb_table_word(table, run->model);
	kgb_side_add_runs(c->side, table);
	kgb_table_count(table, c->k);
	kgb_table_count(table, c->side->runs.n);
	kgb_table_count(table, c->side->max_tries);
	kgb_table_count(table, n_ops);
	kgb_table_interval(table, c->correct.value, c->correct.low, c->correct.high);
	kgb_table_interval(table, c->core.value, c->core.low, c->core.high);
	add_costs(table, c);
}

/** "normal_cc", or with several attempts as one "llm pass@5". */
static void add_name(struct kgb_table *table, const struct kgb_contender *c)
{
	kgb_table_word(table, c->k == 1 ? c->side->label
					: kgb_arena_printf(&table->arena, "%s pass@%zu",
							   c->side->label, c->k));
}

static void add_pair(struct kgb_table *table, const struct kgb_board *board,
		     const struct kgb_contest *one)
{
	add_name(table, &board->list.items[one->better]);
	add_name(table, &board->list.items[one->other]);
	if (isnan(one->d.low))
		kgb_table_number(table, one->d.value, "%+.1f", 100 * one->d.value);
	else
		kgb_table_number(table, one->d.value, "%+.1f [%+.1f, %+.1f]", 100 * one->d.value,
				 100 * one->d.low, 100 * one->d.high);
	kgb_table_number(table, one->d.low, "%s", "");
	kgb_table_number(table, one->d.high, "%s", "");
	kgb_table_number(table, one->d.p, "%s", "");
	if (one->p < 1e-3)
		kgb_table_number(table, one->p, "<0.001");
	else
		kgb_table_number(table, one->p, "%.2g", one->p);
	if (one->detectable > 1)
		kgb_table_number(table, one->detectable, "none");
	else
		kgb_table_number(table, one->detectable, "%.1f", 100 * one->detectable);
	kgb_table_word(table, one->is_separated ? "apart" : "tied");
}

/* ---- the command ---- */

static int parse_rows(const char *text, struct kgb_board_rows *out, struct kgb_err *err)
{
	KGB_AUTO(strv) struct kgb_strv words = KGB_STRV_INIT;
	kgb_strv_split(&words, text ? text : "1,5", ',');
	*out = (struct kgb_board_rows){.one_for_repeats = !text};
	for (size_t i = 0; i < words.n; i++) {
		struct kgb_err fault = KGB_ERR_INIT;
		int64_t k = 0;
		if (kgb_parse_i64(words.items[i], 1, 10000, &k, &fault) < 0 ||
		    out->n == KGB_ARRAY_LEN(out->ks))
			return kgb_fail(
				err, KGB_ERR_INVALID,
				"--at '%s': write up to %zu numbers of attempts, such as 1,5", text,
				KGB_ARRAY_LEN(out->ks));
		out->ks[out->n++] = (size_t)k;
	}
	return 0;
}

static void add_board(const struct kgb_sides *sides, const struct kgb_board *board,
		      struct kgb_sheet *sheet)
{
	KGB_VEC_FOREACH(side, &sides->list) {
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		kgb_side_describe(side, &text);
		kgb_strv_addf(&sheet->notes, "%s: %s", side->label, text.ptr);
	}
	if (board->n_left_out > 0)
		kgb_strv_addf(
			&sheet->notes,
			"on the %zu operators that all have; up to %zu of a method are left out",
			board->n_ops, board->n_left_out);
	if (board->contests.n > 0)
		kgb_strv_addf(
			&sheet->notes,
			"a rank is shared unless a test separates methods (sign flips, Holm for %zu pairs)",
			board->contests.n);
	KGB_VEC_FOREACH(contender, &board->list)
		add_row(&sheet->tables[0].table, contender, board->n_ops);
	KGB_VEC_FOREACH(one, &board->contests)
		add_pair(&sheet->tables[1].table, board, one);
}

static int answer(const struct kgb_cli *cli, const struct kgb_runs *runs, struct kgb_sheet *sheet,
		  struct kgb_err *err)
{
	KGB_AUTO(sides) struct kgb_sides sides = {.arena = KGB_ARENA_INIT};
	struct kgb_board board = {0};
	struct kgb_board_rows rows;
	const enum kgb_sides_by by = cli->flags.each ? KGB_SIDES_BY_RUN : KGB_SIDES_BY_METHOD;
	if (parse_rows(cli->flags.at, &rows, err) < 0 || kgb_sides_of(runs, by, &sides, err) < 0 ||
	    kgb_runs_check_alike(runs, cli->flags.force, &sheet->notes, err) < 0)
		return -1;
	const int rc = kgb_board_of(&sides, &rows, &board, err);
	if (rc == 0)
		add_board(&sides, &board, sheet);
	kgb_board_release(&board);
	return rc;
}

static int leaderboard(struct kgb_cli *cli)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(runs) struct kgb_runs runs = {0};
	struct kgb_sheet sheet = {
		.schema = "kgb.leaderboard/1",
		.tables = {{"rows", KGB_TABLE(columns)}, {"pairs", KGB_TABLE(pair_columns)}}};
	int rc = kgb_runs_open(cli, &runs, &err);
	if (rc == 0)
		rc = answer(cli, &runs, &sheet, &err);
	return kgb_sheet_end(cli, &sheet, rc, &err);
}

static const struct kgb_opt options[] = {
	KGB_OPTION_OF_FLAG(
		"at", 0, STR, at, "K,...",
		"rows for the best of K attempts at each operator (default: 1, and 5 of a bare model)"),
	KGB_OPTION_OF_FLAG("each", 0, FLAG, each, NULL, "rank each run, also repeats of a method"),
	KGB_OPTION_OF_FLAG(
		"force", 0, FLAG, force, NULL,
		"rank runs that measure different things, with a note that names the differences"),
	KGB_OPTIONS_OF_FORMATS,
	KGB_OPTION_RUNS_DIR,
	{0},
};

static const char help[] =
	"Ranks methods by the share of operators that they solve, on the operators that all have. Runs of one method are its\n"
	"repeats; the samples of a bare model are its attempts, and it has a second row for the best of five. Two methods\n"
	"share a rank unless a test separates them: a rank 1-3 is shared by three (docs/statistics.md). Runs with other\n"
	"specifications, GPUs, baselines or budgets, or of which one is offline, are refused. Without RUN: the latest series.\n"
	"\n"
	"examples:\n"
	"  kgb-agent leaderboard results/\n"
	"  kgb-agent leaderboard 'llm_*' 'normal_cc_*' --at 1,2,10 --markdown\n"
	"\n"
	"exit status: 0, 2 usage, a file that cannot be read, or runs that cannot be compared\n";

const struct kgb_command kgb_leaderboard_command = {
	.usage = {.name = "leaderboard",
		  .positional = "[RUN...]",
		  .max_positional = SIZE_MAX,
		  .summary = "Rank methods, with ties where no test separates them",
		  .help = help,
		  .options = options},
	.one = "run",
	.run = leaderboard,
};
