/* SPDX-License-Identifier: MIT */
#include "tests/unit/agent/agent_test.h"

#include "agent/cli/opt.h"
#include "base/mem.h"

struct values {
	bool dry_run, json;
	int verbose;
	const char *op, *count, *wait;
	struct kgb_strv set;
};

#define AT(member) offsetof(struct values, member)

static const struct kgb_opt run_options[] = {
	{.name = "method",
	 .letter = 'm',
	 .type = KGB_OPT_STR,
	 .setting = "run.method",
	 .arg = "NAME",
	 .doc = "how"},
	{.name = "dry-run", .type = KGB_OPT_FLAG, .offset = AT(dry_run), .doc = "nothing is done"},
	{.name = "count",
	 .letter = 'n',
	 .type = KGB_OPT_STR,
	 .offset = AT(count),
	 .arg = "N",
	 .doc = "how many"},
	{.name = "wait", .type = KGB_OPT_STR, .offset = AT(wait), .arg = "TIME", .doc = "how long"},
	{.name = "again", .type = KGB_OPT_FLAG, .setting = "run.again", .doc = "once more"},
	{.name = "timeout", .type = KGB_OPT_STR, .setting = "a", .arg = "TIME", .doc = "of a run"},
	{0},
};
static const struct kgb_opt verify_options[] = {
	{.name = "timeout",
	 .type = KGB_OPT_STR,
	 .setting = "b",
	 .arg = "TIME",
	 .doc = "of a check"},
	{.name = "op", .type = KGB_OPT_STR, .offset = AT(op), .arg = "NAME", .doc = "which"},
	{0},
};
static const struct kgb_opt common_options[] = {
	{.name = "set",
	 .type = KGB_OPT_STRS,
	 .offset = AT(set),
	 .arg = "K=V",
	 .doc = "a text that is so long that it does not fit on one line of the help and has to be continued on the next"},
	{.name = "json", .type = KGB_OPT_FLAG, .offset = AT(json), .doc = "as data"},
	{.name = "verbose",
	 .letter = 'v',
	 .type = KGB_OPT_COUNT,
	 .offset = AT(verbose),
	 .doc = "more"},
	{0},
};
static const struct kgb_subcommand run_command = {
	.name = "run",
	.positional = "OPERATOR...",
	.max_positional = SIZE_MAX,
	.summary = "Runs",
	.help = "'quoted'\n.dotted\nback\\slash\n",
	.options = run_options,
};
static const struct kgb_subcommand verify_command = {
	.name = "verify",
	.positional = "FILE",
	.max_positional = 1,
	.summary = "Judges",
	.options = verify_options,
};
static const struct kgb_subcommand *const commands[] = {&run_command, &verify_command, NULL};
static const struct kgb_syntax syntax = {
	.program = "program", .commands = commands, .common = common_options, .fallback = "run"};

/** A command line as one string, split at blanks; "''" is an empty word. */
struct parsed {
	struct kgb_strv argv;
	struct values values;
	struct kgb_cmdline line;
	struct kgb_err err;
	int rc;
};

static void parse(struct parsed *p, const char *words)
{
	*p = (struct parsed){.line = KGB_CMDLINE_INIT};
	kgb_strv_add(&p->argv, "program");
	kgb_strv_split(&p->argv, words, ' ');
	for (size_t i = 0; i < p->argv.n; i++)
		if (strcmp(p->argv.items[i], "''") == 0)
			p->argv.items[i][0] = '\0';
	p->rc = kgb_opt_parse(&syntax, (int)p->argv.n, p->argv.items, &p->values, &p->line,
			      &p->err);
}

static void release(struct parsed *p)
{
	kgb_cmdline_release(&p->line);
	kgb_strv_release(&p->values.set);
	kgb_strv_release(&p->argv);
}

static void test_options_and_positionals_mix_in_any_order(void **state)
{
	(void)state;
	static const char *const lines[] = {
		"run add mm -m naive_cc --dry-run -vv -n 3",
		"add -mnaive_cc mm -v --dry-run --verbose --count=3",
		"--method naive_cc -vn3 --dry-run -v add mm",
		"-v --count 3 run --method=naive_cc -v add --dry-run mm",
		"-vvmnaive_cc --dry-run -n 3 -- add mm",
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(lines); i++) {
		struct parsed p;
		parse(&p, lines[i]);
		if (p.rc < 0)
			fail_msg("%s: %s", lines[i], p.err.msg);
		assert_string_equal(p.line.command->name, "run");
		assert_int_equal(p.line.positional.n, 2);
		assert_string_equal(p.line.positional.items[0], "add");
		assert_string_equal(p.line.positional.items[1], "mm");
		assert_int_equal(p.values.verbose, 2);
		assert_string_equal(p.values.count, "3");
		assert_true(p.values.dry_run);
		bool found = false;
		for (size_t k = 0; k < p.line.set_keys.n; k++)
			found = found || (strcmp(p.line.set_keys.items[k], "run.method") == 0 &&
					  strcmp(p.line.set_texts.items[k], "naive_cc") == 0);
		assert_true(found);
		release(&p);
	}
}

