/* SPDX-License-Identifier: MIT */
/** \file
 * `kgb-agent replay [RUN]`: the agents of an earlier run once more, with the real CLI but without a
 * model, a judge and money: the model's answers and the verdicts come from the record. The CLI must
 * leave the same files, byte for byte. The replay is a separate run, below RUN/replays/. */
#include <fcntl.h>
#include <unistd.h>

#include "agent/attempt/attempt.h"
#include "agent/cli/cmd.h"
#include "agent/cli/program_probe.h"
#include "agent/cli/shared_options.h"
#include "agent/doctor/checks.h"
#include "agent/evidence/prune.h"
#include "agent/run/run_samples.h"
#include "agent/run/run_specs.h"
#include "agent/sched/sched.h"
#include "agent/store/chains.h"
#include "base/codes.h"
#include "base/formats/json.h"
#include "base/formats/jsonw.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/system/fs.h"
#include "methods/method.h"
#include "sandbox/client/question.h"

#define MAX_AT_A_TIME 4

struct replay {
	struct kgb_cli *cli;
	struct kgb_rundir source;
	struct kgb_run_state recorded;
	struct kgb_config config; /* the recorded run's */
	struct kgb_method method;
	bool has_method;
	struct kgb_sampling_plan samples; /* of a bare model */
	struct kgb_chat_texts texts; /* its own; owned, if has_texts */
	bool has_texts;
	struct kgb_devices devices;
	struct kgb_ladder ladder;
	char *cli_path, *python; /* owned */
	char cli_version[KGB_VERSION_LEN];
	struct kgb_spec *specs; /* of the operators that an agent worked on */
	size_t n_specs;
	struct kgb_rundir dir;
	struct kgb_run_log *log;
};

static void replay_release(struct replay *r)
{
	if (r->log)
		kgb_run_log_close(r->log);
	kgb_rundir_release(&r->dir);
	kgb_specs_free(r->specs, r->n_specs);
	kgb_free(r->cli_path);
	kgb_free(r->python);
	if (r->has_texts)
		kgb_chat_texts_release(&r->texts);
	if (r->has_method)
		kgb_method_release(&r->method);
	kgb_config_release(&r->config);
	kgb_run_state_release(&r->recorded);
	kgb_rundir_release(&r->source);
}

/* ---- the record ---- */

static int open_source(struct replay *r, struct kgb_err *err)
{
	const char *name = r->cli->operators.n > 0 ? r->cli->operators.items[0] : NULL;
	KGB_AUTO(free) char *runs = kgb_config_runs(&r->cli->config);
	/* Lock the run: the record of a run that goes on is incomplete. */
	if (kgb_rundir_open(&r->source, runs, name, KGB_RUNDIR_LOCK, err) < 0)
		return -1;
	if (kgb_run_is_pruned(r->source.fd))
		return kgb_fail(err, KGB_ERR_INVALID,
				"run '%s' was pruned: its recorded model requests are gone, so it "
				"cannot be replayed",
				r->source.name);
	if (kgb_journal_read(r->source.fd, kgb_run_state_fold, &r->recorded, NULL, err) < 0)
		return kgb_ctx(err, "run '%s'", r->source.name);
	KGB_AUTO(free) char *config = kgb_path_join(r->source.path, "config.yaml");
	return kgb_config_load(&r->config, config, NULL, err);
}

/** Whether the attempt that counts ended: the record of an attempt that was killed with kgb-agent
 * is incomplete. */
static bool was_attempted(const struct kgb_op_state *op, KGB_UNUSED const void *payload)
{
	const struct kgb_attempt_state *attempt = kgb_op_counting_attempt(op);
	if (op->n_samples > 0)
		return true;
	return attempt && attempt->ended_ms >= 0 &&
	       !kgb_str_eq(attempt->error_code, kgb_code_name(KGB_CODE_INFRA_LOST));
}

static int load_specs(struct replay *r, struct kgb_err *err)
{
	int rc = kgb_run_specs_load(r->cli, &r->recorded, was_attempted, NULL, &r->specs,
				    &r->n_specs, err);
	if (rc == 0 && r->n_specs == 0)
		return kgb_fail(err, KGB_ERR_NOT_FOUND, "run '%s' has no agent's work to replay",
				r->source.name);
	for (size_t i = 0; i < r->recorded.n_ops; i++)
		if (r->recorded.ops[i].n_batches > 0)
			return kgb_fail(
				err, KGB_ERR_INVALID,
				"run '%s' cannot be replayed: it used batches, whose record has no "
				"request for each answer",
				r->source.name);
	return rc;
}

