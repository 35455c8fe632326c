/* SPDX-License-Identifier: MIT */
#include "agent/run/run_plan.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "agent/cli/program_probe.h"
#include "agent/doctor/checks.h"
#include "agent/run/run_samples.h"
#include "agent/run/run_specs.h"
#include "agent/store/journal.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/system/fs.h"
#include "base/time.h"
#include "sandbox/offline/offline.h"

void kgb_run_plan_release(struct kgb_run_plan *plan)
{
	if (plan->log)
		kgb_run_log_close(plan->log);
	kgb_rundir_release(&plan->dir);
	kgb_free(plan->sampling);
	kgb_free(plan->prompts);
	if (plan->is_copy)
		return;
	kgb_specs_free(plan->specs, plan->n_specs);
	if (plan->has_method)
		kgb_method_release(&plan->method);
	kgb_prices_free(plan->prices);
	kgb_rundir_release(&plan->from);
	kgb_run_state_release(&plan->origin);
	if (plan->has_texts)
		kgb_chat_texts_release(&plan->texts);
	kgb_free(plan->start_dir);
	kgb_free(plan->endpoint);
	kgb_free(plan->cli_path);
	kgb_free(plan->python);
	kgb_free(plan->versions);
}

struct kgb_maker kgb_run_plan_maker(const struct kgb_run_plan *plan)
{
	bool live = plan->gateway_mode == KGB_GATEWAY_LIVE;
	if (!plan->generate) {
		const struct kgb_maker maker = kgb_run_maker(&plan->origin);
		return (struct kgb_maker){.method = KGB_METHOD_KERNELS,
					  .gateway_mode = maker.gateway_mode,
					  .model = maker.model,
					  .endpoint = maker.endpoint};
	}
	return (struct kgb_maker){.method = plan->method.name,
				  .gateway_mode = kgb_gateway_mode_name(plan->gateway_mode),
				  .model = plan->model,
				  .endpoint = live ? plan->endpoint : NULL,
				  .sampling = plan->sampling,
				  .prompts = plan->prompts};
}

static int load_specs(struct kgb_run_plan *plan, const struct kgb_strv *paths, struct kgb_err *err)
{
	plan->specs = kgb_xcalloc(paths->n + 1, sizeof(*plan->specs));
	for (; plan->n_specs < paths->n; plan->n_specs++)
		if (kgb_spec_load(paths->items[plan->n_specs], &plan->specs[plan->n_specs], err) <
		    0)
			return -1;
	return 0;
}

/** The operators that the user named, or all of the dataset. */
int kgb_run_plan_operators(struct kgb_run_plan *plan, struct kgb_err *err)
{
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;
	KGB_AUTO(strv) struct kgb_strv paths = KGB_STRV_INIT;
	if (kgb_cli_operators(plan->cli, &names, &paths, err) < 0)
		return -1;
	return load_specs(plan, &paths, err);
}

/** Keys of the providers whose protocols the method's program speaks, and no others. */
static void find_keys(struct kgb_run_plan *plan)
{
	const struct kgb_settings *settings = &plan->cli->config.settings;
	const char *const urls[KGB_N_PROVIDERS] = {
		[KGB_PROVIDER_ANTHROPIC] = settings->gateway.upstream_url,
		[KGB_PROVIDER_OPENAI] = settings->gateway.openai_url,
	};
	unsigned protocols = kgb_program_protocols(&plan->method.program);
	for (int i = 0; i < KGB_N_PROTOCOLS; i++) {
		enum kgb_provider provider = kgb_protocol_provider((enum kgb_protocol)i);
		struct kgb_account_spec *account = &plan->accounts[provider];
		if (!(protocols & KGB_PROTOCOL_BIT((unsigned)i)))
			continue;
		account->url = urls[provider];
		account->api_key =
			kgb_api_key(&settings->gateway, provider, &account->key_is_bearer);
		if (!account->api_key || (plan->endpoint && strstr(plan->endpoint, account->url)))
			continue;
		KGB_AUTO(free) char *others = plan->endpoint;
		plan->endpoint = kgb_xasprintf("%s%s%s", others ? others : "", others ? " " : "",
					       account->url);
	}
}

