/* SPDX-License-Identifier: MIT */
#include "agent/cli/opt.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"

/** What parsing carries along. */
struct parse {
	const struct kgb_opt *options;
	const struct kgb_subcommand *commands;
	int argc;
	char **argv;
	int next; /* index of the next word */
	int command; /* index of the word that named the subcommand; 0: none did */
	void *values;
	struct kgb_cmdline *out;
	struct kgb_err *err;
};

static bool takes_value(const struct kgb_opt *option)
{
	return option->type != KGB_OPT_FLAG && option->type != KGB_OPT_COUNT;
}

static bool known_to(const struct kgb_opt *option, const struct kgb_subcommand *command)
{
	return (option->commands & command->bit) != 0;
}

static int set_int(const struct kgb_opt *option, const char *text, int64_t *slot,
		   struct kgb_err *err)
{
	bool ranged = option->min != 0 || option->max != 0;
	return kgb_parse_i64(text, ranged ? option->min : INT64_MIN,
			     ranged ? option->max : INT64_MAX, slot, err);
}

static int set_duration(const struct kgb_opt *option, const char *text, int64_t *slot,
			struct kgb_err *err)
{
	int64_t ms = 0;
	if (kgb_parse_duration_ms(text, &ms, err) < 0)
		return -1;
	bool ranged = option->min != 0 || option->max != 0;
	if (ranged && (ms < option->min || ms > option->max))
		return kgb_fail(err, KGB_ERR_INVALID,
				"'%s' is not within %" PRId64 " ms and %" PRId64 " ms", text,
				option->min, option->max);
	*slot = ms;
	return 0;
}

/** Options that override a setting keep their text only: the settings' own table checks it. */
static int store(struct parse *p, const struct kgb_opt *option, const char *shown, const char *text)
{
	void *slot = (char *)p->values + option->offset;
	int rc = 0;
	kgb_strv_add(&p->out->set_names, shown);
	kgb_strv_add(&p->out->set_keys, option->setting ? option->setting : "");
	kgb_strv_add(&p->out->set_texts, text ? text : "");
	if (option->setting)
		return 0;
	switch (option->type) {
	case KGB_OPT_FLAG:
		*(bool *)slot = true;
		break;
	case KGB_OPT_COUNT:
		++*(int *)slot;
		break;
	case KGB_OPT_STR:
		*(const char **)slot = text;
		break;
	case KGB_OPT_INT:
		rc = set_int(option, text, slot, p->err);
		break;
	case KGB_OPT_DURATION:
		rc = set_duration(option, text, slot, p->err);
		break;
	case KGB_OPT_STRS:
		kgb_strv_add(slot, text);
		break;
	}
	return rc < 0 ? kgb_ctx(p->err, "%s", shown) : 0;
}

static int fail_unknown(struct parse *p, const char *word)
{
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;
	KGB_AUTO(buf) struct kgb_buf hint = KGB_BUF_INIT(0);
	for (const struct kgb_opt *o = p->options; o->name; o++)
		if (known_to(o, p->out->command))
			kgb_strv_addf(&names, "--%s", o->name);
	kgb_suggest(&hint, word, (const char *const *)names.items, names.n);
	return kgb_fail(p->err, KGB_ERR_INVALID, "unknown option '%s' of '%s'%s", word,
			p->out->command->name, hint.ptr);
}

/** An option of another subcommand deserves a better answer than "unknown". */
static int fail_misplaced(struct parse *p, const struct kgb_opt *option)
{
	KGB_AUTO(buf) struct kgb_buf owners = KGB_BUF_INIT(0);
	for (const struct kgb_subcommand *c = p->commands; c->name; c++)
		if (known_to(option, c))
			kgb_buf_addf(&owners, "%s'%s'", owners.len > 0 ? ", " : "", c->name);
	return kgb_fail(p->err, KGB_ERR_INVALID, "'--%s' is no option of '%s' (it is one of %s)",
			option->name, p->out->command->name, owners.ptr);
}

