/* SPDX-License-Identifier: MIT */
/* What the judge believes of a compiler that hostile text may have taken over. */
#include "verify/provenance/recompile.h"

#include <sys/mman.h>
#include <sys/socket.h>

#include "base/time.h"
#include "tests/unit/base/support.h"

#define CUBIN "\177ELF of our own"
#define FACTS "{\"ops\":{}}"

struct answer {
	enum kgb_wire_status status;
	uint64_t cubin_bytes, facts_bytes; /* as the header claims */
	int64_t total; /* as the reply claims; -1: what was written */
	const char *facts;
};

/* The answer of a worker whose reply is there already. */
static int wait_for(const struct answer *answer, struct kgb_recompiled *out,
		    char why[KGB_RECOMPILE_WHY], struct kgb_err *err)
{
	const uint64_t header[2] = {answer->cubin_bytes, answer->facts_bytes};
	struct kgb_worker worker = KGB_WORKER_INIT;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	int channel[2];
	int fd = memfd_create("output", MFD_CLOEXEC);

	kgb_buf_add(&text, header, sizeof(header));
	kgb_buf_adds(&text, CUBIN);
	kgb_buf_adds(&text, answer->facts);
	assert_int_equal(write(fd, text.ptr, text.len), (ssize_t)text.len);
	const struct kgb_wire_reply reply = {.magic = KGB_WIRE_MAGIC,
					     .version = KGB_WIRE_VERSION,
					     .status = (uint16_t)answer->status,
					     .value = answer->total < 0 ? (int64_t)text.len
									: answer->total,
					     .text = "no such dialect\nand more",
					     .text_len = 24};
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel), 0);
	assert_int_equal(send(channel[1], &reply, sizeof(reply), 0), (ssize_t)sizeof(reply));
	worker.channel_fd = channel[0];
	worker.end = KGB_WORKER_ALIVE;
	int rc = kgb_recompile_wait(&worker, fd, kgb_mono_ms() + 60000, out, why, err);
	close(channel[0]);
	close(channel[1]);
	close(fd);
	return rc;
}

static void test_code_and_facts_come_as_they_were_written(KGB_UNUSED void **state)
{
	const struct answer answer = {KGB_WIRE_OK, strlen(CUBIN), strlen(FACTS), -1, FACTS};
	KGB_AUTO(recompiled) struct kgb_recompiled out = KGB_RECOMPILED_INIT;
	char why[KGB_RECOMPILE_WHY] = "";
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(wait_for(&answer, &out, why, &err), err);
	assert_int_equal(out.len, strlen(CUBIN));
	assert_memory_equal(out.code, CUBIN, strlen(CUBIN));
	assert_true(cJSON_IsObject(cJSON_GetObjectItem(out.facts, "ops")));
}

static void test_an_answer_that_contradicts_itself_is_no_code(KGB_UNUSED void **state)
{
	enum { N = sizeof(CUBIN) - 1, M = sizeof(FACTS) - 1 };
	static const struct {
		struct answer answer;
		const char *why;
	} cases[] = {
		{{KGB_WIRE_EXCEPTION, N, M, -1, FACTS}, "no such dialect"},
		{{KGB_WIRE_OK, N, M, 15, FACTS}, "impossible size"},
		{{KGB_WIRE_OK, N, M, (int64_t)1 << 40, FACTS}, "impossible size"},
		{{KGB_WIRE_OK, N + M + 1, 0, -1, FACTS}, "is broken"},
		{{KGB_WIRE_OK, UINT64_MAX, M + N + 1, -1, FACTS}, "is broken"},
		{{KGB_WIRE_OK, N, M + 1, -1, FACTS}, "is broken"},
		/* Facts may not be followed by others. */
		{{KGB_WIRE_OK, N, M, -1, FACTS FACTS}, "is broken"},
		{{KGB_WIRE_OK, N - 1, M + 1, -1, FACTS}, "is broken"},
		{{KGB_WIRE_OK, N, M, -1, "{\"ops\":{}]"}, "is broken"},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_recompiled out = KGB_RECOMPILED_INIT;
		char why[KGB_RECOMPILE_WHY] = "";
		struct kgb_err err = KGB_ERR_INIT;
		if (wait_for(&cases[i].answer, &out, why, &err) != KGB_RECOMPILE_NO_CODE)
			fail_msg("case %zu is believed", i);
		assert_contains(why, cases[i].why);
		assert_null(strchr(why, '\n'));
		assert_null(out.code);
		assert_null(out.facts);
	}
}