/** The variables to set for the method's program: "ANTHROPIC_API_KEY". */
static const char *wanted_keys(const struct kgb_run_plan *plan)
{
	enum kgb_protocol protocol = (enum kgb_protocol)plan->method.program.protocol;
	if (protocol == KGB_N_PROTOCOLS)
		return "ANTHROPIC_API_KEY or OPENAI_API_KEY";
	return kgb_provider_key_variable(kgb_protocol_provider(protocol));
}

/** The user's program may send no request at all. */
static bool needs_model(const struct kgb_run_plan *plan)
{
	return plan->method.program.protocol != KGB_N_PROTOCOLS;
}

static bool can_answer(const struct kgb_run_plan *plan, const struct kgb_spec *spec)
{
	return kgb_offline_can_answer(
		&(struct kgb_offline_subject){.data_dir = plan->cli->data_dir,
					      .safe_name = spec->safe_name,
					      .has_gpu = plan->devices.items[0].number >= 0});
}

/** `all` offline means the operators that the offline model has an answer for. */
static void drop_without_answer(struct kgb_run_plan *plan)
{
	KGB_AUTO(buf) struct kgb_buf dropped = KGB_BUF_INIT(0);
	const size_t n_all = plan->n_specs;
	size_t n = 0;
	for (size_t i = 0; i < n_all; i++) {
		if (can_answer(plan, &plan->specs[i])) {
			plan->specs[n++] = plan->specs[i];
			continue;
		}
		kgb_buf_addf(&dropped, "%s%s", dropped.len > 0 ? ", " : "", plan->specs[i].name);
		kgb_spec_release(&plan->specs[i]);
	}
	plan->n_specs = n;
	if (n < n_all)
		kgb_warn(
			"the offline model has kernels for %zu of %zu operators; set %s for the others: %s",
			n, n_all, wanted_keys(plan), dropped.ptr);
}

/** Warn of settings without an effect on this plan. */
static void note_idle_settings(const struct kgb_run_plan *plan)
{
	const struct kgb_config *config = &plan->cli->config;
	const bool offline = plan->gateway_mode == KGB_GATEWAY_OFFLINE;
	const struct {
		const char *key;
		bool is_idle;
		const char *why;
	} rows[] = {
		{"run.iterations", plan->method.loop.iterations == 0, "does not work in rounds"},
		{"model.choices", kgb_run_plan_samples(plan).protocol != KGB_PROTOCOL_CHAT,
		 "is asked in a protocol without n"},
		{"model.samples", !plan->method.program.builtin, "asks no bare model"},
		{"model.reflection", !plan->method.program.builtin, "asks no bare model"},
		{"model.max_rounds", !plan->method.program.builtin, "asks no bare model"},
		{"model.offline", !offline || plan->method.program.builtin,
		 offline ? "always gets the mixture" : "asks a real model"},
		{"budget.run_usd", offline, "costs nothing offline"},
		{"budget.operator_usd", offline, "costs nothing offline"},
		{"budget.attempt_usd", offline, "costs nothing offline"},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		const char *origin = kgb_config_origin(config, rows[i].key);
		/* A resume takes all other settings from the run, which has reported them. */
		const bool is_new = !plan->resume || kgb_str_starts(origin, "--");
		if (rows[i].is_idle && is_new && !kgb_str_eq(origin, "default"))
			kgb_warn("%s (%s) has no effect: %s %s", rows[i].key, origin,
				 plan->method.name, rows[i].why);
	}
}

/** --batch needs a provider that has batches, and one question in each of its requests. */
static int check_batch(const struct kgb_run_plan *plan, bool offline, struct kgb_err *err)
{
	const struct kgb_settings_model *model = &plan->cli->config.settings.model;
	if (!model->batch || !plan->method.program.builtin)
		return 0;
	if (offline)
		return kgb_fail(
			err, KGB_ERR_INVALID,
			"--batch (model.batch) needs a provider, and the offline model has no "
			"batches: set %s or leave out --batch",
			wanted_keys(plan));
	if (model->choices > 1)
		return kgb_fail(
			err, KGB_ERR_INVALID,
			"--batch (model.batch) and --choices %d (model.choices) exclude each "
			"other: a request of a batch asks for one sample; leave one out",
			(int)model->choices);
	if (model->reflection)
		return kgb_fail(err, KGB_ERR_INVALID,
				"--batch (model.batch) and --reflection (model.reflection) exclude "
				"each other: a later round would wait a day for each answer; leave "
				"one out");
	return 0;
}

