/* SPDX-License-Identifier: MIT */
#include "agent/cli/opt.h"

#include <string.h>

#include "base/mem.h"

/** The state of parsing. */
struct parse {
	const struct kgb_syntax *syntax;
	int argc;
	char **argv;
	int next; /* index of the next word */
	int command; /* index of the word that named the subcommand; 0: none did */
	void *values;
	struct kgb_cmdline *out;
	struct kgb_err *err;
};

bool kgb_opt_takes_value(const struct kgb_opt *option)
{
	return option->type != KGB_OPT_FLAG && option->type != KGB_OPT_COUNT;
}

static const struct kgb_opt *long_row(const struct kgb_opt *options, const char *name, size_t len)
{
	for (; options->name; options++)
		if (strlen(options->name) == len && strncmp(options->name, name, len) == 0)
			return options;
	return NULL;
}

static const struct kgb_opt *short_row(const struct kgb_opt *options, char letter)
{
	for (; options->name; options++)
		if (options->letter == letter)
			return options;
	return NULL;
}

const struct kgb_opt *kgb_opt_find(const struct kgb_syntax *syntax,
				   const struct kgb_subcommand *command, const char *name,
				   size_t len)
{
	const struct kgb_opt *own = long_row(command->options, name, len);

	return own ? own : long_row(syntax->common, name, len);
}

const struct kgb_opt *kgb_opt_find_letter(const struct kgb_syntax *syntax,
					  const struct kgb_subcommand *command, char letter)
{
	const struct kgb_opt *own = short_row(command->options, letter);

	return own ? own : short_row(syntax->common, letter);
}

/* The option of any subcommand. */
static const struct kgb_opt *find_anywhere(const struct kgb_syntax *syntax, const char *name,
					   size_t len, char letter)
{
	for (const struct kgb_subcommand *const *c = syntax->commands; *c; c++) {
		const struct kgb_opt *found = name ? kgb_opt_find(syntax, *c, name, len)
						   : kgb_opt_find_letter(syntax, *c, letter);
		if (found)
			return found;
	}
	return NULL;
}

/** Options that override a setting keep their text only, a flag "true": the settings' own table
 * checks it. */
static void store(struct parse *p, const struct kgb_opt *option, const char *shown,
		  const char *text)
{
	void *slot = (char *)p->values + option->offset;
	kgb_strv_add(&p->out->set_names, shown);
	kgb_strv_add(&p->out->set_keys, option->setting ? option->setting : "");
	kgb_strv_add(&p->out->set_texts, text ? text : option->setting ? "true" : "");
	if (option->setting)
		return;
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
	case KGB_OPT_STRS:
		kgb_strv_add(slot, text);
		break;
	}
}

static int fail_misplaced(struct parse *p, const struct kgb_opt *option)
{
	KGB_AUTO(buf) struct kgb_buf owners = KGB_BUF_INIT(0);
	for (const struct kgb_subcommand *const *c = p->syntax->commands; *c; c++)
		if (long_row((*c)->options, option->name, strlen(option->name)))
			kgb_buf_addf(&owners, "%s'%s'", owners.len > 0 ? ", " : "", (*c)->name);
	return kgb_fail(p->err, KGB_ERR_INVALID, "'--%s' is no option of '%s' (it is one of %s)",
			option->name, p->out->command->name, owners.ptr);
}

/* `elsewhere`: the option of another subcommand that has this name, which deserves a better answer
 * than "unknown"; NULL: none. */