/** The value of an option: attached, or the next word. */
static int take_value(struct parse *p, const char *shown, const struct kgb_opt *option,
		      const char *attached, const char **out)
{
	if (attached) {
		*out = attached;
		return 0;
	}
	if (p->next >= p->argc)
		return kgb_fail(p->err, KGB_ERR_INVALID, "'%s' needs a value: %s %s", shown, shown,
				option->arg);
	*out = p->argv[p->next++];
	return 0;
}

/** The row of a long option: the one that the subcommand knows when several have the name. NULL
 * when there is none. `command` NULL: any. */
static const struct kgb_opt *find_long(const struct kgb_opt *options,
				       const struct kgb_subcommand *command, const char *name,
				       size_t len)
{
	const struct kgb_opt *found = NULL;
	for (; options->name; options++) {
		if (strlen(options->name) != len || strncmp(options->name, name, len) != 0)
			continue;
		if (!found || (command && known_to(options, command)))
			found = options;
	}
	return found;
}

static const struct kgb_opt *find_short(const struct kgb_opt *options,
					const struct kgb_subcommand *command, char letter)
{
	const struct kgb_opt *found = NULL;
	for (; options->name; options++)
		if (options->letter == letter &&
		    (!found || (command && known_to(options, command))))
			found = options;
	return found;
}

static int parse_long(struct parse *p, const char *word)
{
	const char *name = word + 2;
	const char *equals = strchr(name, '=');
	size_t len = equals ? (size_t)(equals - name) : strlen(name);
	const struct kgb_opt *option = find_long(p->options, p->out->command, name, len);
	KGB_AUTO(free) char *shown = kgb_xasprintf("--%.*s", (int)len, name);
	if (!option)
		return fail_unknown(p, shown);
	if (!known_to(option, p->out->command))
		return fail_misplaced(p, option);
	const char *value = NULL;
	if (!takes_value(option)) {
		if (equals)
			return kgb_fail(p->err, KGB_ERR_INVALID, "'%s' takes no value", shown);
	} else if (take_value(p, shown, option, equals ? equals + 1 : NULL, &value) < 0) {
		return -1;
	}
	return store(p, option, shown, value);
}

/** "-vv", "-m naive_cc", "-mnaive_cc". */
static int parse_short(struct parse *p, const char *word)
{
	for (const char *letter = word + 1; *letter; letter++) {
		const struct kgb_opt *option = find_short(p->options, p->out->command, *letter);
		char shown[3] = {'-', *letter, '\0'};
		if (!option)
			return fail_unknown(p, shown);
		if (!known_to(option, p->out->command))
			return fail_misplaced(p, option);
		if (!takes_value(option)) {
			if (store(p, option, shown, NULL) < 0)
				return -1;
			continue;
		}
		const char *value = NULL;
		if (take_value(p, shown, option, letter[1] ? letter + 1 : NULL, &value) < 0)
			return -1;
		return store(p, option, shown, value);
	}
	return 0;
}

static int add_positional(struct parse *p, const char *word)
{
	const struct kgb_subcommand *command = p->out->command;
	if (p->out->positional.n >= command->max_positional)
		return kgb_fail(p->err, KGB_ERR_INVALID, "unexpected argument '%s' of '%s'", word,
				command->name);
	kgb_strv_add(&p->out->positional, word);
	return 0;
}

static const struct kgb_subcommand *find_command(const struct kgb_subcommand *commands,
						 const char *name)
{
	while (commands->name && !kgb_str_eq(commands->name, name))
		commands++;
	return commands->name ? commands : NULL;
}

/** Whether an option word is followed by a word that is its value. */
static bool eats_next(const struct kgb_opt *options, const char *word)
{
	const struct kgb_opt *option = NULL;
	if (word[1] == '-')
		return !strchr(word, '=') &&
		       (option = find_long(options, NULL, word + 2, strlen(word + 2))) &&
		       takes_value(option);
	for (const char *letter = word + 1; *letter; letter++) {
		option = find_short(options, NULL, *letter);
		if (option && takes_value(option))
			return !letter[1];
	}
	return false;
}

