/* SPDX-License-Identifier: MIT */
#include "tests/unit/agent/agent_test.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/store/journal.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/system/fs.h"

struct seen {
	int64_t n;
	int64_t last_value;
};

static int on_record(void *payload, const struct kgb_journal_record *record, struct kgb_err *err)
{
	struct seen *seen = payload;
	seen->n++;
	seen->last_value = kgb_json_i64(record->data, "value", -1);
	if (record->seq != seen->n)
		return kgb_fail(err, KGB_ERR_INVALID, "out of order");
	return 0;
}

/** A journal with n records {"value":1..n} in the scratch directory; its bytes go to *text. */
static void write_journal(int dir_fd, int n, struct kgb_buf *text)
{
	struct kgb_journal *journal = NULL;
	assert_ok(kgb_journal_open(&journal, dir_fd, NULL, NULL, err));
	for (int i = 1; i <= n; i++) {
		KGB_AUTO(free) char *data = kgb_xasprintf("{\"value\":%d}", i);
		assert_ok(kgb_journal_append(journal, "tick", data, KGB_JOURNAL_LAZY, NULL, NULL,
					     err));
	}
	kgb_journal_close(journal);
	assert_ok(kgb_fs_read(dir_fd, KGB_JOURNAL_NAME, 1 << 20, text, err));
}

static void put_journal(int dir_fd, const char *bytes, size_t len)
{
	assert_ok(kgb_fs_write_atomic(dir_fd, KGB_JOURNAL_NAME, bytes, len, 0644, false, err));
}

static void test_a_record_has_the_documented_form(void **state)
{
	(void)state;
	struct scratch scratch;
	make_scratch(&scratch);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	write_journal(scratch.fd, 1, &text);
	char time[32] = "";
	assert_memory_equal(text.ptr, "{\"seq\":1,\"time\":\"", 17);
	memcpy(time, text.ptr + 17, 24);
	KGB_AUTO(buf) struct kgb_buf expected = KGB_BUF_INIT(0);
	add_line(&expected, 1, time, "tick", "{\"value\":1}");
	assert_string_equal(text.ptr, expected.ptr);
	drop_scratch(&scratch);
}

static void test_records_survive_reopening_and_numbers_go_on(void **state)
{
	(void)state;
	struct scratch scratch;
	make_scratch(&scratch);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	write_journal(scratch.fd, 3, &text);
	struct kgb_journal *journal = NULL;
	struct seen seen = {0};
	assert_ok(kgb_journal_open(&journal, scratch.fd, on_record, &seen, err));
	assert_int_equal(seen.n, 3);
	assert_int_equal(seen.last_value, 3);
	int64_t seq = 0;
	int64_t time_ms = 0;
	assert_ok(kgb_journal_append(journal, "tick", "{\"value\":4}", KGB_JOURNAL_SYNC, &seq,
				     &time_ms, err));
	assert_int_equal(seq, 4);
	assert_true(time_ms > 1500000000000);
	kgb_journal_close(journal);
	seen = (struct seen){0};
	struct kgb_journal_scan scan;
	assert_ok(kgb_journal_read(scratch.fd, on_record, &seen, &scan, err));
	assert_int_equal(seen.n, 4);
	assert_int_equal(scan.last_time_ms, time_ms);
	assert_int_equal(scan.torn_bytes, 0);
	drop_scratch(&scratch);
}

/** Cut the file at every byte: what is left is a prefix of the records, the rest is kept aside, and
 * appending works. */
static void test_a_torn_tail_at_every_byte_loses_only_the_last_record(void **state)
{
	(void)state;
	struct scratch scratch;
	make_scratch(&scratch);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	write_journal(scratch.fd, 3, &text);
	for (size_t cut = 0; cut <= text.len; cut++) {
		int64_t whole = 0;
		size_t good = 0;
		for (size_t i = 0; i < cut; i++) {
			if (text.ptr[i] == '\n') {
				whole++;
				good = i + 1;
			}
		}
		put_journal(scratch.fd, text.ptr, cut);
		unlinkat(scratch.fd, KGB_JOURNAL_TORN_NAME, 0);
		struct seen seen = {0};
		struct kgb_journal *journal = NULL;
		assert_ok(kgb_journal_open(&journal, scratch.fd, on_record, &seen, err));
		assert_int_equal(seen.n, whole);
		assert_int_equal(kgb_fs_exists(scratch.fd, KGB_JOURNAL_TORN_NAME), cut > good);
		assert_ok(kgb_journal_append(journal, "tick", "{\"value\":9}", KGB_JOURNAL_LAZY,
					     NULL, NULL, err));
		kgb_journal_close(journal);
		seen = (struct seen){0};
		assert_ok(kgb_journal_read(scratch.fd, on_record, &seen, NULL, err));
		assert_int_equal(seen.n, whole + 1);
		assert_int_equal(seen.last_value, 9);
		if (cut > good) {
			KGB_AUTO(buf) struct kgb_buf torn = KGB_BUF_INIT(0);
			assert_ok(kgb_fs_read(scratch.fd, KGB_JOURNAL_TORN_NAME, 1 << 20, &torn,
					      err));
			assert_int_equal(torn.len, cut - good + 1);
			assert_memory_equal(torn.ptr, text.ptr + good, cut - good);
		}
	}
	drop_scratch(&scratch);
}