static int plan_gateway(struct kgb_run_plan *plan, struct kgb_err *err)
{
	const struct kgb_settings *settings = &plan->cli->config.settings;
	find_keys(plan);
	if (settings->gateway.mode == KGB_GATEWAY_CHOICE_LIVE && !plan->endpoint)
		return kgb_fail(err, KGB_ERR_UNAVAILABLE,
				"gateway.mode is live but the key of %s is missing: set %s",
				plan->method.program.title, wanted_keys(plan));
	bool offline = settings->gateway.mode == KGB_GATEWAY_CHOICE_OFFLINE || !plan->endpoint;
	if (check_batch(plan, offline, err) < 0)
		return -1;
	plan->gateway_mode = offline ? KGB_GATEWAY_OFFLINE : KGB_GATEWAY_LIVE;
	if (!needs_model(plan))
		return 0;
	if (offline && !plan->resume && kgb_cli_is_open(plan->cli))
		drop_without_answer(plan);
	for (size_t i = 0; offline && i < plan->n_specs; i++)
		if (!can_answer(plan, &plan->specs[i]))
			return kgb_fail(
				err, KGB_ERR_UNAVAILABLE,
				"the offline model has no kernel for %s: set %s to use a real one",
				plan->specs[i].name, wanted_keys(plan));
	return 0;
}

/** A budget smaller than one request would end each attempt before its first request. */
static int check_budget(const struct kgb_run_plan *plan, struct kgb_err *err)
{
	const struct kgb_settings_budget *budget = &plan->cli->config.settings.budget;
	const bool is_bare = plan->method.program.builtin;
	const int64_t least = is_bare ? plan->cli->config.settings.model.max_output + 1
				      : plan->method.program.least_tokens;
	const struct {
		const char *key;
		int64_t limit;
	} rows[] = {{"budget.run_tokens", budget->run_tokens},
		    {"budget.operator_tokens", budget->operator_tokens},
		    {"budget.attempt_tokens", budget->attempt_tokens}};
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++)
		if (rows[i].limit > 0 && rows[i].limit < least)
			return kgb_fail(
				err, KGB_ERR_INVALID,
				"%s: %s: %" PRId64
				" tokens hold no request of %s, which takes at least %" PRId64
				" with the longest answer: set more, or 0 for no limit%s",
				kgb_config_origin(&plan->cli->config, rows[i].key), rows[i].key,
				rows[i].limit, plan->method.program.title, least,
				is_bare ? "; the length of an answer is --max-output" : "");
	return 0;
}

/** Prices are part of the configuration; a budget in dollars needs the model's price. */
static int plan_prices(struct kgb_run_plan *plan, struct kgb_err *err)
{
	const struct kgb_settings_budget *budget = &plan->cli->config.settings.budget;
	KGB_AUTO(free) char *path = kgb_config_prices(&plan->cli->config);
	if (kgb_prices_load(&plan->prices, path, err) < 0)
		return kgb_ctx(err, "paths.prices");
	bool limited = budget->run_usd > 0 || budget->operator_usd > 0 || budget->attempt_usd > 0;
	if (limited && plan->gateway_mode == KGB_GATEWAY_LIVE &&
	    !kgb_prices_find(plan->prices, plan->model, kgb_wall_ms()))
		return kgb_fail(err, KGB_ERR_INVALID,
				"a budget in dollars needs the price of model '%s': add it to '%s'",
				plan->model, path);
	return 0;
}