/* The prompt names the platform: take the recorded one instead of this machine's. */
static void set_devices(struct replay *r)
{
	bool cpu = kgb_str_eq(r->recorded.platform, "cpu");
	r->devices = (struct kgb_devices){.n = 1};
	r->devices.items[0].number = r->devices.items[0].own = cpu ? -1 : 0;
	snprintf(r->devices.items[0].name, sizeof(r->devices.items[0].name), "%s",
		 cpu ? "cpu" : "cuda:0");
}

/** The protocol of a recorded request: its path in the first record of the attempt. */
static bool find_protocol(const struct replay *r, const char *attempt_rel, int64_t n_requests,
			  enum kgb_protocol *out)
{
	for (int64_t i = 1; i <= n_requests; i++) {
		KGB_AUTO(free)
		char *path =
			kgb_xasprintf("%s/traffic/%04lld.meta.json", attempt_rel, (long long)i);
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_JSON);
		KGB_AUTO(json) cJSON *meta = NULL;
		if (kgb_fs_read(r->source.fd, path, KGB_LIMIT_JSON, &text, NULL) < 0 ||
		    kgb_json_parse(text.ptr, text.len, &meta, NULL) < 0)
			continue;
		for (int protocol = 0; protocol < KGB_N_PROTOCOLS; protocol++) {
			*out = (enum kgb_protocol)protocol;
			if (kgb_str_ends(kgb_json_str(meta, "path", ""), kgb_question_path(*out)))
				return true;
		}
	}
	return false;
}

/** The settings by which the recorded run asked a bare model. */
static int prepare_samples(struct replay *r, struct kgb_err *err)
{
	const bool is_offline = kgb_maker_is_offline(&r->recorded.maker);
	if (r->recorded.n_rounds > 0)
		return kgb_fail(
			err, KGB_ERR_INVALID,
			"run '%s' cannot be replayed: it has chains of rounds, whose checks "
			"are not recorded",
			r->source.name);
	if (kgb_run_read_copies(&r->source, &r->method, &r->texts, err) < 0)
		return -1;
	r->has_texts = true;
	for (size_t i = 0; i < r->recorded.n_ops; i++) {
		const struct kgb_op_state *op = &r->recorded.ops[i];
		for (size_t k = 0; k < op->n_attempts; k++) {
			const struct kgb_totals *totals = &op->attempts[k].gateway;
			enum kgb_protocol protocol;
			if (!find_protocol(r, op->attempts[k].dir,
					   totals->n_exchanges + totals->n_open, &protocol))
				continue;
			r->samples = kgb_run_sampling(&r->config.settings, protocol, is_offline,
						      &r->texts);
			r->samples.n_samples = r->recorded.n_samples;
			return 0;
		}
	}
	return kgb_fail(err, KGB_ERR_NOT_FOUND, "run '%s' has no answers of a model to replay",
			r->source.name);
}

static int prepare(struct replay *r, struct kgb_err *err)
{
	if (open_source(r, err) < 0)
		return -1;
	if (!r->recorded.dataset || !kgb_run_is_made(&r->recorded) || !r->recorded.maker.model)
		return kgb_fail(err, KGB_ERR_NOT_FOUND, "run '%s' has no agent's work to replay",
				r->source.name);
	if (kgb_method_load(r->cli->data_dir, r->recorded.maker.method, &r->method, err) < 0)
		return -1;
	r->has_method = true;
	set_devices(r);
	if (load_specs(r, err) < 0)
		return -1;
	if (r->method.program.builtin)
		return prepare_samples(r, err);
	r->cli_path = kgb_config_program(&r->cli->config, &r->method.program);
	r->python = kgb_config_python(&r->cli->config);
	r->ladder = *kgb_checks_ladder(r->cli);
	if (kgb_checks_require(r->cli, KGB_NEED_ISOLATION, false, err) < 0 ||
	    kgb_program_probe(&r->method.program, r->cli_path, r->cli->bin_dir, &r->ladder,
			      r->cli_version, err) < 0)
		return -1;
	if (r->recorded.cli_version && !kgb_str_eq(r->recorded.cli_version, r->cli_version))
		kgb_warn("recorded with version %s of the CLI, replayed with %s",
			 r->recorded.cli_version, r->cli_version);
	return 0;
}

/* ---- running ---- */

static struct kgb_maker replay_maker(const struct replay *r)
{
	struct kgb_maker maker = r->recorded.maker;
	maker.gateway_mode = kgb_gateway_mode_name(KGB_GATEWAY_REPLAY);
	return maker;
}