/** A journal that grows byte by byte gives each record once, when its line is whole. */
static void test_a_journal_is_read_on_as_it_grows(void **state)
{
	(void)state;
	struct scratch scratch;
	make_scratch(&scratch);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	struct seen seen = {0};
	struct kgb_journal_scan scan = {0};
	int64_t n_whole = 0;
	write_journal(scratch.fd, 3, &text);
	for (size_t len = 0; len <= text.len; len++) {
		n_whole += len > 0 && text.ptr[len - 1] == '\n';
		put_journal(scratch.fd, text.ptr, len);
		assert_ok(kgb_journal_read_on(scratch.fd, on_record, &seen, &scan, err));
		assert_int_equal(seen.n, n_whole);
		assert_int_equal(scan.good_bytes + scan.torn_bytes, len);
	}
	put_journal(scratch.fd, text.ptr, 10);
	assert_fails(kgb_journal_read_on(scratch.fd, on_record, &seen, &scan, err), KGB_ERR_INVALID,
		     "has become shorter");
	drop_scratch(&scratch);
}

/** Change every byte in turn: never another record, never a record more, and only the end may be
 * lost. */
static void test_a_changed_byte_is_never_believed(void **state)
{
	(void)state;
	struct scratch scratch;
	make_scratch(&scratch);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	write_journal(scratch.fd, 3, &text);
	size_t last_line = 0;
	size_t second_line = 0;
	for (size_t i = 0; i + 1 < text.len; i++) {
		if (text.ptr[i] == '\n') {
			second_line = second_line ? second_line : i + 1;
			last_line = i + 1;
		}
	}
	for (size_t i = 0; i < text.len; i++) {
		for (int bit = 0; bit < 8; bit++) {
			KGB_AUTO(free) char *copy = kgb_xstrndup(text.ptr, text.len);
			copy[i] = (char)(copy[i] ^ (1 << bit));
			struct seen seen = {0};
			struct kgb_journal_scan scan = {0};
			struct kgb_err err = KGB_ERR_INIT;
			int rc = kgb_journal_parse("j", copy, text.len, on_record, &seen, &scan,
						   &err);
			/* A line end that is gone joins two lines: the damage begins at the first
			 * of them. */
			size_t damage = i == last_line - 1 ? second_line : i;
			if (rc < 0) {
				assert_true(damage < last_line);
				assert_int_equal(err.kind, KGB_ERR_INVALID);
				assert_non_null(strstr(err.msg, "checksum"));
			} else {
				assert_true(damage >= second_line);
				assert_true(scan.torn_bytes > 0);
				assert_true(seen.n < 3);
			}
		}
	}
	drop_scratch(&scratch);
}

static void test_a_corrupt_line_in_the_middle_is_refused_with_its_number(void **state)
{
	(void)state;
	struct scratch scratch;
	make_scratch(&scratch);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	write_journal(scratch.fd, 3, &text);
	char *second = strchr(text.ptr, '\n') + 1;
	*strstr(second, "value") = 'V';
	put_journal(scratch.fd, text.ptr, text.len);
	struct kgb_journal *journal = NULL;
	assert_fails(kgb_journal_open(&journal, scratch.fd, NULL, NULL, err), KGB_ERR_INVALID,
		     "journal.jsonl:2: ");
	KGB_AUTO(buf) struct kgb_buf after = KGB_BUF_INIT(0);
	assert_ok(kgb_fs_read(scratch.fd, KGB_JOURNAL_NAME, 1 << 20, &after, err));
	assert_string_equal(after.ptr, text.ptr);
	drop_scratch(&scratch);
}

static void test_lines_with_a_right_checksum_and_a_wrong_form_are_refused(void **state)
{
	(void)state;
	const struct {
		int64_t seq;
		const char *time, *type, *data, *message;
	} cases[] = {
		{2, "2026-11-21T08:00:00.000Z", "x", "{}", "seq is 2 where 1"},
		{1, "yesterday", "x", "{}", "j:1: "},
		{1, "2026-11-21T08:00:00.000Z", "x", "[]", "'type' and 'data'"},
		{1, "2026-11-21T08:00:00.000Z", "x", "{\"a\":1,\"a\":2}", "duplicate"},
		{1, "2026-11-21T08:00:00.000Z", "x\",\"type\":\"y", "{}", "duplicate"},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		add_line(&text, cases[i].seq, cases[i].time, cases[i].type, cases[i].data);
		assert_fails(kgb_journal_parse("j", text.ptr, text.len, NULL, NULL, NULL, err),
			     KGB_ERR_INVALID, cases[i].message);
	}
}