static int fail_unfound(struct parse *p, const char *word, const struct kgb_opt *elsewhere)
{
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;
	KGB_AUTO(buf) struct kgb_buf hint = KGB_BUF_INIT(0);
	if (elsewhere)
		return fail_misplaced(p, elsewhere);
	for (const struct kgb_foreign *f = p->syntax->foreign; f && f->name; f++)
		if (kgb_str_eq(f->name, word))
			return kgb_fail(p->err, KGB_ERR_INVALID, "there is no option '%s': %s",
					word, f->remedy);
	for (const struct kgb_opt *o = p->out->command->options; o->name; o++)
		kgb_strv_addf(&names, "--%s", o->name);
	for (const struct kgb_opt *o = p->syntax->common; o->name; o++)
		kgb_strv_addf(&names, "--%s", o->name);
	kgb_suggest(&hint, word, (const char *const *)names.items, names.n);
	return kgb_fail(p->err, KGB_ERR_INVALID, "unknown option '%s' of '%s'%s", word,
			p->out->command->name, hint.ptr);
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

static int parse_long(struct parse *p, const char *word)
{
	const char *name = word + 2;
	const char *equals = strchr(name, '=');
	size_t len = equals ? (size_t)(equals - name) : strlen(name);
	const struct kgb_opt *option = kgb_opt_find(p->syntax, p->out->command, name, len);
	KGB_AUTO(free) char *shown = kgb_xasprintf("--%.*s", (int)len, name);
	if (!option)
		return fail_unfound(p, shown, find_anywhere(p->syntax, name, len, 0));
	const char *value = NULL;
	if (!kgb_opt_takes_value(option)) {
		if (equals)
			return kgb_fail(p->err, KGB_ERR_INVALID, "'%s' takes no value", shown);
	} else if (take_value(p, shown, option, equals ? equals + 1 : NULL, &value) < 0) {
		return -1;
	}
	store(p, option, shown, value);
	return 0;
}

/** "-vv", "-m naive_cc", "-mnaive_cc". */
static int parse_short(struct parse *p, const char *word)
{
	for (const char *letter = word + 1; *letter; letter++) {
		const struct kgb_opt *option =
			kgb_opt_find_letter(p->syntax, p->out->command, *letter);
		char shown[3] = {'-', *letter, '\0'};
		if (!option)
			return fail_unfound(p, shown, find_anywhere(p->syntax, NULL, 0, *letter));
		if (!kgb_opt_takes_value(option)) {
			store(p, option, shown, NULL);
			continue;
		}
		const char *value = NULL;
		if (take_value(p, shown, option, letter[1] ? letter + 1 : NULL, &value) < 0)
			return -1;
		store(p, option, shown, value);
		break;
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

const struct kgb_subcommand *kgb_opt_command(const struct kgb_syntax *syntax, const char *name)
{
	for (const struct kgb_subcommand *const *c = syntax->commands; *c; c++)
		if (kgb_str_eq((*c)->name, name))
			return *c;
	return NULL;
}

/* Whether the word after an option word is its value. The subcommand is not known yet. */
static bool eats_next(const struct kgb_syntax *syntax, const char *word)
{
	const struct kgb_opt *option = NULL;
	if (word[1] == '-')
		return !strchr(word, '=') &&
		       (option = find_anywhere(syntax, word + 2, strlen(word + 2), 0)) &&
		       kgb_opt_takes_value(option);
	for (const char *letter = word + 1; *letter; letter++) {
		option = find_anywhere(syntax, NULL, 0, *letter);
		if (option && kgb_opt_takes_value(option))
			return !letter[1];
	}
	return false;
}

/** The first word that is no option and no option's value may name the subcommand. */
static void find_command_word(struct parse *p)
{
	for (int i = 1; i < p->argc && !kgb_str_eq(p->argv[i], "--"); i++) {
		const char *word = p->argv[i];
		if (word[0] == '-' && word[1]) {
			i += eats_next(p->syntax, word) ? 1 : 0;
			continue;
		}
		p->out->command = kgb_opt_command(p->syntax, word);
		p->command = p->out->command ? i : 0;
		break;
	}
	p->out->named = p->command > 0;
	if (!p->out->named)
		p->out->command = kgb_opt_command(p->syntax, p->syntax->fallback);
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

int kgb_opt_parse(const struct kgb_syntax *syntax, int argc, char **argv, void *values,
		  struct kgb_cmdline *out, struct kgb_err *err)
{
	struct parse p = {.syntax = syntax,
			  .argc = argc,
			  .argv = argv,
			  .next = 1,
			  .values = values,
			  .out = out,
			  .err = err};
	*out = (struct kgb_cmdline)KGB_CMDLINE_INIT;
	find_command_word(&p);
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