/** --kernels DIR: DIR/aten__add.py or DIR/add.py of each operator. */
int kgb_run_plan_find_kernel(const char *dir, const struct kgb_spec *spec, struct kgb_buf *out,
			     struct kgb_err *err)
{
	KGB_AUTO(fd) int fd = -1;
	if (kgb_fs_opendir(AT_FDCWD, dir, &fd, err) < 0)
		return -1;
	KGB_AUTO(free) char *safe_file = kgb_xasprintf("%s.py", spec->safe_name);
	KGB_AUTO(free) char *bare_file = kgb_xasprintf("%s.py", strstr(spec->name, "::") + 2);
	const char *file = kgb_fs_exists(fd, safe_file) ? safe_file : bare_file;
	if (!kgb_fs_exists(fd, file))
		return kgb_fail(err, KGB_ERR_NOT_FOUND,
				"no kernel for %s: '%s' has neither %s nor %s", spec->name, dir,
				safe_file, bare_file);
	return kgb_fs_read_untrusted(fd, file, KGB_LIMIT_KERNEL, out, err) < 0
		       ? kgb_ctx(err, "'%s'", dir)
		       : 0;
}

/** Warn of each Python file in DIR whose name is no operator's: its author expects a verdict. */
static int warn_unknown_kernels(const struct kgb_run_plan *plan, const char *dir,
				struct kgb_err *err)
{
	const struct kgb_spec_index *index = NULL;
	KGB_AUTO(strv) struct kgb_strv files = KGB_STRV_INIT;
	const char *dataset = plan->cli->config.settings.run.dataset;

	if (kgb_fs_list(dir, &files, err) < 0 || kgb_cli_index(plan->cli, dataset, &index, err) < 0)
		return -1;
	for (size_t i = 0; i < files.n; i++) {
		const char *file = files.items[i], *name = NULL, *path = NULL;
		struct kgb_err unknown = KGB_ERR_INIT;
		if (!kgb_str_ends(file, ".py"))
			continue;
		KGB_AUTO(free) char *typed = kgb_xstrndup(file, strlen(file) - strlen(".py"));
		if (kgb_spec_index_find(index, typed, &name, &path, &unknown) < 0)
			kgb_warn("'%s/%s' is not judged: %s", dir, file, unknown.msg);
	}
	return 0;
}

/** Without operators on the command line: those that have a file in DIR. */
static int drop_without_kernel(struct kgb_run_plan *plan, const char *dir, struct kgb_err *err)
{
	size_t n = 0;
	for (size_t i = 0; i < plan->n_specs; i++) {
		struct kgb_err missing = KGB_ERR_INIT;
		KGB_AUTO(buf) struct kgb_buf kernel = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
		if (kgb_run_plan_find_kernel(dir, &plan->specs[i], &kernel, &missing) < 0 &&
		    missing.kind == KGB_ERR_NOT_FOUND) {
			kgb_spec_release(&plan->specs[i]);
			continue;
		}
		plan->specs[n++] = plan->specs[i];
	}
	plan->n_specs = n;
	if (n == 0)
		return kgb_fail(err, KGB_ERR_NOT_FOUND,
				"'%s' holds no kernel of a known operator (NAMESPACE__NAME.py)",
				dir);
	return 0;
}

int kgb_run_plan_kernels(struct kgb_run_plan *plan, const char *dir, struct kgb_err *err)
{
	if (!kgb_cli_has_operators(plan->cli))
		return warn_unknown_kernels(plan, dir, err) < 0
			       ? -1
			       : drop_without_kernel(plan, dir, err);
	for (size_t i = 0; i < plan->n_specs; i++) {
		KGB_AUTO(buf) struct kgb_buf kernel = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
		if (kgb_run_plan_find_kernel(dir, &plan->specs[i], &kernel, err) < 0)
			return -1;
	}
	return 0;
}