static int refuse_second(void *payload, const struct kgb_journal_record *record,
			 struct kgb_err *err)
{
	(void)payload;
	return record->seq == 2 ? kgb_fail(err, KGB_ERR_DENIED, "no") : 0;
}

static void test_an_error_of_the_reader_ends_the_reading_and_names_the_line(void **state)
{
	(void)state;
	struct scratch scratch;
	make_scratch(&scratch);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	write_journal(scratch.fd, 3, &text);
	assert_fails(kgb_journal_read(scratch.fd, refuse_second, NULL, NULL, err), KGB_ERR_DENIED,
		     "journal.jsonl:2: no");
	drop_scratch(&scratch);
}

static void test_a_record_over_the_line_limit_is_refused_and_nothing_is_written(void **state)
{
	(void)state;
	struct scratch scratch;
	make_scratch(&scratch);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	write_journal(scratch.fd, 1, &text);
	KGB_AUTO(buf) struct kgb_buf big = KGB_BUF_INIT(0);
	kgb_buf_adds(&big, "{\"value\":\"");
	for (size_t i = 0; i < KGB_LIMIT_LINE; i++)
		kgb_buf_addc(&big, 'x');
	kgb_buf_adds(&big, "\"}");
	struct kgb_journal *journal = NULL;
	assert_ok(kgb_journal_open(&journal, scratch.fd, NULL, NULL, err));
	assert_fails(
		kgb_journal_append(journal, "tick", big.ptr, KGB_JOURNAL_LAZY, NULL, NULL, err),
		KGB_ERR_LIMIT, "over 1048576 bytes");
	assert_ok(kgb_journal_append(journal, "tick", "{\"value\":2}", KGB_JOURNAL_LAZY, NULL, NULL,
				     err));
	kgb_journal_close(journal);
	struct seen seen = {0};
	assert_ok(kgb_journal_read(scratch.fd, on_record, &seen, NULL, err));
	assert_int_equal(seen.n, 2);
	drop_scratch(&scratch);
}

/** A file size limit in the middle of a line stands for a full disk: the kernel writes what fits.
 */
static void test_a_short_write_is_cut_back_and_appending_goes_on_when_there_is_room(void **state)
{
	(void)state;
	struct scratch scratch;
	make_scratch(&scratch);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	write_journal(scratch.fd, 2, &text);
	struct kgb_journal *journal = NULL;
	assert_ok(kgb_journal_open(&journal, scratch.fd, NULL, NULL, err));
	struct rlimit before;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_IGN);
	struct rlimit tight = {.rlim_cur = text.len + 10, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
	struct kgb_err problem = KGB_ERR_INIT;
	int rc = kgb_journal_append(journal, "tick", "{\"value\":3}", KGB_JOURNAL_SYNC, NULL, NULL,
				    &problem);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(rc, -1);
	assert_int_equal(problem.kind, KGB_ERR_LIMIT);
	struct stat st;
	assert_int_equal(fstatat(scratch.fd, KGB_JOURNAL_NAME, &st, 0), 0);
	assert_int_equal(st.st_size, text.len);
	assert_ok(kgb_journal_append(journal, "tick", "{\"value\":3}", KGB_JOURNAL_SYNC, NULL, NULL,
				     err));
	kgb_journal_close(journal);
	struct seen seen = {0};
	assert_ok(kgb_journal_read(scratch.fd, on_record, &seen, NULL, err));
	assert_int_equal(seen.n, 3);
	drop_scratch(&scratch);
}

static void test_a_journal_that_is_a_link_is_not_followed(void **state)
{
	(void)state;
	struct scratch scratch;
	make_scratch(&scratch);
	assert_int_equal(symlinkat("elsewhere", scratch.fd, KGB_JOURNAL_NAME), 0);
	struct kgb_journal *journal = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	assert_int_equal(kgb_journal_open(&journal, scratch.fd, NULL, NULL, &err), -1);
	assert_false(kgb_fs_exists(scratch.fd, "elsewhere"));
	drop_scratch(&scratch);
}

int main(void)
{
	kgb_log_init("test", KGB_LOG_ERROR); /* without the warnings of torn tails */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_record_has_the_documented_form),
		cmocka_unit_test(test_records_survive_reopening_and_numbers_go_on),
		cmocka_unit_test(test_a_torn_tail_at_every_byte_loses_only_the_last_record),
		cmocka_unit_test(test_a_journal_is_read_on_as_it_grows),
		cmocka_unit_test(test_a_changed_byte_is_never_believed),
		cmocka_unit_test(test_a_corrupt_line_in_the_middle_is_refused_with_its_number),
		cmocka_unit_test(test_lines_with_a_right_checksum_and_a_wrong_form_are_refused),
		cmocka_unit_test(test_an_error_of_the_reader_ends_the_reading_and_names_the_line),
		cmocka_unit_test(
			test_a_record_over_the_line_limit_is_refused_and_nothing_is_written),
		cmocka_unit_test(
			test_a_short_write_is_cut_back_and_appending_goes_on_when_there_is_room),
		cmocka_unit_test(test_a_journal_that_is_a_link_is_not_followed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