/* A worker of which its supervisor says this; with no time left it is ended by us. */
static int end_with(const char *word, const char *words, bool in_time, char why[KGB_RECOMPILE_WHY],
		    struct kgb_err *err)
{
	struct kgb_recompiled out = KGB_RECOMPILED_INIT;
	struct kgb_worker worker = KGB_WORKER_INIT;
	int channel[2], control[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control), 0);
	assert_int_equal(send(control[1], word, strlen(word), 0), (ssize_t)strlen(word));
	if (in_time)
		assert_int_equal(shutdown(channel[1], SHUT_RDWR), 0);
	worker.channel_fd = channel[0];
	worker.control_fd = control[0];
	worker.end = KGB_WORKER_ALIVE;
	worker.stderr_text = (struct kgb_buf)KGB_BUF_INIT(0);
	kgb_buf_adds(&worker.stderr_text, words);
	int rc = kgb_recompile_wait(&worker, -1, kgb_mono_ms() + (in_time ? 60000 : 0), &out, why,
				    err);
	kgb_buf_release(&worker.stderr_text);
	for (int i = 0; i < 2; i++) {
		close(channel[i]);
		close(control[i]);
	}
	return rc;
}

static void
test_a_compiler_without_time_or_memory_says_nothing_of_the_claim(KGB_UNUSED void **state)
{
#define SIGNAL(n) "{\"ended\":\"signal\",\"value\":" #n "}"
#define EXIT(n) "{\"ended\":\"exit\",\"value\":" #n "}"
	static const struct {
		const char *word, *words;
		bool in_time;
		enum kgb_recompile_end end;
		const char *why;
	} cases[] = {
		{SIGNAL(9), "", false, KGB_RECOMPILE_UNDECIDED, "compiling takes too long"},
		{SIGNAL(9), "", true, KGB_RECOMPILE_UNDECIDED,
		 "the compiler ended by signal 9, most likely for lack of memory"},
		{SIGNAL(24), "", true, KGB_RECOMPILE_UNDECIDED, "the compiler ended by signal 24"},
		{SIGNAL(6), "LLVM ERROR: out of memory\n", true, KGB_RECOMPILE_UNDECIDED,
		 "the compiler ended by signal 6"},
		{SIGNAL(6), "LLVM ERROR: bad IR\n", true, KGB_RECOMPILE_CRASHED,
		 "the compiler ended by signal 6"},
		{SIGNAL(11), "", true, KGB_RECOMPILE_CRASHED, "the compiler ended by signal 11"},
		{EXIT(1), "", true, KGB_RECOMPILE_CRASHED, "the compiler ended with status 1"},
	};
	const struct answer no_memory = {KGB_WIRE_MEMORY, 0, 0, -1, ""};
	struct kgb_recompiled out = KGB_RECOMPILED_INIT;
	char why[KGB_RECOMPILE_WHY];
	struct kgb_err err = KGB_ERR_INIT;

	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		int rc = end_with(cases[i].word, cases[i].words, cases[i].in_time, why, &err);
		assert_int_equal(rc, cases[i].end);
		assert_string_equal(why, cases[i].why);
	}
	assert_int_equal(wait_for(&no_memory, &out, why, &err), KGB_RECOMPILE_UNDECIDED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_code_and_facts_come_as_they_were_written),
		cmocka_unit_test(test_an_answer_that_contradicts_itself_is_no_code),
		cmocka_unit_test(test_a_compiler_without_time_or_memory_says_nothing_of_the_claim),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
