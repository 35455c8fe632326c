/* SPDX-License-Identifier: MIT */
/** \file
 * Help and man page from the tables of opt.h.
 */
#include <ctype.h>
#include <string.h>

#include "agent/cli/opt.h"

/* ---- help ---- */

#define HELP_COLUMN 28
#define HELP_WIDTH 100

/** Words wrapped to HELP_WIDTH, continued at HELP_COLUMN. */
static void add_wrapped(struct kgb_buf *out, const char *text)
{
	size_t column = HELP_COLUMN;
	bool first = true;
	while (*text) {
		size_t len = strcspn(text, " ");
		if (!first && column + 1 + len > HELP_WIDTH) {
			kgb_buf_addf(out, "\n%*s", HELP_COLUMN, "");
			column = HELP_COLUMN;
		} else if (!first) {
			kgb_buf_addc(out, ' ');
			column++;
		}
		kgb_buf_add(out, text, len);
		column += len;
		first = false;
		text += len;
		text += strspn(text, " ");
	}
	kgb_buf_addc(out, '\n');
}

static void add_left(struct kgb_buf *out, size_t start)
{
	size_t used = out->len - start;
	if (used + 2 > HELP_COLUMN)
		kgb_buf_addf(out, "\n%*s", HELP_COLUMN, "");
	else
		kgb_buf_addf(out, "%*s", (int)(HELP_COLUMN - used), "");
}

static void add_option(struct kgb_buf *out, const struct kgb_opt *option)
{
	size_t start = out->len;
	if (option->letter)
		kgb_buf_addf(out, "  -%c, --%s", option->letter, option->name);
	else
		kgb_buf_addf(out, "      --%s", option->name);
	if (option->arg)
		kgb_buf_addf(out, " %s", option->arg);
	add_left(out, start);
	add_wrapped(out, option->doc);
}

void kgb_opt_help(const struct kgb_syntax *syntax, const struct kgb_subcommand *command,
		  struct kgb_buf *out)
{
	kgb_buf_addf(out, "usage: %s %s", syntax->program, command->name);
	if (command->positional)
		kgb_buf_addf(out, " %s", command->positional);
	kgb_buf_addf(out, " [options]\n\n%s\n", command->summary);
	if (command->help)
		kgb_buf_addf(out, "\n%s", command->help);
	kgb_buf_adds(out, "\noptions:\n");
	for (const struct kgb_opt *o = command->options; o->name; o++)
		add_option(out, o);
	for (const struct kgb_opt *o = syntax->common; o->name; o++)
		add_option(out, o);
}

void kgb_opt_overview(const struct kgb_syntax *syntax, struct kgb_buf *out)
{
	kgb_buf_addf(out, "usage: %s [COMMAND] [arguments] [options]\n\ncommands:\n",
		     syntax->program);
	for (const struct kgb_subcommand *const *c = syntax->commands; *c; c++) {
		size_t start = out->len;
		kgb_buf_addf(out, "  %s", (*c)->name);
		add_left(out, start);
		add_wrapped(out, (*c)->summary);
	}
	kgb_buf_addf(out, "\n`%s COMMAND --help` describes one.\n", syntax->program);
}

/* ---- man page ---- */

/* Text for man(7): backslashes and leading dots and quotes mean something there, and a hyphen that
 * is to be typed is written as \-. */
static void add_roff(struct kgb_buf *out, const char *text)
{
	bool at_start = true;

	for (; *text; text++) {
		if (at_start && (*text == '.' || *text == '\''))
			kgb_buf_adds(out, "\\&");
		if (*text == '\\')
			kgb_buf_adds(out, "\\e");
		else if (*text == '-')
			kgb_buf_adds(out, "\\-");
		else
			kgb_buf_addc(out, *text);
		at_start = *text == '\n';
	}
}

static void add_upper(struct kgb_buf *out, const char *word)
{
	for (; *word; word++)
		kgb_buf_addc(out, (char)toupper((unsigned char)*word));
}

static void add_man_options(struct kgb_buf *out, const struct kgb_opt *options)
{
	for (; options->name; options++) {
		kgb_buf_adds(out, ".TP\n\\fB");
		if (options->letter)
			kgb_buf_addf(out, "\\-%c\\fR, \\fB", options->letter);
		kgb_buf_adds(out, "\\-\\-");
		add_roff(out, options->name);
		kgb_buf_adds(out, "\\fR");
		if (options->arg) {
			kgb_buf_adds(out, " \\fI");
			add_roff(out, options->arg);
			kgb_buf_adds(out, "\\fR");
		}
		kgb_buf_addc(out, '\n');
		add_roff(out, options->doc);
		kgb_buf_addc(out, '\n');
	}
}

void kgb_opt_man(const struct kgb_syntax *syntax, const char *version, const char *summary,
		 const char *more, struct kgb_buf *out)
{
	kgb_buf_adds(out, ".\\\" Made from the tables of commands and options.\n.TH ");
	add_upper(out, syntax->program);
	kgb_buf_addf(out, " 1 \"\" \"%s %s\"\n.SH NAME\n", syntax->program, version);
	add_roff(out, syntax->program);
	kgb_buf_addf(out, " \\- %s\n.SH SYNOPSIS\n.B ", summary);
	add_roff(out, syntax->program);
	kgb_buf_adds(out,
		     "\n[\\fICOMMAND\\fR] [\\fIarguments\\fR] [\\fIoptions\\fR]\n.SH COMMANDS\n");
	for (const struct kgb_subcommand *const *c = syntax->commands; *c; c++) {
		kgb_buf_addf(out, ".SS %s", (*c)->name);
		if ((*c)->positional) {
			kgb_buf_addc(out, ' ');
			add_roff(out, (*c)->positional);
		}
		kgb_buf_addc(out, '\n');
		add_roff(out, (*c)->summary);
		kgb_buf_adds(out, ".\n");
		if ((*c)->help) {
			kgb_buf_adds(out, ".PP\n.nf\n");
			add_roff(out, (*c)->help);
			kgb_buf_adds(out, ".fi\n");
		}
		add_man_options(out, (*c)->options);
	}
	kgb_buf_adds(out, ".SH OPTIONS\nof every command:\n");
	add_man_options(out, syntax->common);
	kgb_buf_adds(out, more);
}
