/* SPDX-License-Identifier: MIT */
#include "agent/compare/unlike.h"

#include <fcntl.h>

#include "base/formats/json.h"
#include "base/formats/yaml.h"
#include "base/system/fs.h"

#define CONFIG_NAME "config.yaml"

/* Limits on the spending of an attempt, an operator or a run. */
static const char *const budgets[] = {
	"limits.attempt_timeout", "limits.verify_calls",   "run.max_attempts",
	"run.iterations",         "budget.attempt_tokens", "budget.attempt_usd",
	"budget.operator_tokens", "budget.operator_usd",   "budget.operator_time",
	"budget.run_tokens",      "budget.run_usd",        "budget.run_time",
};

static bool differ(const char *a, const char *b)
{
	return a && b && !kgb_str_eq(a, b);
}

static void add_once(struct kgb_strv *reasons, char *take_reason)
{
	if (!kgb_strv_has(reasons, take_reason))
		kgb_strv_add(reasons, take_reason);
	kgb_free(take_reason);
}

static void compare_operators(const struct kgb_run_row *a, const struct kgb_run_row *b,
			      struct kgb_strv *reasons)
{
	size_t n_specs = 0, n_gpus = 0, n_baselines = 0, n_precisions = 0;
	for (size_t i = 0; i < a->ops.n; i++) {
		const struct kgb_op_row *x = &a->ops.items[i];
		const struct kgb_op_row *y = kgb_run_row_find(b, x->name, i);
		n_specs += y && differ(x->spec_sha256, y->spec_sha256);
		n_gpus += y && differ(x->gpu, y->gpu);
		n_baselines += y && differ(x->baseline, y->baseline);
		n_precisions += y && differ(x->timing_precision, y->timing_precision);
	}
	if (n_specs > 0)
		add_once(reasons,
			 kgb_xasprintf("%zu operators have another specification", n_specs));
	if (n_gpus > 0)
		add_once(reasons, kgb_xasprintf("%zu operators were timed on another GPU", n_gpus));
	if (n_baselines > 0)
		add_once(reasons,
			 kgb_xasprintf("%zu operators have another baseline", n_baselines));
	if (n_precisions > 0)
		add_once(reasons, kgb_xasprintf("%zu operators were timed with another precision",
						n_precisions));
}

/** The settings of a run. Runs of other makers have none. */
static int read_config(const struct kgb_run_row *run, struct kgb_yaml *out, struct kgb_err *err)
{
	KGB_AUTO(free) char *path = kgb_path_join(run->path, CONFIG_NAME);
	return kgb_fs_exists(AT_FDCWD, path) ? kgb_yaml_read(AT_FDCWD, path, out, err) : 0;
}

/** The value as text. */
static const char *text_of(const struct kgb_yaml *config, const char *key)
{
	const cJSON *node = kgb_json_get(config->root, key);
	return node ? node->valuestring : NULL;
}

static int compare_budgets(const struct kgb_yaml *a, const struct kgb_run_row *b_run,
			   struct kgb_strv *reasons, struct kgb_err *err)
{
	KGB_AUTO(yaml) struct kgb_yaml b = KGB_YAML_INIT;
	if (read_config(b_run, &b, err) < 0)
		return -1;
	for (size_t i = 0; i < KGB_ARRAY_LEN(budgets); i++) {
		const char *of_a = text_of(a, budgets[i]), *of_b = text_of(&b, budgets[i]);
		if (differ(of_a, of_b))
			add_once(reasons, kgb_xasprintf("%s is %s and %s", budgets[i], of_a, of_b));
	}
	return 0;
}

int kgb_runs_find_unlike(const struct kgb_runs *runs, struct kgb_strv *reasons, struct kgb_err *err)
{
	const struct kgb_run_row *first = &runs->list.items[0];
	KGB_AUTO(yaml) struct kgb_yaml config = KGB_YAML_INIT;
	if (read_config(first, &config, err) < 0)
		return -1;
	KGB_VEC_FOREACH(run, &runs->list) {
		if (first->is_offline != run->is_offline)
			add_once(reasons, kgb_xstrdup("one run is offline, which shows nothing "
						      "about a model"));
		if (differ(first->platform, run->platform))
			add_once(reasons, kgb_xasprintf("judged on %s and %s", first->platform,
							run->platform));
		compare_operators(first, run, reasons);
		if (compare_budgets(&config, run, reasons, err) < 0)
			return -1;
	}
	return 0;
}

int kgb_runs_check_alike(const struct kgb_runs *runs, bool force, struct kgb_strv *notes,
			 struct kgb_err *err)
{
	KGB_AUTO(strv) struct kgb_strv reasons = KGB_STRV_INIT;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	if (kgb_runs_find_unlike(runs, &reasons, err) < 0)
		return -1;
	for (size_t i = 0; i < reasons.n; i++)
		kgb_buf_addf(&text, "%s%s", i > 0 ? "; " : "", reasons.items[i]);
	if (reasons.n > 0 && !force)
		return kgb_fail(err, KGB_ERR_INVALID,
				"the runs measure different things: %s; --force compares them",
				text.ptr);
	if (reasons.n > 0)
		kgb_strv_addf(notes, "FORCED, the runs measure different things: %s", text.ptr);
	return 0;
}