/** The first word that is no option and no option's value may name the subcommand. */
static void find_command_word(struct parse *p, const char *fallback)
{
	for (int i = 1; i < p->argc && !kgb_str_eq(p->argv[i], "--"); i++) {
		const char *word = p->argv[i];
		if (word[0] == '-' && word[1]) {
			i += eats_next(p->options, word) ? 1 : 0;
			continue;
		}
		p->out->command = find_command(p->commands, word);
		p->command = p->out->command ? i : 0;
		break;
	}
	p->out->named = p->command > 0;
	if (!p->out->named)
		p->out->command = find_command(p->commands, fallback);
	KGB_ASSERT(p->out->command);
}

static int parse_words(struct parse *p)
{
	bool only_positional = false;
	while (p->next < p->argc) {
		if (p->next == p->command) {
			p->next++;
			continue;
		}
		const char *word = p->argv[p->next++];
		int rc = 0;
		if (only_positional || word[0] != '-' || !word[1])
			rc = add_positional(p, word);
		else if (kgb_str_eq(word, "--"))
			only_positional = true;
		else if (word[1] == '-')
			rc = parse_long(p, word);
		else
			rc = parse_short(p, word);
		if (rc < 0)
			return -1;
	}
	return 0;
}

int kgb_opt_parse(const struct kgb_opt *options, const struct kgb_subcommand *commands,
		  const char *fallback, int argc, char **argv, void *values,
		  struct kgb_cmdline *out, struct kgb_err *err)
{
	struct parse p = {.options = options,
			  .commands = commands,
			  .argc = argc,
			  .argv = argv,
			  .next = 1,
			  .values = values,
			  .out = out,
			  .err = err};
	*out = (struct kgb_cmdline)KGB_CMDLINE_INIT;
	find_command_word(&p, fallback);
	if (parse_words(&p) < 0) {
		const struct kgb_subcommand *command = out->command;
		kgb_cmdline_release(out);
		out->command = command;
		return -1;
	}
	return 0;
}

void kgb_cmdline_release(struct kgb_cmdline *cmdline)
{
	kgb_strv_release(&cmdline->positional);
	kgb_strv_release(&cmdline->set_names);
	kgb_strv_release(&cmdline->set_keys);
	kgb_strv_release(&cmdline->set_texts);
	*cmdline = (struct kgb_cmdline)KGB_CMDLINE_INIT;
}

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

void kgb_opt_help(const struct kgb_opt *options, const struct kgb_subcommand *command,
		  const char *program, struct kgb_buf *out)
{
	kgb_buf_addf(out, "usage: %s %s", program, command->name);
	if (command->positional)
		kgb_buf_addf(out, " %s", command->positional);
	kgb_buf_addf(out, " [options]\n\n%s\n", command->summary);
	if (command->help)
		kgb_buf_addf(out, "\n%s", command->help);
	kgb_buf_adds(out, "\noptions:\n");
	for (; options->name; options++) {
		if (!known_to(options, command))
			continue;
		size_t start = out->len;
		if (options->letter)
			kgb_buf_addf(out, "  -%c, --%s", options->letter, options->name);
		else
			kgb_buf_addf(out, "      --%s", options->name);
		if (options->arg)
			kgb_buf_addf(out, " %s", options->arg);
		add_left(out, start);
		add_wrapped(out, options->doc);
	}
}

void kgb_opt_overview(const struct kgb_subcommand *commands, const char *program,
		      struct kgb_buf *out)
{
	kgb_buf_addf(out, "usage: %s [COMMAND] [arguments] [options]\n\ncommands:\n", program);
	for (; commands->name; commands++) {
		size_t start = out->len;
		kgb_buf_addf(out, "  %s", commands->name);
		add_left(out, start);
		add_wrapped(out, commands->summary);
	}
	kgb_buf_addf(out, "\n`%s COMMAND --help` tells more.\n", program);
}
