/* SPDX-License-Identifier: MIT */
/* What the judge believes of a compiler that hostile text may have taken over. */
#include "verify/judge/recompile.h"

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
	int rc = kgb_recompile_wait(&worker, fd, kgb_mono_ms() + 5000, out, why, err);
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
	assert_memory_equal(out.cubin, CUBIN, strlen(CUBIN));
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
		if (wait_for(&cases[i].answer, &out, why, &err) != 1)
			fail_msg("case %zu is believed", i);
		assert_contains(why, cases[i].why);
		assert_null(strchr(why, '\n'));
		assert_null(out.cubin);
		assert_null(out.facts);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_code_and_facts_come_as_they_were_written),
		cmocka_unit_test(test_an_answer_that_contradicts_itself_is_no_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