static int start_run(struct replay *r, struct kgb_err *err)
{
	KGB_AUTO(free) char *replays = kgb_path_join(r->source.path, "replays");
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_YAML);
	kgb_config_print(&r->config, &text);
	if (kgb_rundir_create(&r->dir, replays, r->recorded.maker.method, r->recorded.dataset,
			      err) < 0 ||
	    kgb_fs_write_atomic(r->dir.fd, "config.yaml", text.ptr, text.len, 0644, true, err) <
		    0 ||
	    kgb_run_log_open(&r->log, &r->dir, err) < 0)
		return kgb_cli_bad_place(replays, "", err);
	const struct kgb_event_run_started started = {
		.run_name = r->dir.name,
		.dataset = r->recorded.dataset,
		.maker = replay_maker(r),
		.cli_name = r->method.cli,
		.cli_version = r->cli_version,
		.isolation = kgb_isolation_level_name(r->ladder.level),
		.platform = r->recorded.platform,
		.device_count = 1,
		.n_samples = r->samples.n_samples,
		.skip_verify = true,
	};
	struct kgb_event_plan_item *items = kgb_xcalloc(r->n_specs + 1, sizeof(*items));
	for (size_t i = 0; i < r->n_specs; i++)
		items[i] = (struct kgb_event_plan_item){r->specs[i].name, r->specs[i].safe_name,
							r->specs[i].sha256, r->specs[i].source,
							r->specs[i].category};
	int rc = kgb_event_run_started(r->log, &started, err);
	if (rc == 0)
		rc = kgb_event_planned(r->log, items, r->n_specs, err);
	kgb_free(items);
	return rc < 0 && kgb_cli_is_full(err) ? kgb_cli_bad_place(replays, "", err) : rc;
}

static int drive(struct replay *r, struct kgb_sched_outcome *outcome, struct kgb_err *err)
{
	const struct kgb_settings *s = &r->config.settings;
	const struct kgb_replay_source source = {.dir = r->source.path, .state = &r->recorded};
	struct kgb_attempt_limits limits = kgb_cli_attempt_limits(s, &r->ladder, r->python);
	limits.watch_files = false; /* the recorded run has reported them */
	struct kgb_sched_item *items = kgb_xcalloc(r->n_specs + 1, sizeof(*items));
	for (size_t i = 0; i < r->n_specs; i++)
		items[i] = (struct kgb_sched_item){.spec = &r->specs[i], .generate = true};
	const struct kgb_sched_run run = {
		.env.log = r->log,
		.env.dir = &r->dir,
		.env.method = &r->method,
		.items = items,
		.n_items = r->n_specs,
		.env.samples = r->method.program.builtin ? &r->samples : NULL,
		.skip_verify = true,
		.env.replay = &source,
		.env.data_dir = r->cli->data_dir,
		.env.bin_dir = r->cli->bin_dir,
		.env.cli_path = r->cli_path,
		.env.maker = replay_maker(r),
		.env.model = r->recorded.maker.model,
		.attempt_timeout_ms = s->limits.attempt_timeout,
		.env.limits = limits,
		.env.prompt = kgb_cli_prompt_vars(s, kgb_devices_platform(&r->devices), NULL,
						  r->devices.target),
		.env.iterations = s->run.iterations,
		.env.max_attempts = 1,
	};
	const struct kgb_display_run shown = {.log = r->log};
	const struct kgb_sched_spec spec = {
		.runs = &run,
		.n_runs = 1,
		.devices = &r->devices,
		.device_count = r->n_specs < MAX_AT_A_TIME ? (int)r->n_specs : MAX_AT_A_TIME,
		.max_questions = (int)s->model.concurrency,
		.display = {.runs = &shown,
			    .n_runs = 1,
			    .style = r->cli->flags.quiet ? KGB_DISPLAY_QUIET : KGB_DISPLAY_AUTO},
		.gateway = {.mode = KGB_GATEWAY_REPLAY},
	};
	int rc = kgb_sched_drive(&spec, outcome, err);
	kgb_free(items);
	return rc;
}

/* ---- comparing ---- */

/* The outcome of one operator. */
struct comparison {
	bool same_kernel, same_checks; /* of a bare model: samples */
	int64_t n_checks, n_recorded_checks;
	int64_t n_misses;
};

