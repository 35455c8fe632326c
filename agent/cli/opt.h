/* SPDX-License-Identifier: MIT */
/** \file
 * Command line parsing from tables: options of one subcommand, and options that all share. Parsing,
 * checks, help, suggestions, the man page and completion come from these rows. Semantics of
 * getopt_long: short options bundle (-vv, -m naive_cc, -mnaive_cc), long options take `--name
 * value` or `--name=value`, options may follow positionals, `--` ends options. */
#ifndef KGB_AGENT_CLI_OPT_H
#define KGB_AGENT_CLI_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum kgb_opt_type {
	KGB_OPT_FLAG, /* bool */
	KGB_OPT_COUNT, /* int: how often it was given */
	KGB_OPT_STR, /* const char *, borrowed from argv */
	KGB_OPT_STRS, /* struct kgb_strv: may be repeated */
};

struct kgb_opt {
	const char *name; /* "device-count"; NULL ends the table */
	char letter; /* 'd', or 0 */
	enum kgb_opt_type type;
	size_t offset; /* in the values struct */
	const char *setting; /* key of the setting that it overrides, or NULL */
	const char *arg; /* "NAME" in the help; NULL for FLAG and COUNT */
	const char *doc;
};

struct kgb_subcommand {
	const char *name;
	const char *positional; /* "[OPERATOR...]" for the usage line; NULL: takes none */
	size_t max_positional; /* SIZE_MAX: any */
	const char *summary;
	const char *help; /* longer text and examples, may be NULL */
	const struct kgb_opt *options; /* its own */
};

/** A name that users bring from elsewhere, and its replacement here. */
struct kgb_foreign {
	const char *name; /* "--name"; NULL ends the table */
	const char *remedy; /* "the dataset is named with --dataset" */
};

/** A program's command line. */
struct kgb_syntax {
	const char *program;
	const struct kgb_subcommand *const *commands; /* NULL ends the list */
	const struct kgb_opt *common; /* options of every subcommand */
	const struct kgb_foreign *foreign; /* NULL: none */
	const char *fallback; /* name of the subcommand when the line names none */
};

/** A parsed command line. */
struct kgb_cmdline {
	const struct kgb_subcommand *command;
	bool named; /* the command line names it; else it is the fallback */
	struct kgb_strv positional;
	struct kgb_strv set_names; /* "--method" for each option given, in order (for origins) */
	struct kgb_strv set_keys; /* its setting, "" when none */
	struct kgb_strv
		set_texts; /* its value as typed; of a flag "true" for its setting, else "" */
};
#define KGB_CMDLINE_INIT \
	{                \
		0        \
	}

/** Parse argv[1..]. The first word that is no option selects the subcommand if it names one, else
 * the fallback is used. `values` receives the options' values. INVALID with the nearest names on
 * anything unknown, missing, surplus or malformed; of *out only `command` is set then, so that the
 * caller can point at its help. */
KGB_MUST_CHECK int kgb_opt_parse(const struct kgb_syntax *syntax, int argc, char **argv,
				 void *values, struct kgb_cmdline *out, struct kgb_err *err);
void kgb_cmdline_release(struct kgb_cmdline *cmdline);

/** The subcommand of that name; NULL: none. */
const struct kgb_subcommand *kgb_opt_command(const struct kgb_syntax *syntax, const char *name);
/** The option of a subcommand, or of all, by its long name of `len` bytes; NULL: none. */
const struct kgb_opt *kgb_opt_find(const struct kgb_syntax *syntax,
				   const struct kgb_subcommand *command, const char *name,
				   size_t len);
/** The same by its letter. */
const struct kgb_opt *kgb_opt_find_letter(const struct kgb_syntax *syntax,
					  const struct kgb_subcommand *command, char letter);
bool kgb_opt_takes_value(const struct kgb_opt *option);

/** Help for one subcommand. */
void kgb_opt_help(const struct kgb_syntax *syntax, const struct kgb_subcommand *command,
		  struct kgb_buf *out);
/** Overview of all subcommands. */
void kgb_opt_overview(const struct kgb_syntax *syntax, struct kgb_buf *out);
/** Source of the man page, section 1: subcommands, options, then `more` (man(7) source, may be "").
 */
void kgb_opt_man(const struct kgb_syntax *syntax, const char *version, const char *summary,
		 const char *more, struct kgb_buf *out);

#endif
