/* SPDX-License-Identifier: MIT */
/** \file
 * Shared by the commands that answer questions about runs: options, reading runs, printing
 * tables. */
#ifndef KGB_AGENT_ANSWERS_SHEET_H
#define KGB_AGENT_ANSWERS_SHEET_H

#include "agent/answers/runs.h"
#include "agent/cli/shared_options.h"
#include "agent/report/tabular.h"

#define KGB_OPTIONS_OF_FORMATS                                           \
	KGB_OPTION_OF_FLAG("csv", 0, FLAG, csv, NULL,                    \
			   "print one table as comma-separated values"), \
		KGB_OPTION_OF_FLAG("markdown", 0, FLAG, markdown, NULL, "print Markdown tables")

#define KGB_SHEET_TABLES 10

/** What a command prints. */
struct kgb_sheet {
	const char *schema; /* "kgb.analyze/1" */
	struct kgb_strv notes; /* lines for people before the tables, which JSON has too */
	struct {
		const char
			*member; /* of the JSON document, that has the rows; NULL ends the list */
		struct kgb_table
			table; /* text for people omits one without rows; CSV has only the first */
	} tables[KGB_SHEET_TABLES + 1];
};

/** INVALID with two of --json, --csv and --markdown. */
KGB_MUST_CHECK int kgb_sheet_check_form(const struct kgb_cli *cli, struct kgb_err *err);
/** Read the runs that the command line names. */
KGB_MUST_CHECK int kgb_runs_open(struct kgb_cli *cli, struct kgb_runs *out, struct kgb_err *err);
/** Print it in the form that the command line asks for; returns the exit status. */
int kgb_sheet_print(const struct kgb_cli *cli, const struct kgb_sheet *sheet);
void kgb_sheet_release(struct kgb_sheet *sheet);
/** End a command: print the sheet, or with `rc` < 0 the error; releases it and returns the exit
 * status. */
int kgb_sheet_end(const struct kgb_cli *cli, struct kgb_sheet *sheet, int rc,
		  const struct kgb_err *err);

#endif
