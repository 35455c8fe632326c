/* SPDX-License-Identifier: MIT */
#include "agent/run/run_samples.h"

#include <fcntl.h>

#include "agent/store/chains.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/system/fs.h"

/* Operators of --debug. */
#define DEBUG_OPERATORS ((size_t)8)

void kgb_run_plan_count_samples(const struct kgb_run_plan *plan, int *n_samples, int *n_rounds)
{
	if (plan->generate) {
		kgb_config_samples(&plan->cli->config.settings.model, n_samples, n_rounds);
		return;
	}
	*n_samples = kgb_run_log_state(plan->log)->n_samples;
	*n_rounds = kgb_run_log_state(plan->log)->n_rounds;
}

struct kgb_sampling_plan kgb_run_sampling(const struct kgb_settings *settings,
					  enum kgb_protocol protocol, bool is_offline,
					  const struct kgb_chat_texts *texts)
{
	const struct kgb_settings_model *model = &settings->model;
	return (struct kgb_sampling_plan){
		.protocol = protocol,
		.sampling = {.temperature = model->temperature,
			     .top_p = model->top_p,
			     .max_tokens = model->max_output,
			     .seed = kgb_config_seed(settings, is_offline),
			     .effort = model->effort},
		.stream = model->stream && !model->batch,
		.batch = model->batch,
		.batch_poll_ms = model->batch_poll,
		.n_samples = 1,
		.n_rounds = 1,
		.choices = protocol == KGB_PROTOCOL_CHAT ? (int)model->choices : 1,
		.texts = texts,
	};
}

struct kgb_sampling_plan kgb_run_plan_samples(const struct kgb_run_plan *plan)
{
	static const enum kgb_protocol protocols[] = {
		[KGB_MODEL_SERVER_AUTO] = KGB_PROTOCOL_CHAT,
		[KGB_MODEL_SERVER_ANTHROPIC] = KGB_PROTOCOL_ANTHROPIC,
		[KGB_MODEL_SERVER_OPENAI] = KGB_PROTOCOL_CHAT,
		[KGB_MODEL_SERVER_RESPONSES] = KGB_PROTOCOL_RESPONSES,
	};
	const struct kgb_settings_model *model = &plan->cli->config.settings.model;
	int n_samples = 0, n_rounds = 0;
	kgb_run_plan_count_samples(plan, &n_samples, &n_rounds);
	bool is_known = false;
	const enum kgb_model_server server = kgb_config_server(model, &is_known);
	const bool anthropic =
		server == KGB_MODEL_SERVER_AUTO && plan->accounts[KGB_PROVIDER_ANTHROPIC].api_key;
	struct kgb_sampling_plan samples = kgb_run_sampling(
		&plan->cli->config.settings, anthropic ? KGB_PROTOCOL_ANTHROPIC : protocols[server],
		plan->gateway_mode == KGB_GATEWAY_OFFLINE, &plan->texts);
	samples.n_samples = n_samples;
	samples.n_rounds = n_rounds > 0 ? n_rounds : 1;
	samples.only_judge = !plan->generate;
	return samples;
}

bool kgb_run_plan_lacks_verdicts(const struct kgb_op_state *op)
{
	for (size_t i = 0; i < op->n_samples; i++)
		if (!op->samples[i].has_verdict)
			return true;
	return false;
}

bool kgb_run_plan_lacks_samples(const struct kgb_op_state *op, const struct kgb_cli *cli)
{
	int n_samples = 0, n_rounds = 0;
	kgb_config_samples(&cli->config.settings.model, &n_samples, &n_rounds);
	if (op->n_samples > 0 && kgb_op_missing(op, n_samples, n_rounds) > 0)
		return true;
	return !cli->flags.skip_verify && kgb_run_plan_lacks_verdicts(op);
}

/** Keep one of the specs. */
static void keep_only(struct kgb_run_plan *plan, size_t which)
{
	for (size_t i = 0; i < plan->n_specs; i++)
		if (i != which)
			kgb_spec_release(&plan->specs[i]);
	plan->specs[0] = plan->specs[which];
	plan->n_specs = 1;
}

/** Keep n of the specs, spread over all. */
static void keep_spread(struct kgb_run_plan *plan, size_t n)
{
	const size_t n_all = plan->n_specs;
	size_t n_kept = 0;
	for (size_t i = 0; i < n_all; i++) {
		if (i == n_kept * n_all / n && n_kept < n)
			plan->specs[n_kept++] = plan->specs[i];
		else
			kgb_spec_release(&plan->specs[i]);
	}
	plan->n_specs = n_kept;
}

