/* SPDX-License-Identifier: MIT */
#include "agent/run/run_series.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "agent/report/common.h"
#include "agent/report/results.h"
#include "agent/report/tabular.h"
#include "agent/report/terminal.h"
#include "agent/run/run_samples.h"
#include "agent/run/run_stages.h"
#include "agent/store/series.h"
#include "base/formats/jsonw.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/system/fs.h"

/** One run of the series, with separate settings. */
struct member {
	struct kgb_cli cli; /* owns its settings and its index; the rest is the user's */
	char *label; /* owned; the name of its folder */
	struct kgb_run_plan plan;
};

struct series {
	struct kgb_cli *cli;
	char *path; /* owned; NULL: there is no folder */
	KGB_VEC(struct member *) members; /* in the order in which they take turns */
	struct kgb_run_plans plans; /* of the members that have something to do */
};

void kgb_run_series_methods(const struct kgb_cli *cli, struct kgb_strv *methods,
			    struct kgb_faults *faults)
{
	KGB_AUTO(strv) struct kgb_strv words = KGB_STRV_INIT;
	kgb_strv_split(&words, cli->config.settings.run.method, ',');
	for (size_t i = 0; i < words.n; i++) {
		struct kgb_err err = KGB_ERR_INIT;
		struct kgb_method method;
		if (kgb_strv_has(methods, words.items[i]))
			(void)kgb_fail(
				&err, KGB_ERR_INVALID,
				"method '%s' is named twice: for several runs of a method give --repeat N",
				words.items[i]);
		else if (kgb_method_load(cli->data_dir, words.items[i], &method, &err) == 0)
			kgb_method_release(&method);
		if (*err.msg)
			KGB_VEC_ADD(&faults->list, err);
		kgb_strv_add(methods, words.items[i]);
	}
	if (words.n == 0) {
		struct kgb_err none = KGB_ERR_INIT;
		(void)kgb_fail(&none, KGB_ERR_INVALID,
			       "run.method names no method; `kgb-agent list --methods` names them");
		KGB_VEC_ADD(&faults->list, none);
	}
}

bool kgb_run_series_is_asked(const struct kgb_cli *cli)
{
	return cli->config.settings.run.repeats > 1 || strchr(cli->config.settings.run.method, ',');
}

/* ---- members ---- */

static struct member *add_member(struct series *series, const char *label)
{
	struct member *member = kgb_xcalloc(1, sizeof(*member));
	member->label = kgb_xstrdup(label);
	member->cli = *series->cli;
	member->cli.config = (struct kgb_config)KGB_CONFIG_INIT;
	member->cli.index = (struct kgb_spec_index){0};
	member->cli.indexed = NULL;
	member->plan = (struct kgb_run_plan)KGB_RUN_PLAN_INIT;
	member->plan.cli = &member->cli;
	member->plan.generate = true;
	member->plan.label = member->label;
	KGB_VEC_ADD(&series->members, member);
	return member;
}

static void release(struct series *series)
{
	/* Copies borrow from those before them. */
	for (size_t i = series->members.n; i-- > 0;) {
		struct member *member = series->members.items[i];
		kgb_run_plan_release(&member->plan);
		kgb_config_release(&member->cli.config);
		kgb_spec_index_release(&member->cli.index);
		kgb_free(member->cli.indexed);
		kgb_free(member->label);
		kgb_free(member);
	}
	KGB_VEC_RELEASE(&series->members);
	KGB_VEC_RELEASE(&series->plans);
	kgb_free(series->path);
}

/** The settings of a run name its method and its number. */
static int set_method(struct member *member, const struct kgb_config *from, const char *method,
		      int64_t repetition, struct kgb_err *err)
{
	const char *origin = kgb_config_origin(from, "run.method");
	KGB_AUTO(free) char *number = kgb_xasprintf("%" PRId64, repetition);
	kgb_config_copy(&member->cli.config, from);
	return kgb_config_set(&member->cli.config, "run.method", method, origin, err) < 0 ||
			       kgb_config_set(&member->cli.config, "run.repetition", number,
					      "series", err) < 0 ||
			       kgb_config_set(&member->cli.config, "run.repeats", "1", "series",
					      err) < 0
		       ? -1
		       : 0;
}

/** Digits of a number. */
static int digits(int64_t number)
{
	int n = 1;
	for (; number >= 10; number /= 10)
		n++;
	return n;
}

