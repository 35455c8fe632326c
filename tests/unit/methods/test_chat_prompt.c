/* SPDX-License-Identifier: MIT */
/** \file
 * What a bare model is sent: its texts are files, and it is told of no tool that it has not.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/system/fs.h"
#include "methods/chat_prompt.h"

struct fixture {
	char dir[32];
	char *file; /* owned */
	struct kgb_method method;
	struct kgb_spec spec;
};

static int set_up(void **state)
{
	struct fixture *f = kgb_xcalloc(1, sizeof(*f));
	struct kgb_err err = KGB_ERR_INIT;
	snprintf(f->dir, sizeof(f->dir), "/tmp/kgb-test-chat-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	f->file = kgb_path_join(f->dir, "text.md");
	assert_int_equal(kgb_method_load(KGB_TEST_SOURCE_DIR, "llm", &f->method, &err), 0);
	assert_int_equal(kgb_spec_load(KGB_TEST_SOURCE_DIR
				       "/datasets/kernelgenbench/aten/aten__silu.yaml",
				       &f->spec, &err),
			 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	struct kgb_err err = KGB_ERR_INIT;
	assert_int_equal(kgb_fs_remove_tree(AT_FDCWD, f->dir, &err), 0);
	kgb_spec_release(&f->spec);
	kgb_method_release(&f->method);
	kgb_free(f->file);
	kgb_free(f);
	return 0;
}

static void write_file(const struct fixture *f, const char *text)
{
	struct kgb_err err = KGB_ERR_INIT;
	assert_int_equal(
		kgb_fs_write_atomic(AT_FDCWD, f->file, text, strlen(text), 0644, false, &err), 0);
}

/** Render with the file in place of one text. */
static void render(const struct fixture *f, int which, const char *text,
		   struct kgb_chat_prompt *prompt, struct kgb_buf *described)
{
	struct kgb_chat_texts texts;
	struct kgb_err err = KGB_ERR_INIT;
	const char *files[KGB_N_CHAT_TEXTS] = {NULL, "", NULL};
	const struct kgb_prompt_vars vars = {.platform = "cpu"};
	if (text) {
		write_file(f, text);
		files[which] = f->file;
	}
	if (kgb_chat_texts_read(&texts, &f->method, files, &err) < 0 ||
	    kgb_chat_prompt_render(prompt, KGB_TEST_SOURCE_DIR, &f->method, &texts, &f->spec, &vars,
				   &err) < 0)
		fail_msg("%s", err.msg);
	kgb_chat_texts_describe(&texts, described);
	kgb_chat_texts_release(&texts);
}

static void test_a_bare_model_is_told_of_no_tools(void **state)
{
	static const char *const words[] = {"kgb-verify", "/ws",   "TASK.md", "sandbox",
					    "shell",      "agent", "{{"};
	const struct fixture *f = *state;
	struct kgb_chat_prompt prompt;
	KGB_AUTO(buf) struct kgb_buf described = KGB_BUF_INIT(0);
	render(f, 0, NULL, &prompt, &described);
	for (size_t i = 0; i < KGB_ARRAY_LEN(words); i++)
		if (strstr(prompt.task.ptr, words[i]) || strstr(prompt.system_text.ptr, words[i]))
			fail_msg("it speaks of '%s'", words[i]);
	assert_non_null(strstr(prompt.task.ptr, "def silu("));
	assert_non_null(strstr(prompt.task.ptr, "exactly one fenced code block"));
	assert_true(kgb_str_starts(described.ptr, "system "));
	assert_non_null(strstr(described.ptr, ", examples none, reflection "));
	kgb_chat_prompt_release(&prompt);
}

/* Each text changes what its samples are known by, and only the system text and the examples what
 * the first question says. */
static void test_a_file_takes_the_place_of_each_text(void **state)
{
	const struct fixture *f = *state;
	struct kgb_chat_prompt own;
	KGB_AUTO(buf) struct kgb_buf own_described = KGB_BUF_INIT(0);
	render(f, 0, NULL, &own, &own_described);
	for (int i = 0; i < KGB_N_CHAT_TEXTS; i++) {
		struct kgb_chat_prompt prompt;
		KGB_AUTO(buf) struct kgb_buf described = KGB_BUF_INIT(0);
		render(f, i, "MINE {{verdict}}", &prompt, &described);
		assert_string_equal(prompt.task.ptr, own.task.ptr);
		assert_string_not_equal(prompt.sha256, own.sha256);
		assert_string_not_equal(described.ptr, own_described.ptr);
		assert_int_equal(strstr(prompt.system_text.ptr, "MINE {{verdict}}") != NULL,
				 i != KGB_CHAT_REFLECTION);
		assert_int_equal(strstr(prompt.system_text.ptr, "You write GPU kernels") != NULL,
				 i != KGB_CHAT_SYSTEM);
		kgb_chat_prompt_release(&prompt);
	}
	kgb_chat_prompt_release(&own);
}

static void test_a_later_round_says_what_its_template_asks_for(void **state)
{
	const struct fixture *f = *state;
	static const struct kgb_chat_round round = {"aten::silu", 2, 5, "KERNEL", "VERDICT {{x}}"};
	const char *files[KGB_N_CHAT_TEXTS] = {NULL, NULL, f->file};
	struct kgb_chat_texts texts;
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	write_file(f, "{{operator}} {{round}}/{{rounds}} {{kernel}}: {{verdict}}");
	assert_int_equal(kgb_chat_texts_read(&texts, &f->method, files, &err), 0);
	assert_int_equal(kgb_chat_round_render(&texts, &round, &out, &err), 0);
	assert_string_equal(out.ptr, "aten::silu 2/5 KERNEL: VERDICT {{x}}");
	kgb_chat_texts_release(&texts);
}

static void test_a_file_that_is_no_good_is_named_with_its_key(void **state)
{
	const struct fixture *f = *state;
	static const struct {
		int which;
		const char *text; /* NULL: there is no file */
		const char *message;
	} rows[] = {
		{KGB_CHAT_SYSTEM, NULL, "prompt.system: open '"},
		{KGB_CHAT_EXAMPLES, NULL, "prompt.examples: open '"},
		{KGB_CHAT_REFLECTION, NULL, "prompt.reflection: open '"},
		{KGB_CHAT_REFLECTION, "", "text.md': it is empty"},
		{KGB_CHAT_REFLECTION, "a\n{{verdit}}", "unknown placeholder '{{verdit}}'"},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		const char *files[KGB_N_CHAT_TEXTS] = {0};
		struct kgb_chat_texts texts;
		struct kgb_err err = KGB_ERR_INIT;
		KGB_AUTO(free) char *missing = kgb_path_join(f->dir, "none");
		files[rows[i].which] = rows[i].text ? f->file : missing;
		write_file(f, rows[i].text ? rows[i].text : "");
		assert_int_equal(kgb_chat_texts_read(&texts, &f->method, files, &err), -1);
		if (!strstr(err.msg, rows[i].message) || !strstr(err.msg, files[rows[i].which]))
			fail_msg("row %zu: %s", i, err.msg);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_bare_model_is_told_of_no_tools),
		cmocka_unit_test(test_a_file_takes_the_place_of_each_text),
		cmocka_unit_test(test_a_later_round_says_what_its_template_asks_for),
		cmocka_unit_test(test_a_file_that_is_no_good_is_named_with_its_key),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
