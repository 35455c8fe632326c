/* SPDX-License-Identifier: MIT */
/** \file
 * Command line parsing from tables: one table of options, one of subcommands; parsing, checks, help
 * and suggestions come from them. Semantics of getopt_long: short options bundle (-vv, -m naive_cc,
 * -mnaive_cc), long options take
 * `--name value` or `--name=value`, options may follow positionals, `--` ends options.
 */
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
	KGB_OPT_INT, /* int64_t, min..max */
	KGB_OPT_DURATION, /* int64_t ms, "20m" */
	KGB_OPT_STRS, /* struct kgb_strv: may be repeated */
};

struct kgb_opt {
	const char *name; /* "device-count"; NULL ends the table */
	char letter; /* 'd', or 0 */
	enum kgb_opt_type type;
	size_t offset; /* in the values struct */
	int64_t min, max; /* INT, DURATION; both 0: no check */
	unsigned commands; /* bit per subcommand that knows it */
	const char *setting; /* key of the setting that it overrides, or NULL */
	const char *arg; /* "NAME" in the help; NULL for FLAG and COUNT */
	const char *doc;
};

struct kgb_subcommand {
	const char *name; /* NULL ends the table */
	unsigned bit;
	const char *positional; /* "[OPERATOR...]" for the usage line; NULL: takes none */
	size_t max_positional; /* SIZE_MAX: any */
	const char *summary;
	const char *help; /* longer text and examples, may be NULL */
};

/** A parsed command line. */
struct kgb_cmdline {
	const struct kgb_subcommand *command;
	bool named; /* the command line names it; else it is the fallback */
	struct kgb_strv positional;
	struct kgb_strv set_names; /* "--method" for each option given, in order (for origins) */
	struct kgb_strv set_keys; /* its setting, "" when none */
	struct kgb_strv set_texts; /* its value as typed, "" for flags */
};
#define KGB_CMDLINE_INIT \
	{                \
		0        \
	}

/** Parse argv[1..]. The first word that is no option selects the subcommand if it is one, else
 * `fallback` is used. Several rows may have one name for different subcommands. `values` receives
 * what the options say. INVALID with the nearest names on anything unknown, missing, surplus or
 * malformed; of *out only `command` is set then, so that the caller can point at its help. */
KGB_MUST_CHECK int kgb_opt_parse(const struct kgb_opt *options,
				 const struct kgb_subcommand *commands, const char *fallback,
				 int argc, char **argv, void *values, struct kgb_cmdline *out,
				 struct kgb_err *err);
void kgb_cmdline_release(struct kgb_cmdline *cmdline);

/** Help for one subcommand. */
void kgb_opt_help(const struct kgb_opt *options, const struct kgb_subcommand *command,
		  const char *program, struct kgb_buf *out);
/** Overview of all subcommands. */
void kgb_opt_overview(const struct kgb_subcommand *commands, const char *program,
		      struct kgb_buf *out);

#endif