/** One run for each method, then again for each repetition. */
static int add_members(struct series *series, const struct kgb_strv *methods, struct kgb_err *err)
{
	const struct kgb_config *config = &series->cli->config;
	const int64_t n_repeats = config->settings.run.repeats;
	for (int64_t r = 1; r <= n_repeats; r++)
		for (size_t i = 0; i < methods->n; i++) {
			KGB_AUTO(free)
			char *label = kgb_xasprintf("%s-%0*" PRId64, methods->items[i],
						    digits(n_repeats), r);
			if (set_method(add_member(series, label), config, methods->items[i], r,
				       err) < 0)
				return -1;
		}
	return 0;
}

/** A repetition is planned as the first run of its method is. */
static void copy_plan(struct member *member, const struct kgb_run_plan *first)
{
	const struct kgb_run_plan own = member->plan;
	member->plan = *first;
	member->plan.is_copy = true;
	member->plan.cli = own.cli;
	member->plan.label = own.label;
	member->plan.sampling = member->plan.prompts = NULL;
	kgb_run_plan_describe_sampling(&member->plan);
}

/** Refuse a mix of live and offline runs, so that they are not compared by mistake. */
static int check_gateway(const struct series *series, struct kgb_err *err)
{
	const struct kgb_run_plan *first = series->plans.items[0];
	KGB_VEC_FOREACH(plan, &series->plans)
		if ((*plan)->gateway_mode != first->gateway_mode)
			return kgb_fail(
				err, KGB_ERR_INVALID,
				"%s would be %s and %s %s: set the keys of all providers, or --set gateway.mode=offline",
				first->label, kgb_gateway_mode_name(first->gateway_mode),
				(*plan)->label, kgb_gateway_mode_name((*plan)->gateway_mode));
	return 0;
}

static int plan_members(struct series *series, size_t n_methods, struct kgb_err *err)
{
	for (size_t i = 0; i < series->members.n; i++) {
		struct member *member = series->members.items[i];
		struct kgb_run_plan *plan = &member->plan;
		plan->n_runs = series->members.n;
		if (i >= n_methods)
			copy_plan(member, &series->members.items[i % n_methods]->plan);
		else if (kgb_run_plan_operators(plan, err) < 0 ||
			 kgb_run_plan_generation(plan, err) < 0 ||
			 kgb_run_plan_environment(plan, err) < 0)
			return kgb_ctx(err, "%s", plan->label);
		KGB_VEC_ADD(&series->plans, plan);
	}
	KGB_ASSERT(series->plans.n > 0); /* of each method one */
	return check_gateway(series, err);
}

/* ---- the plan, printed ---- */

/** "$5 and 100000 tokens"; "" without a limit. */
static void add_budget(const struct kgb_settings_budget *budget, int64_t n, struct kgb_buf *out)
{
	if (budget->run_usd > 0)
		kgb_buf_addf(out, "$%g", budget->run_usd * (double)n);
	if (budget->run_tokens > 0)
		kgb_buf_addf(out, "%s%" PRId64 " tokens", budget->run_usd > 0 ? " and " : "",
			     budget->run_tokens * n);
}

static void budget_text(const struct series *series, struct kgb_buf *out)
{
	const struct kgb_settings_budget *budget = &series->cli->config.settings.budget;
	const int64_t n = (int64_t)series->members.n;
	if (budget->run_usd <= 0 && budget->run_tokens <= 0) {
		kgb_buf_adds(out, "no budget limits a run (--max-usd, --max-tokens)");
		return;
	}
	kgb_buf_adds(out, "budget of each run: ");
	add_budget(budget, 1, out);
	kgb_buf_addf(out, "; of all %" PRId64 " runs together: ", n);
	add_budget(budget, n, out);
}

static void plan_text(const struct series *series, struct kgb_buf *out)
{
	const struct kgb_run_plan *first = series->plans.items[0];
	const struct kgb_settings *s = &series->cli->config.settings;
	char timeout[32];
	kgb_buf_addf(out,
		     "would make a series of %zu runs, which generate and %sverify %zu operator%s "
		     "of %s each (%s), %d at a time over all runs, up to %s each",
		     series->members.n, series->cli->flags.skip_verify ? "not " : "",
		     first->n_specs, first->n_specs == 1 ? "" : "s", s->run.dataset,
		     kgb_gateway_mode_name(first->gateway_mode), first->judges,
		     kgb_duration_format(s->limits.attempt_timeout, timeout, sizeof(timeout)));
	for (size_t i = 0; i < first->devices.n; i++)
		kgb_buf_addf(out, "%s%s", i == 0 ? ", on " : ", ", first->devices.items[i].name);
	kgb_buf_addc(out, '\n');
	budget_text(series, out);
	kgb_buf_adds(out, "\nruns, in the order of their turns:\n");
	KGB_VEC_FOREACH(plan, &series->plans)
		kgb_buf_addf(out, "  %s (model %s)\n", (*plan)->label, (*plan)->model);
	kgb_buf_adds(out, "operators:\n");
	for (size_t i = 0; i < first->n_specs; i++)
		kgb_buf_addf(out, "  %s\n", first->specs[i].name);
}

