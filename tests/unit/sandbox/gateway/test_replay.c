/* SPDX-License-Identifier: MIT */
#include "tests/unit/sandbox/gateway/gateway_test.h"

#include <dirent.h>
#include <fcntl.h>

#include "base/system/fs.h"
#include "sandbox/cassette/replay.h"

static void test_what_differs_between_runs_is_named_and_the_rest_is_kept(void **state)
{
	(void)state;
	static const struct {
		const char *in, *out;
	} cases[] = {
		{"", ""},
		{"plain 1234 text", "plain 1234 text"},
		{"id 6e28ce28-3f77-46ec-893f-6ca79263fb64.", "id <uuid>."},
		{"\"6E28CE28-3F77-46EC-893F-6CA79263FB64\"", "\"<uuid>\""},
		{"6e28ce28-3f77-46ec-893f", "6e28ce28-3f77-46ec-893f"},
		{"x50306d26a12b3000b8e299d8561489507d746af2a68fc7e86b2a61176d46a8f2y", "x<hex>y"},
		{"0123456789abcdef0123456789abcde", "0123456789abcdef0123456789abcde"},
		{"on 2026-11-21.", "on <date>."},
		{"at 2026-11-21T08:00:01.123Z, then", "at <date>, then"},
		{"at 2026-11-21 08:00:01 more", "at <date> more"},
		{"2026-11-2", "2026-11-2"},
		{"12026-11-21", "12026-11-21"},
		{"OS Version: Linux 6.1\\n - next", "<machine>\\n - next"},
		{"\"at_ms\":1795290355850,", "\"at_ms\":<ms>,"},
		{"17952903558501 and 2795290355850", "17952903558501 and 2795290355850"},
		{"\"Chunk ID: e61665\\nWall time: 0.0312 seconds\\nOutput\"",
		 "\"<chunk>\\n<time>\\nOutput\""},
		{"deadbeef and cafe", "deadbeef and cafe"},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
		kgb_cassette_normalise(cases[i].in, strlen(cases[i].in), &out);
		assert_string_equal(out.ptr, cases[i].out);
	}
}

static void key_of(const char *path, const char *body, const char *secret,
		   char out[KGB_SHA256_HEX_LEN])
{
	const struct kgb_cassette_request request = {.method = "POST",
						     .path = path,
						     .body = body,
						     .body_len = strlen(body),
						     .secrets = {secret}};
	kgb_cassette_key(&request, out);
}

static void test_a_key_knows_the_sample_that_is_asked_for(void **state)
{
	(void)state;
	char keys[3][KGB_SHA256_HEX_LEN];
	static const char *const samples[] = {NULL, "1", "2"};
	for (size_t i = 0; i < KGB_ARRAY_LEN(samples); i++) {
		const struct kgb_cassette_request request = {.method = "POST",
							     .path = "/v1/responses",
							     .body = "{}",
							     .body_len = 2,
							     .sample = samples[i]};
		assert_true(kgb_cassette_key(&request, keys[i]));
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(keys[i], keys[k]);
	}
}

static void test_a_key_knows_path_and_body_but_no_secret_and_no_query(void **state)
{
	(void)state;
	char a[KGB_SHA256_HEX_LEN], b[KGB_SHA256_HEX_LEN];
	key_of("/v1/messages?beta=true", "{\"t\":\"secret-one\"}", "secret-one", a);
	key_of("/v1/messages", "{\"t\":\"secret-two\"}", "secret-two", b);
	assert_string_equal(a, b);
	key_of("/v1/messages", "{\"t\":\"secret-two\"}", NULL, b);
	assert_string_not_equal(a, b);
	key_of("/v1/responses", "{\"a\":{\"c\":[2,1],\"b\":null},\"d\":1}", NULL, a);
	key_of("/v1/responses", "{\"d\":1, \"a\":{\"b\":null,\"c\":[2,1]}}", NULL, b);
	assert_string_equal(a, b);
	key_of("/v1/responses", "{\"d\":1, \"a\":{\"b\":null,\"c\":[1,2]}}", NULL, b);
	assert_string_not_equal(a, b);
	key_of("/v1/models", "{\"t\":\"secret-one\"}", "secret-one", b);
	assert_string_not_equal(a, b);
}

/* ---- a session, recorded and played ---- */

