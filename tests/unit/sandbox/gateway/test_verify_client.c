/* SPDX-License-Identifier: MIT */
/* The program kgb-verify against a real session, and against servers that do not behave. */
#include "tests/unit/sandbox/gateway/gateway_test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/system/fs.h"

#define PROGRAM KGB_TEST_BIN_DIR "/kgb-verify"

struct run {
	struct fixture *f;
	uv_process_t child;
	int64_t status;
	bool exited;
};

static void on_child_exit(uv_process_t *child, int64_t status, int signal)
{
	struct run *r = child->data;
	r->status = signal ? 128 + signal : status;
	r->exited = true;
	uv_close((uv_handle_t *)child, NULL);
}

static bool has_exited(const void *payload)
{
	return ((const struct run *)payload)->exited;
}

/* Start it with both outputs in a file of the record's directory. */
static void start(struct run *r, struct fixture *f, const char *gateway, const char *token,
		  const char *const *args)
{
	const char *argv[5] = {PROGRAM};
	for (int i = 0; i < 3 && args && args[i]; i++)
		argv[i + 1] = args[i];
	KGB_AUTO(free) char *gateway_env = kgb_xasprintf("KGB_GATEWAY=%s", gateway);
	KGB_AUTO(free) char *token_env = kgb_xasprintf("KGB_TOKEN=%s", token);
	char *env[] = {gateway_env, token_env, NULL};
	KGB_AUTO(free) char *path = kgb_path_join(f->traffic, "out");
	KGB_AUTO(fd) int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(out >= 0);
	*r = (struct run){.f = f};
	uv_stdio_container_t stdio[3] = {{.flags = UV_IGNORE},
					 {.flags = UV_INHERIT_FD, .data.fd = out},
					 {.flags = UV_INHERIT_FD, .data.fd = out}};
	uv_process_options_t options = {.file = PROGRAM,
					.args = (char **)(uintptr_t)argv,
					.env = env,
					.cwd = f->traffic,
					.exit_cb = on_child_exit,
					.stdio = stdio,
					.stdio_count = 3};
	r->child.data = r;
	assert_int_equal(uv_spawn(&f->loop, &r->child, &options), 0);
}

static void finish(struct run *r, int status, const char *says)
{
	run_until(r->f, has_exited, r, 5000);
	KGB_AUTO(free) char *text = traffic_read(r->f, "out");
	if (r->status != status || !strstr(text, says))
		fail_msg("exit %lld, not %d, '%s' should say '%s'", (long long)r->status, status,
			 text, says);
}

static char *url_of(uint16_t port)
{
	return kgb_xasprintf("http://127.0.0.1:%u", (unsigned)port);
}

static void put(const struct fixture *f, const char *name, const char *text, size_t len)
{
	KGB_AUTO(free) char *path = kgb_path_join(f->traffic, name);
	struct kgb_err err = KGB_ERR_INIT;
	assert_ok(kgb_fs_write_atomic(AT_FDCWD, path, text, len, 0644, false, &err), err);
}

static bool has_verify(const void *payload)
{
	return ((const struct fixture *)payload)->verify != NULL;
}

static const struct fixture_spec live = {.mode = KGB_GATEWAY_LIVE};

static void test_the_report_is_printed_and_the_exit_status_tells_the_verdict(void **state)
{
	(void)state;
	static const struct {
		int http_status;
		const char *report;
		int exit;
	} cases[] = {
		{200, "PASSED 8 of 8 tests\nfine\n", 0},
		{200, "FAIL verify.mismatch: bad\n", 1},
		{200, "FAIL without a line end", 1},
		{503, "the judge is missing\n", 5},
		{200, "nobody knows\n", 5},
		{200, "", 5},
	};
	struct fixture *f = fixture_new(&live);
	KGB_AUTO(free) char *url = url_of(f->port);
	put(f, "kernel.py", "import torch\n", 13);
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct run r;
		f->verify = NULL;
		start(&r, f, url, TEST_TOKEN, NULL);
		run_until(f, has_verify, f, 5000);
		assert_string_equal(f->kernel, "import torch\n");
		kgb_verify_reply(f->verify, cases[i].http_status, cases[i].report);
		finish(&r, cases[i].exit, cases[i].report);
	}
	fixture_free(f);
}

static void test_a_named_file_is_sent_whole(void **state)
{
	(void)state;
	struct fixture *f = fixture_new(&live);
	struct run r;
	KGB_AUTO(free) char *url = url_of(f->port);
	char *big = kgb_xmalloc(KGB_LIMIT_KERNEL + 1);
	memset(big, '#', KGB_LIMIT_KERNEL + 1);
	big[0] = 'a';
	put(f, "other.py", big, KGB_LIMIT_KERNEL);
	start(&r, f, url, TEST_TOKEN, (const char *[]){"other.py", NULL});
	run_until(f, has_verify, f, 5000);
	assert_int_equal(strlen(f->kernel), KGB_LIMIT_KERNEL);
	kgb_verify_reply(f->verify, 200, "PASSED\n");
	finish(&r, 0, "PASSED\n");
	put(f, "other.py", big, KGB_LIMIT_KERNEL + 1);
	kgb_free(big);
	start(&r, f, url, TEST_TOKEN, (const char *[]){"other.py", NULL});
	finish(&r, 5, "over 262144 bytes");
	fixture_free(f);
}