/* Whether both exist and are equal, or neither exists. */
static bool same_file(int dir_a, const char *path_a, int dir_b, const char *path_b)
{
	KGB_AUTO(buf) struct kgb_buf a = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
	KGB_AUTO(buf) struct kgb_buf b = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
	bool has_a = kgb_fs_exists(dir_a, path_a), has_b = kgb_fs_exists(dir_b, path_b);
	if (!has_a || !has_b)
		return !has_a && !has_b;
	return kgb_fs_read_untrusted(dir_a, path_a, KGB_LIMIT_KERNEL, &a, NULL) == 0 &&
	       kgb_fs_read_untrusted(dir_b, path_b, KGB_LIMIT_KERNEL, &b, NULL) == 0 &&
	       a.len == b.len && memcmp(a.ptr, b.ptr, a.len) == 0;
}

/** Candidates of the recorded attempt and of the one attempt now, until there is none in either. */
static void compare_checks(const struct replay *r, const char *recorded_rel, const char *now_rel,
			   struct comparison *out)
{
	for (int i = 1;; i++) {
		KGB_AUTO(free)
		char *recorded = kgb_xasprintf("%s/verdicts/%03d.py", recorded_rel, i);
		KGB_AUTO(free) char *now = kgb_xasprintf("%s/verdicts/%03d.py", now_rel, i);
		bool was = kgb_fs_exists(r->source.fd, recorded);
		bool is = kgb_fs_exists(r->dir.fd, now);
		if (!was && !is)
			return;
		out->n_recorded_checks += was;
		out->n_checks += is;
		if (!same_file(r->source.fd, recorded, r->dir.fd, now))
			out->same_checks = false;
	}
}

/** Replies and kernels of a bare model's samples, and how they ended. */
static void compare_samples(const struct replay *r, const struct kgb_op_state *recorded,
			    const struct kgb_op_state *now, struct comparison *out)
{
	out->n_recorded_checks = (int64_t)recorded->n_samples;
	out->n_checks = (int64_t)now->n_samples;
	out->same_checks = recorded->n_samples == now->n_samples;
	for (size_t i = 0; i < recorded->n_samples; i++) {
		const struct kgb_sample *was = &recorded->samples[i];
		const struct kgb_sample *is = kgb_op_sample(now, was->number, 1);
		KGB_AUTO(free)
		char *rel = kgb_rundir_attempt_rel(recorded->safe_name, was->attempt);
		KGB_AUTO(free) char *reply = kgb_xasprintf("%s/samples/%04d.md", rel, was->number);
		if (!is || is->attempt != was->attempt || !kgb_str_eq(is->finish, was->finish) ||
		    !kgb_str_eq(is->kernel_sha256 ? is->kernel_sha256 : "",
				was->kernel_sha256 ? was->kernel_sha256 : "") ||
		    !same_file(r->source.fd, reply, r->dir.fd, reply))
			out->same_checks = false;
	}
}

static void compare(const struct replay *r, const struct kgb_spec *spec, struct comparison *out)
{
	const struct kgb_op_state *op = kgb_run_state_op(kgb_run_log_state(r->log), spec->name);
	const struct kgb_op_state *recorded = kgb_run_state_op(&r->recorded, spec->name);
	KGB_AUTO(free) char *kernel = kgb_xasprintf("kernels/%s.py", spec->safe_name);
	*out = (struct comparison){.same_checks = true};
	out->same_kernel = same_file(r->source.fd, kernel, r->dir.fd, kernel);
	KGB_AUTO(free)
	char *recorded_rel =
		kgb_rundir_attempt_rel(spec->safe_name, kgb_op_counting_attempt(recorded)->number);
	KGB_AUTO(free) char *now_rel = kgb_rundir_attempt_rel(spec->safe_name, 1);
	if (r->method.program.builtin)
		compare_samples(r, recorded, op, out);
	else
		compare_checks(r, recorded_rel, now_rel, out);
	for (size_t i = 0; i < op->n_attempts; i++)
		out->n_misses += op->attempts[i].gateway.n_misses;
}

static bool is_identical(const struct comparison *c)
{
	return c->same_kernel && c->same_checks && c->n_misses == 0;
}

static void add_text(struct kgb_buf *out, const char *name, const struct comparison *c,
		     const char *checks)
{
	kgb_buf_addf(out, "%-24s %s", name, is_identical(c) ? "identical" : "DIFFERS");
	kgb_buf_addf(out, ": kernel %s, %lld of %lld %s %s", c->same_kernel ? "same" : "other",
		     (long long)c->n_checks, (long long)c->n_recorded_checks, checks,
		     c->same_checks ? "same" : "not the same");
	if (c->n_misses > 0)
		kgb_buf_addf(out, ", %lld requests not in the record", (long long)c->n_misses);
	kgb_buf_addc(out, '\n');
}