void kgb_run_plan_draw(struct kgb_run_plan *plan)
{
	const struct kgb_flags *flags = &plan->cli->flags;
	uint64_t seed = (uint64_t)plan->cli->config.settings.model.seed;
	KGB_AUTO(buf) struct kgb_buf drawn = KGB_BUF_INIT(0);
	if ((!flags->single_test && !flags->debug) || plan->n_specs == 0)
		return;
	if (plan->cli->config.settings.model.seed < 0)
		kgb_random(&seed, sizeof(seed));
	if (flags->single_test)
		keep_only(plan, seed % plan->n_specs);
	else if (plan->n_specs > DEBUG_OPERATORS)
		keep_spread(plan, DEBUG_OPERATORS);
	for (size_t i = 0; i < plan->n_specs; i++)
		kgb_buf_addf(&drawn, "%s%s", i > 0 ? "," : "", plan->specs[i].name);
	kgb_info("%s: %s", flags->single_test ? "--single-test" : "--debug", drawn.ptr);
}

void kgb_run_plan_note_names(const struct kgb_run_plan *plan)
{
	const struct kgb_config *config = &plan->cli->config;
	bool is_known = false;
	if (!plan->method.program.builtin)
		return;
	(void)kgb_config_server(&config->settings.model, &is_known);
	if (!is_known)
		kgb_info(
			"model.server '%s' is asked as a server that speaks OpenAI's Chat Completions",
			config->settings.model.server);
	if (kgb_str_eq(kgb_config_origin(config, "budget.run_tokens"), "--max-tokens"))
		kgb_warn(
			"--max-tokens limits all tokens of the run; the length of an answer is --max-output (now %lld)",
			(long long)config->settings.model.max_output);
}

/** "prompts/system.md": the copy that a run keeps; malloc'ed. */
static char *copy_name(enum kgb_chat_text text)
{
	return kgb_xasprintf("prompts/%s.md", kgb_chat_text_name(text));
}

/** Read the texts: the copy of a run where `wants` it and there is one, else the file that is
 * given, else the method's. */
static int read_texts(const struct kgb_rundir *dir, const struct kgb_method *method,
		      const bool wants[KGB_N_CHAT_TEXTS], const char *const given[KGB_N_CHAT_TEXTS],
		      struct kgb_chat_texts *out, struct kgb_err *err)
{
	const char *files[KGB_N_CHAT_TEXTS] = {0};
	char *copies[KGB_N_CHAT_TEXTS] = {0};
	for (int i = 0; i < KGB_N_CHAT_TEXTS; i++) {
		KGB_AUTO(free) char *name = copy_name((enum kgb_chat_text)i);
		if (wants[i] && kgb_fs_exists(dir->fd, name))
			copies[i] = kgb_path_join(dir->path, name);
		files[i] = copies[i] ? copies[i] : given[i];
	}
	const int rc = kgb_chat_texts_read(out, method, files, err);
	for (int i = 0; i < KGB_N_CHAT_TEXTS; i++)
		kgb_free(copies[i]);
	return rc;
}

int kgb_run_read_copies(const struct kgb_rundir *dir, const struct kgb_method *method,
			struct kgb_chat_texts *out, struct kgb_err *err)
{
	static const bool wants[KGB_N_CHAT_TEXTS] = {true, true, true};
	static const char *const given[KGB_N_CHAT_TEXTS] = {NULL};
	return read_texts(dir, method, wants, given, out, err);
}

/** Whether a text is the run's copy: the run is resumed, and the command line names no other
 * file. */
static bool wants_copy(const struct kgb_run_plan *plan, enum kgb_chat_text text)
{
	if (!plan->resume && plan->generate)
		return false;
	KGB_AUTO(free) char *key = kgb_xasprintf("prompt.%s", kgb_chat_text_name(text));
	const char *origin = kgb_config_origin(&plan->cli->config, key);
	return kgb_str_eq(origin, "default") || kgb_str_starts(origin, plan->dir.path);
}

