/* SPDX-License-Identifier: MIT */
/** \file
 * kgb-agent: reads the command line and the settings, then hands over to a subcommand.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/cli/cmd.h"
#include "agent/cli/complete.h"
#include "agent/cli/shared_options.h"
#include "agent/config/version.h"
#include "agent/store/rundir.h"
#include "agent/store/series.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/system/fs.h"
#include "base/system/install.h"
#include "base/system/spare_fds.h"

#define PROGRAM "kgb-agent"
/* A higher limit would slow down children that close every possible descriptor. */
#define DESCRIPTORS_MAX 65536

static const struct kgb_opt common_options[] = {
	KGB_OPTION_OF_FLAG(
		"config", 'c', STR, config, "FILE",
		"configuration file (default: $KGB_CONFIG, else config.yaml here, if there is one)"),
	KGB_OPTION_OF_FLAG(
		"set", 0, STRS, set, "KEY=VALUE",
		"override any setting, such as --set limits.call_timeout=10s; may be repeated"),
	KGB_OPTION_OF_FLAG("json", 0, FLAG, json, NULL, "print one JSON document on stdout"),
	KGB_OPTION_OF_FLAG(
		"verbose", 'v', COUNT, verbose, NULL,
		"also report, on a terminal, starts, checks and rounds, and what is refused or ended early; twice: also each model request, judge and step of an attempt, and where errors come from"),
	KGB_OPTION_OF_FLAG("quiet", 'q', FLAG, quiet, NULL, "only warnings and errors on stderr"),
	KGB_OPTION_OF_FLAG("help", 'h', FLAG, help, NULL, "this text"),
	KGB_OPTION_OF_FLAG("version", 'V', FLAG, version, NULL,
			   "versions of kgb-agent and of its libraries"),
	{0},
};

static const struct kgb_subcommand *const commands[] = {
	&kgb_run_command.usage,     &kgb_verify_command.usage,
	&kgb_list_command.usage,    &kgb_dataset_command.usage,
	&kgb_doctor_command.usage,  &kgb_config_command.usage,
	&kgb_runs_command.usage,    &kgb_analyze_command.usage,
	&kgb_compare_command.usage, &kgb_leaderboard_command.usage,
	&kgb_power_command.usage,   &kgb_report_command.usage,
	&kgb_watch_command.usage,   &kgb_show_command.usage,
	&kgb_export_command.usage,  &kgb_rebuild_command.usage,
	&kgb_resume_command.usage,  &kgb_replay_command.usage,
	&kgb_setup_command.usage,   NULL,
};

/* Options of KernelGenBench's scripts without a counterpart. */
static const struct kgb_foreign foreign[] = {
	{"--name", "the dataset is chosen with --dataset"},
	{"--acc-test-func-path",
	 "it had no effect; the tests of an operator are its spec (docs/operator-spec.md)"},
	{"--benchmark-func-path",
	 "it had no effect; what is timed is part of an operator's spec (docs/operator-spec.md)"},
	{"--custom-test-modules",
	 "the tests of an operator are its spec; for others name a folder of data in KGB_DATA_DIR (CONTRIBUTING.md)"},
	{NULL, NULL},
};

const struct kgb_syntax kgb_cli_syntax = {
	.program = PROGRAM,
	.commands = commands,
	.common = common_options,
	.foreign = foreign,
	.fallback = "run",
};

/** Open missing standard descriptors: else the first file to be opened would take their number. */
static void settle_descriptors(void)
{
	int fd = 0;
	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	kgb_close(fd);
	for (int i = 0; i <= STDERR_FILENO; i++)
		fcntl(i, F_SETFD, 0);
	/* Keep descriptors that our caller left open out of the sandboxes. Old kernels lack the
	 * call; then each launcher closes them. */
	if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
		kgb_verbose("descriptors of the caller stay inheritable: %s", strerror(errno));
}