int kgb_run_plan_foreign(struct kgb_run_plan *plan, const char *dir, struct kgb_err *err)
{
	static const char folder[] = "/kernels";
	if (kgb_run_plan_kernels(plan, dir, err) < 0)
		return -1;
	KGB_AUTO(free) char *path = kgb_path_real(dir, err);
	if (!path)
		return -1;
	if (!kgb_str_ends(path, folder))
		return 0;
	path[strlen(path) - strlen(folder)] = '\0';
	KGB_AUTO(free) char *journal = kgb_path_join(path, KGB_JOURNAL_NAME);
	if (!kgb_fs_exists(AT_FDCWD, journal))
		return 0;
	return kgb_rundir_open(&plan->from, "", path, KGB_RUNDIR_READ, err) < 0 ||
			       kgb_journal_read(plan->from.fd, kgb_run_state_fold, &plan->origin,
						NULL, err) < 0
		       ? -1
		       : 0;
}

/** --from-run fits the method, and that run has the kernels. */
static int plan_start(struct kgb_run_plan *plan, struct kgb_err *err)
{
	const char *name = plan->cli->flags.from_run;
	const struct kgb_method_loop *loop = &plan->method.loop;
	if (!name && !plan->resume && loop->iterations > 0 &&
	    loop->start == KGB_METHOD_START_FROM_RUN)
		return kgb_fail(
			err, KGB_ERR_INVALID,
			"%s works on the kernels of an earlier run: name that run with --from-run NAME",
			plan->method.name);
	if (!name)
		return 0;
	if (loop->iterations == 0)
		return kgb_fail(
			err, KGB_ERR_INVALID,
			"%s does not begin with a kernel: --from-run is for methods that work in rounds (see docs/methods.md)",
			plan->method.name);
	KGB_AUTO(free) char *runs = kgb_config_runs(&plan->cli->config);
	if (kgb_rundir_open(&plan->from, runs, name, KGB_RUNDIR_READ, err) < 0)
		return -1;
	plan->start_dir = kgb_path_join(plan->from.path, "kernels");
	return kgb_run_plan_kernels(plan, plan->start_dir, err);
}

static int load_method(struct kgb_run_plan *plan, const char *name, struct kgb_err *err)
{
	if (kgb_method_load(plan->cli->data_dir, name, &plan->method, err) < 0)
		return -1;
	plan->has_method = true;
	return 0;
}

int kgb_run_plan_generation(struct kgb_run_plan *plan, struct kgb_err *err)
{
	const struct kgb_config *config = &plan->cli->config;
	if (load_method(plan, config->settings.run.method, err) < 0)
		return -1;
	plan->model =
		*config->settings.model.name ? config->settings.model.name : plan->method.model;
	plan->cli_path = kgb_config_program(config, &plan->method.program);
	return kgb_run_plan_read_texts(plan, err) < 0 ? -1 : plan_start(plan, err);
}

/** Find the method's program and get its version, in a sandbox. */
static int plan_program(struct kgb_run_plan *plan, struct kgb_err *err)
{
	const struct kgb_program *program = &plan->method.program;
	KGB_AUTO(buf) struct kgb_buf untested = KGB_BUF_INIT(0);
	if (kgb_program_probe(program, plan->cli_path, plan->cli->bin_dir, &plan->ladder,
			      plan->cli_version, err) < 0)
		return -1;
	if (kgb_program_untested(program, plan->cli_version, &untested))
		kgb_warn("%s", untested.ptr);
	return 0;
}

/** Work on no more operators at a time than the machine's limits hold. A bare model gets the
 * questions for the first samples of all operators before those for the second; only its judges
 * take room. */
static void fit_room(struct kgb_run_plan *plan)
{
	struct kgb_room room;
	const int64_t n_all = (int64_t)(plan->n_specs * (plan->n_runs > 0 ? plan->n_runs : 1));
	const int64_t wanted = plan->at_a_time < n_all ? plan->at_a_time : n_all;
	kgb_room_find(plan->cli, wanted, &room);
	if (room.fits < wanted) {
		kgb_warn("%d operators at a time instead of %d: %s; for more: %s", (int)room.fits,
			 plan->at_a_time, room.limit, room.remedy);
		plan->at_a_time = (int)room.fits;
	}
	plan->judges = plan->at_a_time;
	if (plan->has_method && plan->method.program.builtin)
		plan->at_a_time = (int)plan->n_specs;
}