static void put_limit(struct kgb_jsonw *w, const char *key, double limit)
{
	kgb_jsonw_key(w, key);
	if (limit > 0)
		kgb_jsonw_num(w, limit);
	else
		kgb_jsonw_null(w);
}

static void plan_json(const struct series *series, struct kgb_buf *out)
{
	const struct kgb_run_plan *first = series->plans.items[0];
	const struct kgb_settings *s = &series->cli->config.settings;
	const double n = (double)series->members.n;
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, out, 2);
	kgb_jsonw_put(&w,
		      "{schema: 'kgb.series_plan/1', verify: %hhd, dataset: %s, gateway: %s, "
		      "device_count: %d, attempt_timeout_ms: %ld, budget: {",
		      (bool)(!series->cli->flags.skip_verify), s->run.dataset,
		      kgb_gateway_mode_name(first->gateway_mode), first->judges,
		      s->limits.attempt_timeout);
	put_limit(&w, "run_usd", s->budget.run_usd);
	put_limit(&w, "run_tokens", (double)s->budget.run_tokens);
	put_limit(&w, "all_usd", s->budget.run_usd * n);
	put_limit(&w, "all_tokens", (double)s->budget.run_tokens * n);
	kgb_jsonw_put(&w, "}, devices: [");
	for (size_t i = 0; i < first->devices.n; i++)
		kgb_jsonw_str(&w, first->devices.items[i].name);
	kgb_jsonw_put(&w, "], runs: [");
	KGB_VEC_FOREACH(plan, &series->plans)
		kgb_jsonw_put(&w, "{run: %s, method: %s, repetition: %ld, model: %s}",
			      (*plan)->label, (*plan)->method.name,
			      (*plan)->cli->config.settings.run.repetition, (*plan)->model);
	kgb_jsonw_put(&w, "], operators: [");
	for (size_t i = 0; i < first->n_specs; i++)
		kgb_jsonw_str(&w, first->specs[i].name);
	kgb_jsonw_put(&w, "]}");
	kgb_buf_addc(out, '\n');
}

static int print_plan(const struct series *series)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	if (series->cli->flags.json)
		plan_json(series, &text);
	else
		plan_text(series, &text);
	return kgb_cli_print(&text, KGB_EXIT_OK);
}

/* ---- the runs, made and driven ---- */

/** Create all folders and journals before the first attempt begins; on failure remove them all. */
static int create(struct series *series, struct kgb_err *err)
{
	KGB_AUTO(free) char *runs_dir = kgb_config_runs(&series->cli->config);
	KGB_AUTO(strv) struct kgb_strv labels = KGB_STRV_INIT;
	int rc = 0;
	KGB_VEC_FOREACH(member, &series->members)
		kgb_strv_add(&labels, (*member)->label);
	if (kgb_series_create(runs_dir, series->cli->config.settings.run.dataset, &labels,
			      &series->path, err) < 0)
		return kgb_cli_bad_place(runs_dir, KGB_RUN_OTHER_PLACE, err);
	KGB_VEC_FOREACH(plan, &series->plans) {
		(*plan)->series = series->path;
		rc = rc < 0 ? rc : kgb_run_create(*plan, (*plan)->method.name, true, err);
	}
	if (rc == 0)
		return 0;
	struct kgb_err left = KGB_ERR_INIT;
	KGB_VEC_FOREACH(plan, &series->plans)
		kgb_rundir_discard(&(*plan)->dir);
	if (kgb_fs_remove_tree(AT_FDCWD, series->path, &left) < 0)
		kgb_warn("the series could not begin, and its folder could not be removed: %s",
			 left.msg);
	return -1;
}

static const struct kgb_table_column columns[] = {
	{"operators", NULL, NULL},
	{"passed", "passed", NULL},
	{"failed", "failed", NULL},
	{"generated", "not judged", NULL},
	{"unfinished", "unfinished", NULL},
	{"usd", "USD", NULL},
	{"state", "state", NULL},
	{"model", "model", NULL},
	{"method", NULL, NULL},
	{"repetition", NULL, NULL},
	{"exit_code", NULL, NULL},
	{"path", NULL, NULL},
	{"run", "run", NULL},
};