/** Raise the limit on descriptors: the gateway of one attempt alone admits 256 clients. A limit
 * that cannot be read or raised stays. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	rlim_t wanted = limit.rlim_max < DESCRIPTORS_MAX ? limit.rlim_max : DESCRIPTORS_MAX;
	if (limit.rlim_cur >= wanted)
		return;
	limit.rlim_cur = wanted;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		kgb_verbose("the limit of open descriptors stays: %s", strerror(errno));
}

static enum kgb_log_level log_level(const struct kgb_flags *flags)
{
	if (flags->verbose > 0)
		return flags->verbose > 1 ? KGB_LOG_DEBUG : KGB_LOG_VERBOSE;
	return flags->quiet ? KGB_LOG_WARN : KGB_LOG_INFO;
}

static int print_help(const struct kgb_cli *cli)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	if (!cli->named) {
		kgb_opt_overview(&kgb_cli_syntax, &text);
		kgb_buf_addc(&text, '\n');
	}
	kgb_opt_help(&kgb_cli_syntax, &cli->command->usage, &text);
	return kgb_cli_print(&text, KGB_EXIT_OK);
}

static int print_version(const struct kgb_cli *cli)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	if (cli->flags.json)
		kgb_version_json(&text);
	else
		kgb_version_text(&text);
	return kgb_cli_print(&text, KGB_EXIT_OK);
}

/** Warn of each option whose setting a later one gives another value. */
static void note_overridden(const struct kgb_cmdline *line)
{
	for (size_t i = 0; i < line->set_names.n; i++)
		for (size_t k = i + 1; *line->set_keys.items[i] && k < line->set_names.n; k++) {
			if (!kgb_str_eq(line->set_keys.items[i], line->set_keys.items[k]) ||
			    kgb_str_eq(line->set_texts.items[i], line->set_texts.items[k]))
				continue;
			kgb_warn("'%s %s' has no effect: '%s %s' comes after it",
				 line->set_names.items[i], line->set_texts.items[i],
				 line->set_names.items[k], line->set_texts.items[k]);
			break;
		}
}

/** Setting an option after the file finds the file's faults again. */
static void add_fault(struct kgb_faults *faults, const struct kgb_err *err)
{
	KGB_VEC_FOREACH(fault, &faults->list)
		if (kgb_str_eq(fault->msg, err->msg))
			return;
	KGB_VEC_ADD(&faults->list, *err);
}

/** Options that override settings, in the order given: a later one wins. */
static void apply_flags(const struct kgb_cli *cli, struct kgb_config *config,
			struct kgb_faults *faults)
{
	const struct kgb_cmdline *line = cli->line;
	for (size_t i = 0; i < line->set_names.n; i++) {
		struct kgb_err err = KGB_ERR_INIT;
		if (*line->set_keys.items[i] &&
		    kgb_config_set(config, line->set_keys.items[i], line->set_texts.items[i],
				   line->set_names.items[i], &err) < 0)
			add_fault(faults, &err);
	}
	for (size_t i = 0; i < cli->flags.set.n; i++) {
		const char *text = cli->flags.set.items[i];
		const char *equals = strchrnul(text, '=');
		KGB_AUTO(free) char *key = kgb_xstrndup(text, (size_t)(equals - text));
		KGB_AUTO(free) char *origin = kgb_xasprintf("--set %s", key);
		struct kgb_err err = KGB_ERR_INIT;
		if (*equals ? kgb_config_set(config, key, equals + 1, origin, &err) < 0
			    : kgb_fail(&err, KGB_ERR_INVALID, "--set '%s': write KEY=VALUE", text))
			add_fault(faults, &err);
	}
}

/** A file name keeps its commas; operators are split at them. An empty word is a mistake (an unset
 * shell variable) and must not select all operators. */
static void take_positional(struct kgb_cli *cli, const struct kgb_cmdline *line,
			    struct kgb_faults *faults)
{
	const char *what = cli->command->one;
	for (size_t i = 0; i < line->positional.n; i++) {
		const char *word = line->positional.items[i];
		size_t before = cli->operators.n;
		struct kgb_err err = KGB_ERR_INIT;
		if (what && *word)
			kgb_strv_add(&cli->operators, word);
		else if (!what)
			kgb_strv_split(&cli->operators, word, ',');
		if (cli->operators.n > before)
			continue;
		(void)kgb_fail(&err, KGB_ERR_INVALID, "'%s' names no %s", word,
			       what ? what : "operator");
		KGB_VEC_ADD(&faults->list, err);
	}
}

void kgb_cli_own_config(const struct kgb_cli *cli, const char *path, struct kgb_config *out,
			struct kgb_faults *faults)
{
	KGB_AUTO(free) char *file = kgb_path_join(path, "config.yaml");
	kgb_config_collect(out, file, (const char *const *)environ, faults);
	apply_flags(cli, out, faults);
}

/** A resumed run keeps its initial settings: read its file in place of the user's. The runs of a
 * series are read one by one later. */
static void take_own_config(struct kgb_cli *cli, struct kgb_faults *faults)
{
	const char *name = cli->operators.n > 0 ? cli->operators.items[0] : NULL;
	KGB_AUTO(rundir) struct kgb_rundir dir = KGB_RUNDIR_INIT;
	KGB_AUTO(free) char *runs = kgb_config_runs(&cli->config);
	struct kgb_err err = KGB_ERR_INIT;
	if (kgb_series_find(runs, name, &cli->series_path, &cli->series_runs, &err) < 0 ||
	    (!cli->series_path && kgb_rundir_open(&dir, runs, name, KGB_RUNDIR_READ, &err) < 0)) {
		KGB_VEC_ADD(&faults->list, err);
		return;
	}
	if (cli->series_path)
		return;
	cli->run_path = kgb_xstrdup(dir.path);
	kgb_config_release(&cli->config);
	kgb_cli_own_config(cli, cli->run_path, &cli->config, faults);
}