/** A resumed run keeps its method, gateway mode, model and endpoint, unless --force. */
static int check_maker(const struct kgb_run_plan *plan, struct kgb_err *err)
{
	const struct kgb_maker was = kgb_run_log_state(plan->log)->maker;
	const struct kgb_maker is = kgb_run_plan_maker(plan);
	KGB_AUTO(buf) struct kgb_buf differences = KGB_BUF_INIT(0);
	const struct {
		const char *what, *was, *is;
	} fields[] = {{"method", was.method, is.method},
		      {"gateway", was.gateway_mode, is.gateway_mode},
		      {"model", was.model, is.model},
		      {"endpoint", was.endpoint, is.endpoint},
		      {"sampling", was.sampling, is.sampling},
		      {"prompts", was.prompts, is.prompts}};

	if (kgb_maker_equal(&was, &is) || plan->cli->flags.force)
		return 0;
	for (size_t i = 0; i < KGB_ARRAY_LEN(fields); i++)
		if (fields[i].was && fields[i].is && !kgb_str_eq(fields[i].was, fields[i].is))
			kgb_buf_addf(&differences, "%s%s was %s and would be %s",
				     differences.len > 0 ? ", " : "", fields[i].what, fields[i].was,
				     fields[i].is);
	const bool goes_live = plan->gateway_mode == KGB_GATEWAY_LIVE &&
			       !kgb_str_eq(was.gateway_mode, is.gateway_mode);
	return kgb_fail(
		err, KGB_ERR_INVALID,
		"run '%s' would mix kernels of two makers: %s; resume it as it was%s, or mark the run as mixed with --force",
		plan->dir.name, differences.ptr, goes_live ? " (--set gateway.mode=offline)" : "");
}

/** Check what this plan needs of the machine. */
int kgb_run_plan_environment(struct kgb_run_plan *plan, struct kgb_err *err)
{
	const struct kgb_settings *settings = &plan->cli->config.settings;
	plan->python = kgb_config_python(&plan->cli->config);
	if (kgb_checks_require(plan->cli, KGB_NEED_ROOM, false, err) < 0)
		return -1;
	if (kgb_devices_find(&plan->devices, settings->run.device, settings->run.device_count,
			     plan->cli->bin_dir, err) < 0 ||
	    kgb_devices_try(&plan->devices, err) < 0)
		return -1;
	if (plan->generate)
		plan->versions = kgb_config_versions(&plan->cli->config);
	/* Named GPUs are all used. */
	plan->at_a_time = (int)settings->run.device_count;
	if ((size_t)plan->at_a_time < plan->devices.n)
		plan->at_a_time = (int)plan->devices.n;
	if (plan->generate && (check_budget(plan, err) < 0 || plan_gateway(plan, err) < 0 ||
			       plan_prices(plan, err) < 0))
		return -1;
	kgb_run_plan_describe_sampling(plan);
	if (plan->resume &&
	    (check_maker(plan, err) < 0 || kgb_run_plan_check_samples(plan, err) < 0))
		return -1;
	if (plan->generate) {
		kgb_run_plan_draw(plan);
		note_idle_settings(plan);
		kgb_run_plan_note_names(plan);
	}
	fit_room(plan);
	const bool has_agent = plan->generate && !plan->method.program.builtin;
	const unsigned isolation = has_agent ? KGB_NEED_ISOLATION : 0;
	if (kgb_checks_require(plan->cli, isolation, false, err) < 0)
		return -1;
	plan->ladder = *kgb_checks_ladder(plan->cli);
	if (has_agent && plan_program(plan, err) < 0)
		return -1;
	const bool verify = !plan->cli->flags.skip_verify;
	const bool judge = verify || (plan->has_method && kgb_method_needs_judge(&plan->method));
	const bool asks = plan->generate && plan->gateway_mode == KGB_GATEWAY_LIVE &&
			  needs_model(plan) && !plan->cli->flags.dry_run;
	const unsigned needs = (judge ? KGB_NEED_SANDBOX : 0U) | (verify ? KGB_NEED_PYTHON : 0U) |
			       (asks ? KGB_NEED_API : 0U);
	return kgb_checks_require(plan->cli, needs, plan->devices.items[0].number >= 0, err);
}