int kgb_run_plan_read_texts(struct kgb_run_plan *plan, struct kgb_err *err)
{
	const struct kgb_settings *settings = &plan->cli->config.settings;
	const char *const given[KGB_N_CHAT_TEXTS] = {settings->prompt.system_text,
						     settings->prompt.examples,
						     settings->prompt.reflection};
	bool wants[KGB_N_CHAT_TEXTS];
	if (!plan->method.program.builtin)
		return 0;
	for (int i = 0; i < KGB_N_CHAT_TEXTS; i++)
		wants[i] = wants_copy(plan, (enum kgb_chat_text)i);
	if (read_texts(&plan->dir, &plan->method, wants, given, &plan->texts, err) < 0)
		return -1;
	plan->has_texts = true;
	if (plan->generate && settings->model.reflection && plan->cli->flags.skip_verify)
		return kgb_fail(err, KGB_ERR_INVALID,
				"--reflection shows the model verdicts: leave out --skip-verify");
	if (settings->model.reflection && plan->texts.texts[KGB_CHAT_REFLECTION].len == 0)
		return kgb_fail(
			err, KGB_ERR_INVALID,
			"%s has no text for --reflection: name a file with --set prompt.reflection=FILE",
			plan->method.name);
	return 0;
}

void kgb_run_plan_describe_sampling(struct kgb_run_plan *plan)
{
	if (!plan->has_texts)
		return;
	const struct kgb_sampling_plan samples = kgb_run_plan_samples(plan);
	const struct kgb_question question = {.protocol = samples.protocol,
					      .sampling = samples.sampling};
	KGB_AUTO(buf) struct kgb_buf sent = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf prompts = KGB_BUF_INIT(0);
	kgb_question_write_sent(&question, &sent);
	kgb_chat_texts_describe(&plan->texts, &prompts);
	kgb_free(plan->sampling);
	kgb_free(plan->prompts);
	plan->sampling = kgb_xasprintf("%s %s", kgb_question_path(samples.protocol), sent.ptr);
	plan->prompts = kgb_buf_take(&prompts);
}

/** Check that the prompt of an operator is still the one that its samples answered. */
static int check_prompt(const struct kgb_run_plan *plan, const struct kgb_spec *spec,
			struct kgb_err *err)
{
	const struct kgb_op_state *op = kgb_run_state_op(kgb_run_log_state(plan->log), spec->name);
	const int attempt = op->samples[op->n_samples - 1].attempt;
	const char *was = op->attempts[attempt - 1].prompt_sha256;
	const struct kgb_prompt_vars vars = kgb_cli_prompt_vars(
		&plan->cli->config.settings, kgb_devices_platform(&plan->devices), plan->versions,
		plan->devices.target);
	struct kgb_chat_prompt prompt;
	if (kgb_chat_prompt_render(&prompt, plan->cli->data_dir, &plan->method, &plan->texts, spec,
				   &vars, err) < 0)
		return -1;
	kgb_chat_prompt_release(&prompt);
	if (!was || kgb_str_eq(was, prompt.sha256))
		return 0;
	return kgb_fail(
		err, KGB_ERR_INVALID,
		"run '%s': the prompt of %s is not the one that its %zu samples answered (another version of kgb-agent or of the operator, or another platform): start a new run, or mix them with --force",
		plan->dir.name, spec->name, op->n_samples);
}

int kgb_run_plan_check_samples(const struct kgb_run_plan *plan, struct kgb_err *err)
{
	const struct kgb_run_state *state = kgb_run_log_state(plan->log);
	const bool reflects = plan->cli->config.settings.model.reflection;
	if (!plan->has_texts || state->n_samples == 0)
		return 0;
	if (reflects != (state->n_rounds > 0))
		return kgb_fail(err, KGB_ERR_INVALID,
				"run '%s' has %s: start a new run for %s (model.reflection)",
				plan->dir.name,
				reflects ? "independent samples" : "chains of rounds",
				reflects ? "chains of rounds" : "independent samples");
	for (size_t i = 0; i < plan->n_specs && !plan->cli->flags.force; i++) {
		const struct kgb_op_state *op = kgb_run_state_op(state, plan->specs[i].name);
		if (op && op->n_samples > 0 && check_prompt(plan, &plan->specs[i], err) < 0)
			return -1;
	}
	return 0;
}

int kgb_run_plan_keep_texts(const struct kgb_run_plan *plan, struct kgb_err *err)
{
	if (!plan->has_texts)
		return 0;
	if (kgb_fs_mkdirs(plan->dir.fd, "prompts", 0755, err) < 0)
		return -1;
	for (int i = 0; i < KGB_N_CHAT_TEXTS; i++) {
		const struct kgb_buf *text = &plan->texts.texts[i];
		KGB_AUTO(free) char *name = copy_name((enum kgb_chat_text)i);
		if (text->ptr && text->len > 0 &&
		    kgb_fs_write_atomic(plan->dir.fd, name, text->ptr, text->len, 0644, true, err) <
			    0)
			return -1;
	}
	return 0;
}