static const char first[] =
	"{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"first of 2026-11-21\"}]}";
static const char first_later[] =
	"{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"first of 2027-01-01\"}]}";
static const char second[] =
	"{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"second, which is longer\"}]}";
static const char other[] =
	"{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"second, which is other\"}]}";

/* One request over a connection of its own; the client is to be closed. */
static void ask(struct fixture *f, const char *body, struct client *c)
{
	client_open(c, f);
	client_request(c, "POST", "/v1/messages?beta=true",
		       AUTH "content-type: application/json\r\nconnection: close\r\n", body,
		       strlen(body));
	client_wait_end(c);
}

/* The record, out of the fixture's directory, which dies with it. */
static char *copy_record(const struct fixture *f)
{
	struct kgb_err err = KGB_ERR_INIT;
	char dir[] = "/tmp/kgb-replay-test-XXXXXX";
	assert_non_null(mkdtemp(dir));
	DIR *list = opendir(f->traffic);
	assert_non_null(list);
	for (const struct dirent *entry; (entry = readdir(list));) {
		if (entry->d_name[0] == '.')
			continue;
		KGB_AUTO(free) char *from = kgb_path_join(f->traffic, entry->d_name);
		KGB_AUTO(free) char *to = kgb_path_join(dir, entry->d_name);
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		assert_ok(kgb_fs_read(AT_FDCWD, from, 1 << 20, &text, &err), err);
		assert_ok(kgb_fs_write_atomic(AT_FDCWD, to, text.ptr, text.len, 0644, false, &err),
			  err);
	}
	closedir(list);
	return kgb_xstrdup(dir);
}

static void drop_record(char *dir)
{
	struct kgb_err err = KGB_ERR_INIT;
	assert_ok(kgb_fs_remove_tree(AT_FDCWD, dir, &err), err);
	kgb_free(dir);
}

struct told {
	const struct fixture *f;
	int n;
};

static bool told_of_all(const void *payload)
{
	const struct told *told = payload;
	return told->f->n_summaries >= told->n;
}

/* first: a stream; second: refused, then a stream that is cut. */
static char *record(void)
{
	static const char *const behaviours[] = {"ok", "429_soon", "cut", NULL};
	struct fixture *f = fixture_new(
		&(struct fixture_spec){.mode = KGB_GATEWAY_LIVE, .behaviours = behaviours});
	const char *const bodies[] = {first, second, second};
	for (size_t i = 0; i < KGB_ARRAY_LEN(bodies); i++) {
		struct client c;
		ask(f, bodies[i], &c);
		client_close(&c);
		run_until(f, told_of_all, &(const struct told){f, (int)i + 1}, 5000);
	}
	char *dir = copy_record(f);
	fixture_free(f);
	return dir;
}

static struct kgb_cassette *load(const char *dir)
{
	struct kgb_cassette *cassette = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	assert_ok(kgb_cassette_load(&cassette, dir, &err), err);
	return cassette;
}

/* The fixture looks for descriptors that were left open: the cassette has one. */
static void end(struct fixture *f, struct kgb_cassette *cassette)
{
	if (f->session)
		fixture_close_session(f);
	kgb_cassette_free(cassette);
	fixture_free(f);
}

static void test_a_record_answers_as_the_api_did_in_any_order_of_keys(void **state)
{
	(void)state;
	char *dir = record();
	struct kgb_cassette *cassette = load(dir);
	assert_int_equal(kgb_cassette_n(cassette), 3);
	struct fixture *f = fixture_new(
		&(struct fixture_spec){.mode = KGB_GATEWAY_REPLAY, .cassette = cassette});
	struct client c;
	bool complete;
	ask(f, second, &c);
	assert_int_equal(client_status(&c), 429);
	assert_non_null(strcasestr(c.in.ptr, "retry-after: 1\r\n"));
	client_close(&c);
	ask(f, first_later, &c);
	assert_int_equal(client_status(&c), 200);
	assert_non_null(strcasestr(c.in.ptr, "content-type: text/event-stream; charset=utf-8\r\n"));
	KGB_AUTO(free) char *body = client_body(&c, &complete);
	assert_true(complete);
	assert_string_equal(body, FAKE_LLM_MESSAGE("msg_ok"));
	client_close(&c);
	ask(f, second, &c);
	assert_int_equal(client_status(&c), 200);
	KGB_AUTO(free) char *cut = client_body(&c, &complete);
	assert_false(complete);
	assert_string_equal(cut, FAKE_LLM_START("msg_cut") FAKE_LLM_TEXT);
	client_close(&c);
	assert_int_equal(fake_llm_calls(f->llm), 0);
	fixture_close_session(f);
	assert_int_equal(f->totals.n_misses, 0);
	assert_int_equal(f->totals.n_exchanges, 3);
	assert_int_equal(f->totals.usage.output, 50);
	/* Nothing was paid for. */
	assert_int_equal(f->totals.cost_nanos, 0);
	end(f, cassette);
	drop_record(dir);
}