static bool has_kernel(const struct kgb_op_state *op, const void *payload)
{
	const struct kgb_rundir *dir = payload;
	KGB_AUTO(free) char *kernel = kgb_xasprintf("kernels/%s.py", op->safe_name);
	return kgb_fs_exists(dir->fd, kernel);
}

/** --skip-gen: the operators of an earlier run that have a kernel, or those of them that were
 * named; with the method of a bare model, whose samples without a verdict are judged too. */
int kgb_run_plan_earlier(struct kgb_run_plan *plan, struct kgb_err *err)
{
	KGB_AUTO(free) char *runs = kgb_config_runs(&plan->cli->config);
	if (kgb_rundir_open(&plan->dir, runs, plan->cli->flags.run, KGB_RUNDIR_LOCK, err) < 0 ||
	    kgb_run_log_open(&plan->log, &plan->dir, err) < 0)
		return -1;
	const struct kgb_run_state *state = kgb_run_log_state(plan->log);
	if (!state->dataset || !state->maker.method)
		return kgb_fail(err, KGB_ERR_NOT_FOUND,
				"run '%s' ended before it began: its journal is empty",
				plan->dir.name);
	if (state->n_samples > 0 && (load_method(plan, state->maker.method, err) < 0 ||
				     kgb_run_plan_read_texts(plan, err) < 0))
		return -1;
	if (kgb_cli_has_operators(plan->cli)) {
		if (kgb_run_plan_operators(plan, err) < 0)
			return -1;
		for (size_t i = 0; i < plan->n_specs; i++)
			if (!kgb_run_state_op(state, plan->specs[i].name))
				return kgb_fail(err, KGB_ERR_NOT_FOUND,
						"run '%s' has no operator %s", plan->dir.name,
						plan->specs[i].name);
		return 0;
	}
	int rc = kgb_run_specs_load(plan->cli, state, has_kernel, &plan->dir, &plan->specs,
				    &plan->n_specs, err);
	if (rc == 0 && plan->n_specs == 0)
		return kgb_fail(err, KGB_ERR_NOT_FOUND, "run '%s' has no kernels to verify",
				plan->dir.name);
	return rc;
}

/** Whether a resume has work for an operator. A verdict ends the work, and so does an attempt that
 * ended by itself without a kernel. */
static bool is_unfinished(const struct kgb_op_state *op, const void *payload)
{
	const struct kgb_cli *cli = payload;
	const struct kgb_flags *flags = &cli->flags;
	if (kgb_run_plan_lacks_samples(op, cli))
		return true;
	switch (op->status) {
	case KGB_OP_PLANNED:
	case KGB_OP_RUNNING:
	case KGB_OP_RETRYING:
	case KGB_OP_VERIFYING:
	case KGB_OP_BUDGET:
	case KGB_OP_CANCELLED:
	case KGB_OP_INFRA_ERROR:
		return true;
	case KGB_OP_GENERATED:
		return !flags->skip_verify;
	case KGB_OP_PASSED:
	case KGB_OP_FAILED:
	case KGB_OP_REFUSED:
	case KGB_OP_CHEATED:
	case KGB_OP_TIMEOUT:
	case KGB_OP_N_STATUSES:
		return false;
	}
	KGB_UNREACHABLE();
}

int kgb_run_plan_rest(struct kgb_run_plan *plan, struct kgb_err *err)
{
	struct kgb_flags *flags = &plan->cli->flags;
	if (kgb_rundir_open(&plan->dir, "", plan->cli->run_path, KGB_RUNDIR_LOCK, err) < 0 ||
	    kgb_run_log_open(&plan->log, &plan->dir, err) < 0)
		return -1;
	const struct kgb_run_state *state = kgb_run_log_state(plan->log);
	if (!state->dataset || !kgb_run_is_made(state))
		return kgb_fail(err, KGB_ERR_NOT_FOUND, "run '%s' has no agent's work to continue",
				plan->dir.name);
	flags->skip_verify = flags->skip_verify || state->skip_verify;
	return kgb_run_specs_load(plan->cli, state, is_unfinished, plan->cli, &plan->specs,
				  &plan->n_specs, err);
}