static void add_json(struct kgb_jsonw *w, const char *name, const struct comparison *c,
		     const char *checks)
{
	KGB_AUTO(free) char *same = kgb_xasprintf("same_%s", checks);
	KGB_AUTO(free) char *recorded = kgb_xasprintf("recorded_%s", checks);
	kgb_jsonw_key(w, name);
	kgb_jsonw_put(w, "{identical: %hhd, same_kernel: %hhd, misses: %ld", is_identical(c),
		      c->same_kernel, c->n_misses);
	kgb_jsonw_key(w, same);
	kgb_jsonw_bool(w, c->same_checks);
	kgb_jsonw_ki64(w, checks, c->n_checks);
	kgb_jsonw_ki64(w, recorded, c->n_recorded_checks);
	kgb_jsonw_object_end(w);
}

static int report(const struct replay *r)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	struct kgb_jsonw w;
	bool json = r->cli->flags.json, identical = true;
	const char *checks = r->method.program.builtin ? "samples" : "checks";
	kgb_jsonw_init(&w, &text, 2);
	if (json) {
		kgb_jsonw_put(&w, "{schema: 'kgb.replay/1', recorded: %s, replay: %s, operators: {",
			      r->source.path, r->dir.path);
	}
	for (size_t i = 0; i < r->n_specs; i++) {
		struct comparison c;
		compare(r, &r->specs[i], &c);
		identical = identical && is_identical(&c);
		if (json)
			add_json(&w, r->specs[i].name, &c, checks);
		else
			add_text(&text, r->specs[i].name, &c, checks);
	}
	if (json) {
		kgb_jsonw_put(&w, "}, identical: %hhd}", identical);
		kgb_buf_addc(&text, '\n');
	}
	return kgb_cli_print(&text, identical ? KGB_EXIT_OK : KGB_EXIT_FAILURES);
}

static int replay(struct replay *r)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_sched_outcome outcome = {0};
	if (prepare(r, &err) < 0)
		return kgb_cli_fail(&err, KGB_EXIT_USAGE);
	if (start_run(r, &err) < 0) {
		kgb_rundir_discard(&r->dir);
		return kgb_cli_fail(&err, KGB_EXIT_INTERNAL);
	}
	kgb_info("replay of %s in %s", r->source.path, r->dir.path);
	if (drive(r, &outcome, &err) < 0)
		return kgb_cli_fail(&err, KGB_EXIT_INTERNAL);
	if (outcome.fatal)
		return kgb_cli_fail(&outcome.err, KGB_EXIT_INTERNAL);
	int exit_code = report(r);
	return outcome.signal ? 128 + outcome.signal : exit_code;
}

static int replay_run(struct kgb_cli *cli)
{
	struct replay r = {.cli = cli,
			   .source = KGB_RUNDIR_INIT,
			   .recorded = KGB_RUN_STATE_INIT,
			   .config = KGB_CONFIG_INIT,
			   .dir = KGB_RUNDIR_INIT};
	int exit_code = replay(&r);
	replay_release(&r);
	return exit_code;
}

static const struct kgb_opt options[] = {
	KGB_OPTION_RUNS_DIR,
	{0},
};

static const char help[] =
	"Runs the coding CLI of an earlier run again, without a model, a judge and money: the model's answers and the\n"
	"verdicts come from the run's record. A request that is not in it is an error that names the nearest one and the\n"
	"difference. A bare model is asked nothing: the questions for its samples are made again and find their answers in the\n"
	"record; replies, kernels and the order of attempts must be the same. Without RUN: the latest. Of each operator the attempt that counts is replayed: the last that left a\n"
	"kernel, else the last. The replay is kept in RUN/replays/.\n"
	"\n"
	"examples:\n"
	"  kgb-agent replay\n"
	"  kgb-agent replay normal_cc_KernelGenBench_20261121T080000Z_0a1b --json\n"
	"\n"
	"exit status: 0 kernels and checked versions are byte for byte as recorded, 1 they are not, 2 there is no such\n"
	"run, 4 this machine lacks something, 75 the run is still going on\n";

const struct kgb_command kgb_replay_command = {
	.usage = {.name = "replay",
		  .positional = "[RUN]",
		  .max_positional = 1,
		  .summary = "Run the agents of an earlier run again from its record",
		  .help = help,
		  .options = options},
	.one = "run",
	.run = replay_run,
};