static void test_the_first_word_that_is_no_option_selects_the_subcommand(void **state)
{
	(void)state;
	static const struct {
		const char *line, *command;
		bool named;
		size_t n_positional;
	} cases[] = {
		{"verify k.py --op add", "verify", true, 1},
		{"--op verify verify k.py", "verify", true, 1},
		{"-v verify k.py --op add", "verify", true, 1},
		{"add verify", "run", false, 2},
		{"-m verify add", "run", false, 1},
		{"run verify", "run", true, 1},
		{"-- verify", "run", false, 1},
		{"--dry-run", "run", false, 0},
		{"- add", "run", false, 2},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct parsed p;
		parse(&p, cases[i].line);
		if (p.rc < 0)
			fail_msg("%s: %s", cases[i].line, p.err.msg);
		assert_string_equal(p.line.command->name, cases[i].command);
		assert_int_equal(p.line.named, cases[i].named);
		assert_int_equal(p.line.positional.n, cases[i].n_positional);
		release(&p);
	}
}

static void test_what_is_wrong_is_said_with_the_nearest_name(void **state)
{
	(void)state;
	static const struct {
		const char *line, *message;
	} cases[] = {
		{"--methd x", "unknown option '--methd' of 'run'; did you mean '--method'"},
		{"--dryrun", "did you mean '--dry-run'"},
		{"-x", "unknown option '-x'"},
		{"-vx", "unknown option '-x'"},
		{"add -m", "'-m' needs a value: -m NAME"},
		{"add --count", "'--count' needs a value: --count N"},
		{"--dry-run=yes", "'--dry-run' takes no value"},
		{"--op add", "'--op' is no option of 'run' (it is one of 'verify')"},
		{"verify k.py -m x", "'--method' is no option of 'verify' (it is one of 'run')"},
		{"verify a.py b.py", "unexpected argument 'b.py' of 'verify'"},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct parsed p;
		parse(&p, cases[i].line);
		if (p.rc == 0)
			fail_msg("%s: accepted", cases[i].line);
		assert_int_equal(p.err.kind, KGB_ERR_INVALID);
		if (!strstr(p.err.msg, cases[i].message))
			fail_msg("%s: '%s', wanted '%s'", cases[i].line, p.err.msg,
				 cases[i].message);
		assert_null(p.line.positional.items);
		release(&p);
	}
}

static void test_one_name_may_mean_two_settings(void **state)
{
	(void)state;
	struct parsed p;
	parse(&p, "verify k.py --timeout 5s");
	assert_int_equal(p.rc, 0);
	assert_string_equal(p.line.set_keys.items[0], "b");
	assert_string_equal(p.line.set_names.items[0], "--timeout");
	release(&p);
	parse(&p, "add --timeout 5s");
	assert_string_equal(p.line.set_keys.items[0], "a");
	release(&p);
}

static void test_a_flag_may_be_a_setting(void **state)
{
	(void)state;
	struct parsed p;
	parse(&p, "add --again");
	assert_int_equal(p.rc, 0);
	assert_string_equal(p.line.set_keys.items[0], "run.again");
	assert_string_equal(p.line.set_texts.items[0], "true");
	release(&p);
}

static void test_repeated_options_collect_and_empty_values_stay(void **state)
{
	(void)state;
	struct parsed p;
	parse(&p, "--set a=1 --set=b= --set '' --wait 20s ''");
	assert_int_equal(p.rc, 0);
	assert_int_equal(p.values.set.n, 3);
	assert_string_equal(p.values.set.items[1], "b=");
	assert_string_equal(p.values.set.items[2], "");
	assert_string_equal(p.values.wait, "20s");
	assert_int_equal(p.line.positional.n, 1);
	release(&p);
}

static void check_options_of(const char *text, const struct kgb_opt *options, bool listed)
{
	for (; options->name; options++) {
		KGB_AUTO(free) char *line = kgb_xasprintf("--%s", options->name);
		bool twice = strcmp(options->name, "timeout") == 0;
		assert_int_equal(strstr(text, line) != NULL, listed || twice);
	}
}

static void test_help_lists_exactly_the_options_of_a_subcommand(void **state)
{
	(void)state;
	for (int c = 0; c < 2; c++) {
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		kgb_opt_help(&syntax, commands[c], &text);
		check_options_of(text.ptr, run_options, c == 0);
		check_options_of(text.ptr, verify_options, c == 1);
		check_options_of(text.ptr, common_options, true);
		for (const char *line = text.ptr; *line; line += strcspn(line, "\n") + 1)
			assert_true(strcspn(line, "\n") <= 100);
	}
}

static void test_the_man_page_escapes_what_roff_would_read(void **state)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	(void)state;
	kgb_opt_man(&syntax, "1.2", "does things", ".SH FILES\nnone\n", &text);
	assert_non_null(strstr(text.ptr, ".TH PROGRAM 1 \"\" \"program 1.2\"\n"));
	assert_non_null(strstr(text.ptr, "\\&'quoted'\n\\&.dotted\nback\\eslash\n"));
	assert_non_null(strstr(text.ptr, "\\fB\\-m\\fR, \\fB\\-\\-method\\fR \\fINAME\\fR\nhow\n"));
	assert_non_null(strstr(text.ptr, ".SS verify FILE\nJudges.\n"));
	assert_non_null(strstr(text.ptr, "\n.SH FILES\nnone\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options_and_positionals_mix_in_any_order),
		cmocka_unit_test(test_the_first_word_that_is_no_option_selects_the_subcommand),
		cmocka_unit_test(test_what_is_wrong_is_said_with_the_nearest_name),
		cmocka_unit_test(test_one_name_may_mean_two_settings),
		cmocka_unit_test(test_a_flag_may_be_a_setting),
		cmocka_unit_test(test_repeated_options_collect_and_empty_values_stay),
		cmocka_unit_test(test_help_lists_exactly_the_options_of_a_subcommand),
		cmocka_unit_test(test_the_man_page_escapes_what_roff_would_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