static void test_a_miss_is_loud_and_shows_the_nearest_request_with_the_difference(void **state)
{
	(void)state;
	char *dir = record();
	struct kgb_cassette *cassette = load(dir);
	struct fixture *f = fixture_new(
		&(struct fixture_spec){.mode = KGB_GATEWAY_REPLAY, .cassette = cassette});
	struct client c;
	ask(f, other, &c);
	assert_int_equal(client_status(&c), 402);
	client_close(&c);
	assert_int_equal(f->n_misses, 1);
	print_message("# %s\n", f->why);
	assert_non_null(strstr(f->why, "nearest is 000"));
	assert_null(strstr(f->why, "nearest is 0001"));
	assert_non_null(strstr(
		f->why, "it differs at messages[0].content: recorded 'second, which is longer', "
			"asked 'second, which is other'"));
	ask(f, first, &c);
	client_close(&c);
	ask(f, first, &c);
	client_close(&c);
	assert_int_equal(f->n_misses, 2);
	print_message("# %s\n", f->why);
	assert_non_null(
		strstr(f->why, "nearest is 0001: the same, but it has been answered as often"));
	fixture_close_session(f);
	assert_int_equal(f->totals.n_misses, 2);
	end(f, cassette);
	drop_record(dir);
}

static void test_a_changed_answer_is_noticed(void **state)
{
	(void)state;
	char *dir = record();
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(free) char *path = kgb_path_join(dir, "0001.response.sse");
	assert_ok(kgb_fs_write_atomic(AT_FDCWD, path, "x", 1, 0644, false, &err), err);
	struct kgb_cassette *cassette = load(dir);
	struct fixture *f = fixture_new(
		&(struct fixture_spec){.mode = KGB_GATEWAY_REPLAY, .cassette = cassette});
	struct client c;
	ask(f, first, &c);
	assert_int_equal(client_status(&c), 402);
	assert_non_null(strstr(f->why, "its SHA-256 has changed"));
	client_close(&c);
	end(f, cassette);
	drop_record(dir);
}

static void test_records_that_cannot_be_played_are_refused(void **state)
{
	(void)state;
	static const struct {
		const char *meta, *message;
	} cases[] = {
		{"{", "0001.meta.json"},
		{"{\"status\":200}", "'key' is missing"},
	};
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_cassette *cassette = NULL;
	assert_int_equal(kgb_cassette_load(&cassette, "/nonexistent", &err), -1);
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		char dir[] = "/tmp/kgb-replay-test-XXXXXX";
		assert_non_null(mkdtemp(dir));
		KGB_AUTO(free) char *path = kgb_path_join(dir, "0001.meta.json");
		assert_ok(kgb_fs_write_atomic(AT_FDCWD, path, cases[i].meta, strlen(cases[i].meta),
					      0644, false, &err),
			  err);
		assert_int_equal(kgb_cassette_load(&cassette, dir, &err), -1);
		assert_non_null(strstr(err.msg, cases[i].message));
		assert_ok(kgb_fs_remove_tree(AT_FDCWD, dir, &err), err);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_differs_between_runs_is_named_and_the_rest_is_kept),
		cmocka_unit_test(test_a_key_knows_the_sample_that_is_asked_for),
		cmocka_unit_test(test_a_key_knows_path_and_body_but_no_secret_and_no_query),
		cmocka_unit_test(test_a_record_answers_as_the_api_did_in_any_order_of_keys),
		cmocka_unit_test(
			test_a_miss_is_loud_and_shows_the_nearest_request_with_the_difference),
		cmocka_unit_test(test_a_changed_answer_is_noticed),
		cmocka_unit_test(test_records_that_cannot_be_played_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