static void add_row(struct kgb_table *table, const struct member *member, int exit_code)
{
	const struct kgb_run_state *state = kgb_run_log_state(member->plan.log);
	const struct kgb_maker maker = kgb_run_maker(state);
	struct kgb_run_counts counts;
	struct kgb_spent counting, lost;
	kgb_run_state_count(state, &counts);
	kgb_run_spent(state, &counting, &lost);
	kgb_spent_add(&counting, &lost);
	const bool is_offline = kgb_maker_is_offline(&maker);
	const double usd = is_offline || counting.cost_nanos < 0
				   ? (double)NAN
				   : (double)counting.cost_nanos / 1e9;
	const size_t n_passed = counts.by_status[KGB_OP_PASSED];
	kgb_table_number(table, (double)counts.total, "%zu", counts.total);
	kgb_table_number(table, (double)n_passed, "%zu/%zu", n_passed, counts.total);
	kgb_table_number(table, (double)counts.failed, "%zu", counts.failed);
	const size_t n_left = counts.total - n_passed - counts.failed - counts.generated;
	kgb_table_number(table, (double)counts.generated, "%zu", counts.generated);
	kgb_table_number(table, (double)n_left, "%zu", n_left);
	kgb_table_number(table, usd, "%.2f", usd);
	kgb_table_word(table, state->finished ? kgb_run_end_name(state->end) : "running");
	kgb_table_word(table, is_offline ? KGB_MARK_OFFLINE : state->maker.model);
	kgb_table_word(table, state->maker.method);
	const int64_t repetition = member->cli.config.settings.run.repetition;
	kgb_table_number(table, (double)repetition, "%" PRId64, repetition);
	kgb_table_number(table, exit_code, "%d", exit_code);
	kgb_table_word(table, member->plan.dir.path);
	kgb_table_word(table, member->label);
}

static int print_table(const struct series *series, const struct kgb_table *table, int exit_code)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	if (series->cli->flags.json) {
		struct kgb_jsonw w;
		kgb_jsonw_init(&w, &text, 2);
		kgb_jsonw_put(&w, "{schema: 'kgb.series_results/1', path: %s, exit_code: %d",
			      series->path, exit_code);
		kgb_jsonw_key(&w, "runs");
		kgb_table_json(table, &w);
		kgb_jsonw_object_end(&w);
		kgb_buf_addc(&text, '\n');
	} else {
		kgb_table_text(table, kgb_terminal_width(STDOUT_FILENO), &text);
	}
	return kgb_cli_print(&text, exit_code);
}

/** Print the outcome of a run; nothing for a run without work. */
static const struct kgb_sched_outcome *outcome_of(const struct series *series,
						  const struct kgb_sched_outcome *outcomes,
						  const struct kgb_run_plan *plan)
{
	static const struct kgb_sched_outcome nothing;
	for (size_t i = 0; i < series->plans.n; i++)
		if (series->plans.items[i] == plan)
			return &outcomes[i];
	return &nothing;
}

/** results.json of each run, and one line a run for the user. \param outcomes of the runs that had
 * something to do. */
static int report(const struct series *series, const struct kgb_sched_outcome *outcomes)
{
	struct kgb_table table = KGB_TABLE(columns);
	KGB_AUTO(free) char *name = kgb_cli_run_word(series->cli, series->path);
	const char *reported = NULL;
	int exit_code = 0, signo = 0;
	bool broke_off = false;
	KGB_VEC_FOREACH(member, &series->members) {
		struct kgb_run_plan *plan = &(*member)->plan;
		const struct kgb_sched_outcome *outcome = outcome_of(series, outcomes, plan);
		bool is_written = false;
		/* Report an error that ended all runs only once. */
		if (outcome->fatal && !kgb_str_eq(outcome->err.msg, reported))
			kgb_log_err(&outcome->err);
		reported = outcome->fatal ? outcome->err.msg : reported;
		const int own = kgb_run_conclude(plan, outcome, &is_written);
		signo = outcome->signal ? outcome->signal : signo;
		broke_off = broke_off || outcome->fatal || !is_written;
		exit_code = own > exit_code ? own : exit_code;
		add_row(&table, *member, own);
	}
	exit_code = print_table(series, &table, exit_code);
	kgb_table_release(&table);
	if (signo || broke_off)
		kgb_info("%s continue with: kgb-agent resume %s",
			 signo ? "interrupted;" : "broken off; when that is mended,", name);
	kgb_info("compare the runs with: kgb-agent compare %s", name);
	return signo ? 128 + signo : exit_code;
}