/** Print all faults of settings and names. Returns whether some are of files or variables. */
static bool find_faults(struct kgb_cli *cli, const struct kgb_cmdline *line,
			struct kgb_faults *faults)
{
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT, paths = KGB_STRV_INIT;
	kgb_config_collect(&cli->config, cli->flags.config, (const char *const *)environ, faults);
	const bool in_config = faults->list.n > 0;
	note_overridden(line);
	apply_flags(cli, &cli->config, faults);
	take_positional(cli, line, faults);
	if (cli->flags.op_name)
		kgb_strv_split(&cli->operators, cli->flags.op_name, ',');
	if (cli->command->own_config && faults->list.n == 0)
		take_own_config(cli, faults);
	/* Words before --help that name neither a command nor operators are a mistake. */
	if (cli->flags.help)
		kgb_cli_find_operators(cli, &names, &paths, faults);
	else if (cli->command->check_names)
		cli->command->check_names(cli, faults);
	return in_config;
}

static int dispatch(struct kgb_cli *cli, const struct kgb_cmdline *line)
{
	struct kgb_faults faults = {0};
	cli->data_dir = kgb_install_data();
	cli->bin_dir = kgb_install_programs();
	const bool in_config = find_faults(cli, line, &faults);
	if (faults.list.n == 0)
		return cli->flags.help ? print_help(cli) : cli->command->run(cli);
	KGB_VEC_FOREACH(fault, &faults.list)
		kgb_log_err(fault);
	int exit_code =
		in_config ? KGB_EXIT_CONFIG : kgb_err_exit(faults.list.items, KGB_EXIT_USAGE);
	KGB_VEC_RELEASE(&faults.list);
	return exit_code;
}

/* Commands for shells and packagers, which the help omits. */
static int answer_shell(int argc, char **argv)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	if (kgb_str_eq(argv[1], "__complete"))
		kgb_complete((const char *const *)argv + 2, (size_t)argc - 2, &text);
	else if (kgb_str_eq(argv[1], "__man"))
		kgb_man_page(&text);
	else
		return KGB_EXIT_USAGE;
	return kgb_cli_print(&text, KGB_EXIT_OK);
}

static int run(struct kgb_cli *cli, struct kgb_cmdline *line, int argc, char **argv)
{
	struct kgb_err err = KGB_ERR_INIT;
	if (argc > 1 && kgb_str_starts(argv[1], "__"))
		return answer_shell(argc, argv);
	if (argc < 2) {
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		kgb_opt_overview(&kgb_cli_syntax, &text);
		kgb_buf_adds(&text, "\nexample: kgb-agent add -m normal_cc\n");
		(void)!kgb_fs_write_all(STDERR_FILENO, text.ptr, text.len, NULL);
		return KGB_EXIT_USAGE;
	}
	if (kgb_opt_parse(&kgb_cli_syntax, argc, argv, &cli->flags, line, &err) < 0) {
		kgb_log_err(&err);
		kgb_info("see `%s %s --help`", PROGRAM, line->command->name);
		return KGB_EXIT_USAGE;
	}
	/* The usage of a command is its first member. */
	cli->command = (const struct kgb_command *)line->command;
	if (cli->flags.resume_from && kgb_cli_resume_from(cli, line, &err) < 0)
		return kgb_cli_fail(&err, KGB_EXIT_USAGE);
	cli->named = line->named;
	cli->line = line;
	kgb_log_init(PROGRAM, log_level(&cli->flags));
	if (cli->flags.version)
		return print_version(cli);
	if (cli->flags.help && (cli->named || line->positional.n == 0))
		return print_help(cli);
	return dispatch(cli, line);
}

int main(int argc, char **argv)
{
	settle_descriptors();
	raise_descriptor_limit();
	kgb_spare_fds_hold();
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ,
	       SIG_IGN); /* a file size limit must be an error of write(2), not a fatal signal */
	kgb_log_init(PROGRAM, KGB_LOG_INFO);
	struct kgb_cli cli = {.config = KGB_CONFIG_INIT};
	struct kgb_cmdline line = KGB_CMDLINE_INIT;
	int exit_code = run(&cli, &line, argc, argv);
	kgb_cmdline_release(&line);
	kgb_strv_release(&cli.flags.set);
	kgb_strv_release(&cli.operators);
	kgb_config_release(&cli.config);
	kgb_free(cli.run_path);
	kgb_free(cli.series_path);
	kgb_strv_release(&cli.series_runs);
	kgb_free(cli.data_dir);
	kgb_spec_index_release(&cli.index);
	kgb_free(cli.indexed);
	kgb_free(cli.bin_dir);
	return exit_code;
}
