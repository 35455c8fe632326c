/* SPDX-License-Identifier: MIT */
/** \file
 * The subcommands of kgb-agent, and their shared functions. A subcommand gets the parsed command
 * line with the resolved settings and returns an exit status (enum kgb_exit, or 128 + signal). */
#ifndef KGB_AGENT_CLI_CMD_H
#define KGB_AGENT_CLI_CMD_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/cli/opt.h"
#include "agent/config/config.h"
#include "agent/watch/attempt_limits.h"
#include "base/err.h"
#include "base/faults.h"
#include "base/str.h"
#include "methods/prompt.h"
#include "verify/spec/spec.h"

/** Values of options that are not settings. */
struct kgb_flags {
	const char *config;
	const char *run; /* --run NAME */
	const char *kernels; /* --kernels DIR */
	const char *from_run; /* --from-run NAME */
	const char *op; /* verify --op */
	const char *op_name, *resume_from, *test_type; /* names of KernelGenBench's script */
	const char *seed;
	const char *baseline; /* verify --baseline */
	const char *by, *only; /* analyze; by: compare too */
	const char *output; /* report, export: the file */
	const char *source, *category, *failed_of, *not_in; /* filters of operators */
	const char *older_than; /* runs prune */
	const char *attempt, *sample; /* show: which one */
	struct kgb_strv set; /* --set key=value */
	int verbose;
	const char *effect, *power; /* of power */
	const char *at; /* leaderboard --at */
	bool each; /* compare --each, leaderboard --each */
	bool single_test, debug; /* one operator, or eight, of all */
	bool json, dry_run, skip_gen, skip_verify, quiet, force, help, version, methods, codes,
		schema, example, csv, markdown, once, open;
	bool view_curve, view_failures, view_unsolved, view_rounds, view_anytime, view_attribution,
		view_quality; /* analyze */
};

struct kgb_command;

struct kgb_cli {
	const struct kgb_command *command;
	bool named; /* the command line names the subcommand */
	struct kgb_flags flags;
	struct kgb_strv operators; /* positionals, split at commas (run, list), else as given */
	struct kgb_config config; /* resolved: flags applied */
	char *run_path; /* resume: the run directory; owned */
	char *series_path; /* or that of a series; owned; NULL: none */
	struct kgb_strv series_runs; /* with the paths of its runs */
	const struct kgb_cmdline *line; /* of the options that override settings; borrowed */
	char *data_dir;
	char *bin_dir; /* where kgb-judge, kgb-launch and kgb-verify are: beside this program */
	struct kgb_spec_index index; /* of kgb_cli_index */
	char *indexed; /* owned; the dataset of the index; NULL: not loaded */
};

/** A subcommand: each is defined in a separate file, and listed in main.c. */
struct kgb_command {
	struct kgb_subcommand usage;
	const char *one; /* kind of its positional ("file"), taken literally; NULL: operators, split
			    at commas */
	bool own_config; /* the settings are those of the run that it names */
	/** Add the faults of the names that the user gave; NULL: `run` checks them. */
	void (*check_names)(struct kgb_cli *cli, struct kgb_faults *faults);
	int (*run)(struct kgb_cli *cli);
};
extern const struct kgb_command kgb_run_command, kgb_verify_command, kgb_list_command,
	kgb_dataset_command, kgb_doctor_command, kgb_config_command, kgb_rebuild_command,
	kgb_resume_command, kgb_replay_command, kgb_setup_command, kgb_runs_command,
	kgb_analyze_command, kgb_compare_command, kgb_report_command, kgb_leaderboard_command,
	kgb_power_command, kgb_watch_command, kgb_show_command, kgb_export_command;
extern const struct kgb_syntax kgb_cli_syntax;

/** Remove this action word from the front of the positionals; false: the first word is another
 * one. */
bool kgb_cli_take_action(struct kgb_cli *cli, const char *action);
/** The word by which a command names the run or series at `path`: its name if the command looks for
 * runs in its folder, else its path in quotes; malloc'ed. */
char *kgb_cli_run_word(const struct kgb_cli *cli, const char *path);
/** Print err and return kgb_err_exit. */
int kgb_cli_fail(const struct kgb_err *err, int invalid);
/** Whether the disk is full, or the user's share of it. */
bool kgb_cli_is_full(const struct kgb_err *err);
/** Report a place that cannot be written, with a remedy; `otherwise` is another remedy. Returns
 * -1. */
int kgb_cli_bad_place(const char *place, const char *otherwise, struct kgb_err *err);
/** Print a document to stdout and return exit_code; a full or broken stdout is reported and gives
 * another one (4 when the disk is full); a reader that has gone is no fault. */
int kgb_cli_print(const struct kgb_buf *text, int exit_code);

/** The variables of prompts for these settings on a platform. `versions` (kgb_config_versions) and
 * `target` (struct kgb_devices) may be NULL. All texts are borrowed. */
struct kgb_prompt_vars kgb_cli_prompt_vars(const struct kgb_settings *settings,
					   const char *platform, const char *versions,
					   const char *target);
/** The limits that the settings give each attempt. \param ladder, python borrowed. */
struct kgb_attempt_limits kgb_cli_attempt_limits(const struct kgb_settings *settings,
						 const struct kgb_ladder *ladder,
						 const char *python);

/** Load the initial settings of the run at `path`; those of the command line override them. */
void kgb_cli_own_config(const struct kgb_cli *cli, const char *path, struct kgb_config *out,
			struct kgb_faults *faults);
/** Turn `run --resume-from RUN` into `resume RUN`. INVALID with options of new runs. */
KGB_MUST_CHECK int kgb_cli_resume_from(struct kgb_cli *cli, struct kgb_cmdline *line,
				       struct kgb_err *err);
/** The operators of a dataset, loaded once for a command; *out is borrowed. */
KGB_MUST_CHECK int kgb_cli_index(struct kgb_cli *cli, const char *dataset,
				 const struct kgb_spec_index **out, struct kgb_err *err);
/** Whether the command line selects operators, by words or by filters. */
bool kgb_cli_has_operators(const struct kgb_cli *cli);
/** Whether the user asks for all operators that fit, so that one may be left out. */
bool kgb_cli_is_open(const struct kgb_cli *cli);
/** The operators that the user selects (selection.h; without words and filters the whole dataset),
 * each once, in the order named, as "aten::add". INVALID with the nearest names, also of
 * subcommands when the command line named none. */
KGB_MUST_CHECK int kgb_cli_operators(struct kgb_cli *cli, struct kgb_strv *names,
				     struct kgb_strv *paths, struct kgb_err *err);
/** The same with an error for each unknown name. */
void kgb_cli_find_operators(struct kgb_cli *cli, struct kgb_strv *names, struct kgb_strv *paths,
			    struct kgb_faults *faults);
/** Bytes of a kernel.py that a user names: a regular file of at most KGB_LIMIT_KERNEL bytes, no
 * link, no fifo. */
KGB_MUST_CHECK int kgb_cli_read_kernel(const char *path, struct kgb_buf *out, struct kgb_err *err);

#endif