static int drive(const struct series *series)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_sched_outcome *outcomes = kgb_xcalloc(series->plans.n + 1, sizeof(*outcomes));
	KGB_VEC(struct kgb_display_run) runs = {0};
	int exit_code = 0;
	KGB_VEC_FOREACH(member, &series->members)
		KGB_VEC_ADD(&runs, (struct kgb_display_run){(*member)->plan.log, (*member)->label});
	const struct kgb_display_spec shown = {
		.runs = runs.items, .n_runs = runs.n, .series = strrchr(series->path, '/') + 1};
	if (series->plans.n > 0 && kgb_run_drive(&series->plans, &shown, outcomes, &err) < 0 &&
	    !outcomes[0].fatal)
		exit_code = kgb_cli_fail(&err, KGB_EXIT_INTERNAL);
	else
		exit_code = report(series, outcomes);
	KGB_VEC_RELEASE(&runs);
	kgb_free(outcomes);
	return exit_code;
}

static int carry_out(struct series *series)
{
	KGB_AUTO(buf) struct kgb_buf budget = KGB_BUF_INIT(0);
	struct kgb_err err = KGB_ERR_INIT;
	if (create(series, &err) < 0)
		return kgb_cli_fail(&err, KGB_EXIT_INTERNAL);
	budget_text(series, &budget);
	kgb_run_announce_model(series->plans.items[0]);
	kgb_info("series %s: %zu runs of %zu operators, which take turns; %s", series->path,
		 series->members.n, series->plans.items[0]->n_specs, budget.ptr);
	return drive(series);
}

int kgb_run_series(struct kgb_cli *cli)
{
	struct series series = {.cli = cli};
	struct kgb_faults faults = {0};
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(strv) struct kgb_strv methods = KGB_STRV_INIT;
	kgb_run_series_methods(cli, &methods, &faults);
	KGB_ASSERT(faults.list.n == 0); /* the command has looked */
	int exit_code = 0;
	if (add_members(&series, &methods, &err) < 0 || plan_members(&series, methods.n, &err) < 0)
		exit_code = kgb_cli_fail(&err, KGB_EXIT_USAGE);
	else if (cli->flags.dry_run)
		exit_code = print_plan(&series);
	else
		exit_code = carry_out(&series);
	release(&series);
	return exit_code;
}

/* ---- resume ---- */

/** A resumed run keeps its settings. */
static int open_member(struct member *member, char *path, struct kgb_err *err)
{
	struct kgb_faults faults = {0};
	member->cli.run_path = path;
	member->plan.resume = true;
	kgb_cli_own_config(&member->cli, path, &member->cli.config, &faults);
	if (faults.list.n > 0)
		*err = faults.list.items[0];
	const bool is_bad = faults.list.n > 0;
	KGB_VEC_RELEASE(&faults.list);
	return is_bad ? -1 : kgb_run_plan_rest(&member->plan, err);
}

/** Lock all runs before the first one goes on. */
static int reopen(struct series *series, const struct kgb_strv *runs, struct kgb_err *err)
{
	for (size_t i = 0; i < runs->n; i++) {
		struct member *member = add_member(series, strrchr(runs->items[i], '/') + 1);
		if (open_member(member, runs->items[i], err) < 0)
			return -1;
		if (member->plan.n_specs > 0)
			KGB_VEC_ADD(&series->plans, &member->plan);
	}
	KGB_VEC_FOREACH(plan, &series->plans) {
		(*plan)->n_runs = series->plans.n;
		if (kgb_run_plan_generation(*plan, err) < 0 ||
		    kgb_run_plan_environment(*plan, err) < 0)
			return kgb_ctx(err, "%s", (*plan)->label);
	}
	if (series->plans.n > 0 && check_gateway(series, err) < 0)
		return -1;
	KGB_VEC_FOREACH(plan, &series->plans)
		if (kgb_run_create(*plan, (*plan)->method.name, false, err) < 0)
			return -1;
	return 0;
}

int kgb_run_series_resume(struct kgb_cli *cli, const char *path, const struct kgb_strv *runs)
{
	struct series series = {.cli = cli, .path = kgb_xstrdup(path)};
	struct kgb_err err = KGB_ERR_INIT;
	int exit_code = 0;
	if (reopen(&series, runs, &err) < 0) {
		exit_code = kgb_cli_fail(&err, KGB_EXIT_USAGE);
	} else {
		if (series.plans.n > 0)
			kgb_run_announce_model(series.plans.items[0]);
		if (series.plans.n == 0)
			kgb_info("series %s is complete already", path);
		else
			kgb_info("series %s: %zu of %zu runs go on", path, series.plans.n,
				 series.members.n);
		exit_code = drive(&series);
	}
	release(&series);
	return exit_code;
}