static void test_wrong_use_and_wrong_files_are_2(void **state)
{
	(void)state;
	static const struct {
		const char *const args[4];
		int exit;
		const char *says;
	} cases[] = {
		{{"--help"}, 0, "usage: kgb-verify [FILE]"},
		{{"--nonsense"}, 2, "usage"},
		{{"a", "b"}, 2, "usage"},
		{{"missing.py"}, 2, "'missing.py': No such file"},
		{{"."}, 2, "not a regular file"},
		{{"fifo"}, 2, "not a regular file"},
	};
	struct fixture *f = fixture_new(&live);
	KGB_AUTO(free) char *url = url_of(f->port);
	KGB_AUTO(free) char *fifo = kgb_path_join(f->traffic, "fifo");
	assert_int_equal(mkfifo(fifo, 0600), 0);
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct run r;
		start(&r, f, url, TEST_TOKEN, cases[i].args);
		finish(&r, cases[i].exit, cases[i].says);
	}
	assert_int_equal(f->n_verify, 0);
	fixture_free(f);
}

static void test_a_gateway_that_cannot_be_reached_is_4(void **state)
{
	(void)state;
	static const struct {
		const char *gateway, *token, *says;
	} cases[] = {
		{"", "t", "KGB_GATEWAY"},
		{"https://127.0.0.1:1", "t", "KGB_GATEWAY"},
		{"http://localhost:80", "t", "KGB_GATEWAY"},
		{"http://127.0.0.1", "t", "KGB_GATEWAY"},
		{"http://127.0.0.1:0", "t", "KGB_GATEWAY"},
		{"http://127.0.0.1:70000", "t", "KGB_GATEWAY"},
		{"http://127.0.0.1:80x", "t", "KGB_GATEWAY"},
		{"http://1.2.3.4.5.6.7.8.9:80", "t", "KGB_GATEWAY"},
		{"http://127.0.0.1:1", "", "KGB_TOKEN"},
		{"http://127.0.0.1:1", "a\nb", "KGB_TOKEN"},
		{"http://127.0.0.1:1", "t", "Connection refused"},
	};
	struct fixture *f = fixture_new(&live);
	put(f, "kernel.py", "x", 1);
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct run r;
		start(&r, f, cases[i].gateway, cases[i].token, NULL);
		finish(&r, 4, cases[i].says);
	}
	struct run r;
	KGB_AUTO(free) char *url = url_of(f->port);
	start(&r, f, url, "wrong-token", NULL);
	finish(&r, 4, "HTTP 401");
	assert_int_equal(f->n_verify, 0);
	fixture_free(f);
}

static void test_a_session_that_closes_meanwhile_is_4(void **state)
{
	(void)state;
	struct fixture *f = fixture_new(&live);
	struct run r;
	KGB_AUTO(free) char *url = url_of(f->port);
	put(f, "kernel.py", "x", 1);
	start(&r, f, url, TEST_TOKEN, NULL);
	run_until(f, has_verify, f, 5000);
	fixture_close_session(f);
	finish(&r, 4, "kgb-verify: ");
	kgb_verify_reply(f->verify, 200, "PASSED\n");
	fixture_free(f);
}

static void test_answers_that_are_no_answers_are_4(void **state)
{
	(void)state;
	static const char *const answers[] = {
		"",
		"garbage",
		"HTTP/1.1 200 OK\r\n\r\nPASSED\n",
		"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nPASSED\n",
		"HTTP/1.1 200 OK\r\ncontent-length: 7\r\n",
	};
	struct fixture *f = fixture_new(&live);
	KGB_AUTO(free) char *url = url_of(fake_llm_port(f->llm));
	put(f, "kernel.py", "x", 1);
	for (size_t i = 0; i < KGB_ARRAY_LEN(answers); i++) {
		struct run r;
		f->call = NULL;
		start(&r, f, url, TEST_TOKEN, NULL);
		while (!f->call)
			run_for(f, 10);
		fake_llm_sends(f->call, answers[i]);
		run_for(f, 20);
		fake_llm_cut(f->call, false);
		finish(&r, 4, "kgb-verify: ");
	}
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_report_is_printed_and_the_exit_status_tells_the_verdict),
		cmocka_unit_test(test_a_named_file_is_sent_whole),
		cmocka_unit_test(test_wrong_use_and_wrong_files_are_2),
		cmocka_unit_test(test_a_gateway_that_cannot_be_reached_is_4),
		cmocka_unit_test(test_a_session_that_closes_meanwhile_is_4),
		cmocka_unit_test(test_answers_that_are_no_answers_are_4),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
