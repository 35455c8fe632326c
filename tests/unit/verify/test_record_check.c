/* SPDX-License-Identifier: MIT */
/* Which recorded calls may be replayed at all: record_check.c and the memory of record_canonical.c.
 */
#include "tests/helpers/canonical_calls.h"
#include "tests/unit/verify/recorded_calls.h"

static const struct kgb_op good_launch = {
	.kind = KGB_OP_LAUNCH,
	.launch = {.image = IMAGE_ADD,
		   .kernel = "k",
		   .grid = {1, 1, 1},
		   .block = {1, 1, 1},
		   .carveout = -1},
};

#define TEST_LAUNCH(...)                           \
	{                                          \
		.kind = KGB_OP_LAUNCH, .launch = { \
			.image = IMAGE_ADD,        \
			.kernel = "k",             \
			.carveout = -1,            \
			__VA_ARGS__                \
		}                                  \
	}
#define TEST_MEMSET(to, element, w, h, p)           \
	{                                           \
		.kind = KGB_OP_MEMSET, .memset = {  \
			.dst = (to),                \
			.pitch = (p),               \
			.element_bytes = (element), \
			.width = (w),               \
			.height = (h)               \
		}                                   \
	}
#define TEST_COPY(to, from, n)                                                           \
	{                                                                                \
		.kind = KGB_OP_COPY, .copy = {.dst = (to), .src = (from), .bytes = (n) } \
	}
#define TEST_UPLOAD(to, n)                                                                \
	{                                                                                 \
		.kind = KGB_OP_UPLOAD, .upload = {                                        \
			.dst = (to),                                                      \
			.bytes = (n),                                                     \
			.data = (const unsigned char *)"0123456789abcdef0123456789abcdef" \
		}                                                                         \
	}
#define GRID(x, y, z) .grid = {x, y, z}
#define BLOCK(x, y, z) .block = {x, y, z}
#define ATTR(number, ...) .n_attrs = 1, .attrs = {{.id = (number), .value = {__VA_ARGS__}}}

static void test_only_what_can_be_replayed_passes(void **state)
{
	static const struct {
		struct kgb_op op;
		const char *text; /* after "op 0 (...): "; NULL: passes */
	} cases[] = {
		{TEST_LAUNCH(GRID(1, 1, 1), BLOCK(1024, 1, 1)), NULL},
		{TEST_LAUNCH(GRID(INT32_MAX, 65535, 65535), BLOCK(16, 1, 64)), NULL},
		{TEST_LAUNCH(GRID(0, 1, 1), BLOCK(1, 1, 1)), "a grid of 0x1x1"},
		{TEST_LAUNCH(GRID(1, 0, 1), BLOCK(1, 1, 1)), "a grid of 1x0x1"},
		{TEST_LAUNCH(GRID(1, 1, 0), BLOCK(1, 1, 1)), "a grid of 1x1x0"},
		{TEST_LAUNCH(GRID(0x80000000, 1, 1), BLOCK(1, 1, 1)), "a grid of 2147483648x1x1"},
		{TEST_LAUNCH(GRID(1, 65536, 1), BLOCK(1, 1, 1)), "a grid of 1x65536x1"},
		{TEST_LAUNCH(GRID(1, 1, 65536), BLOCK(1, 1, 1)), "a grid of 1x1x65536"},
		{TEST_LAUNCH(GRID(1, 1, 1), BLOCK(1, 0, 1)), "blocks of 1x0x1 threads"},
		{TEST_LAUNCH(GRID(1, 1, 1), BLOCK(32, 33, 1)), "blocks of 32x33x1 threads"},
		{TEST_LAUNCH(GRID(1, 1, 1), BLOCK(1, 1, 65)), "blocks of 1x1x65 threads"},
		{TEST_LAUNCH(GRID(1, 1, 1), BLOCK(0x80000000, 0x80000000, 4)),
		 "blocks of 2147483648x2147483648x4 threads"},
		{TEST_LAUNCH(GRID(1, 1, 1), BLOCK(1, 1, 1), .shared_bytes = 233472), NULL},
		{TEST_LAUNCH(GRID(1, 1, 1), BLOCK(1, 1, 1), .shared_bytes = 233473),
		 "233473 bytes of shared memory"},
		{{.kind = KGB_OP_LAUNCH,
		  .launch = {.image = IMAGE_ADD,
			     .kernel = "k",
			     GRID(1, 1, 1),
			     BLOCK(1, 1, 1),
			     .carveout = 101}},
		 "101 % of L1 used as shared memory"},
		{TEST_LAUNCH(GRID(1, 1, 1), BLOCK(1, 1, 1), ATTR(0, 0)), NULL},
		{TEST_LAUNCH(GRID(1, 1, 1), BLOCK(1, 1, 1), ATTR(2, 1)), NULL},
		{TEST_LAUNCH(GRID(1, 1, 1), BLOCK(1, 1, 1), ATTR(5, 1)), NULL},
		{TEST_LAUNCH(GRID(1, 1, 1), BLOCK(1, 1, 1), ATTR(6, 1)), NULL},
		{TEST_LAUNCH(GRID(1, 1, 1), BLOCK(1, 1, 1), ATTR(8, 1)), NULL},
		{TEST_LAUNCH(GRID(1, 1, 1), BLOCK(1, 1, 1), ATTR(1, 0)),
		 "launch attribute 1 (access policy window) cannot be replayed"},
		{TEST_LAUNCH(GRID(1, 1, 1), BLOCK(1, 1, 1), ATTR(7, 0)),
		 "launch attribute 7 (programmatic event) cannot be replayed"},
		{TEST_LAUNCH(GRID(1, 1, 1), BLOCK(1, 1, 1), ATTR(15, 0)),
		 "launch attribute 15 (unknown) cannot be replayed"},
		{TEST_LAUNCH(GRID(1, 1, 1), BLOCK(1, 1, 1), ATTR(UINT32_MAX, 0)),
		 "launch attribute 4294967295 (unknown) cannot be replayed"},
		{TEST_LAUNCH(GRID(1, 1, 1), BLOCK(1, 1, 1), .n_attrs = 2,
			     .attrs = {{.id = 8}, {.id = 8}}),
		 "launch attribute 'priority' twice"},
		{TEST_LAUNCH(GRID(4, 2, 1), BLOCK(1, 1, 1), ATTR(4, 2, 0, 0, 0, 2, 0, 0, 0, 1)),
		 NULL},
		{TEST_LAUNCH(GRID(3, 2, 1), BLOCK(1, 1, 1), ATTR(4, 2, 0, 0, 0, 2, 0, 0, 0, 1)),
		 "clusters of 2x2x1 do not divide a grid of 3x2x1"},
		{TEST_LAUNCH(GRID(4, 2, 1), BLOCK(1, 1, 1), ATTR(4, 2, 0, 0, 0, 2, 0, 0, 0, 0)),
		 "clusters of 2x2x0 do not divide a grid of 4x2x1"},
		{TEST_LAUNCH(GRID(16, 2, 1), BLOCK(1, 1, 1), ATTR(4, 16, 0, 0, 0, 2, 0, 0, 0, 1)),
		 "clusters of 32 blocks"},

		{TEST_MEMSET(POOL, 1, 64, 1, 0), NULL},
		{TEST_MEMSET(POOL, 1, 65, 1, 0),
		 "destination of 65 bytes at block 0+0 (0x2acb00000000), "
		 "which is not wholly in an argument or in memory "
		 "that torch allocated"},
		{TEST_MEMSET(POOL, 4, 2, 4, 16), NULL}, /* 3 * 16 + 8 */
		{TEST_MEMSET(POOL, 4, 2, 5, 16), "destination of 72 bytes at block 0+0"},
		{TEST_MEMSET(POOL, 4, 2, 2, 10), "sets 2 rows of 2 elements, pitch 10"},
		{TEST_MEMSET(POOL, 4, 2, 2, 4), "sets 2 rows of 2 elements, pitch 4"},
		{TEST_MEMSET(POOL, 4, 2, 2, 7), "sets 2 rows of 2 elements, pitch 7"},
		{TEST_MEMSET(POOL + 2, 4, 1, 1, 0), "sets elements of 4 bytes at 0x2acb00000002"},
		{TEST_MEMSET(POOL, 4, UINT64_C(1) << 62, 1, 0), "sets 1 rows of "},
		{TEST_MEMSET(POOL, 1, 1, UINT64_MAX, 2), "sets 18446744073709551615 rows of 1 "},
		{TEST_MEMSET(POOL, 1, 2, 2, UINT64_MAX - 1), "sets 2 rows of 2 elements"},
		{TEST_MEMSET(ARENA + (1 << 20) - 4, 4, 1, 1, 0), NULL},
		{TEST_MEMSET(ARENA + (1 << 20) - 4, 1, 5, 1, 0), "destination of 5 bytes at out+"},
		{TEST_MEMSET(ARENA + (1 << 20), 1, 1, 1, 0), "destination of 1 bytes at 0x1357"},
		{TEST_MEMSET(ARENA + KGB_ARENA_STRIDE + (1 << 20) - 4, 4, 1, 1, 0), NULL},
		{TEST_MEMSET(ARENA + KGB_ARENA_STRIDE + (1 << 20), 1, 1, 1, 0),
		 "destination of 1 bytes at 0x1367"},
		{TEST_MEMSET(ARENA + KGB_ARENA_SPAN, 1, 1, 1, 0),
		 "destination of 1 bytes at 0x1378"},
		{TEST_MEMSET(ARENA - 1, 1, 2, 1, 0), "destination of 2 bytes at 0x1356ffffffff"},
		{TEST_MEMSET(0, 1, 1, 1, 0), "destination of 1 bytes at 0x0 (0x0)"},
		{TEST_COPY(POOL, ARENA, 64), NULL},
		{TEST_COPY(POOL, ARENA, 65), "destination of 65 bytes at block 0+0"},
		{TEST_COPY(ARENA, POOL + 60, 5), "source of 5 bytes at block 0+60"},
		{TEST_COPY(ARENA, POOL + 64, 1), "source of 1 bytes at block 0+64"},
		{TEST_COPY(POOL, ARENA, UINT64_MAX),
		 "destination of 18446744073709551615 bytes at"},
		{TEST_COPY(UINT64_MAX, ARENA, 2), "destination of 2 bytes at 0xffffffffffffffff"},
		{TEST_UPLOAD(POOL + 32, 32), NULL},
		{TEST_UPLOAD(POOL + 33, 32), "destination of 32 bytes at block 0+33"},
		{TEST_UPLOAD(UINT64_MAX - 15, 32), "destination of 32 bytes at 0xfffffffffffffff0"},
		{{.kind = KGB_OP_DOWNLOAD, .download = {.src = POOL, .bytes = 4}},
		 "the host reads 4 bytes at block 0+0"},
		{{.kind = KGB_OP_UNSUPPORTED, .why = "cuMemcpy2D"},
		 "cannot be replayed: cuMemcpy2D"},
		{{.kind = KGB_OP_SYNC}, NULL},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct call call;
		struct kgb_err finding = KGB_ERR_INIT;
		call_begin(&call, 2, 0);
		add_block(&call, POOL, 64);
		add_op(&call, &cases[i].op);
		const bool good = check_call(call_end(&call, 0), &test_owners, &finding);
		if (good != !cases[i].text)
			fail_msg("case %zu: '%s', not '%s'", i, finding.msg,
				 cases[i].text ? cases[i].text : "");
		if (!good) {
			assert_contains(finding.msg, cases[i].text);
			assert_true(strncmp(finding.msg, "op 0", 4) == 0);
		}
		call_release(&call);
	}
}

static void test_blocks_that_cannot_be_mapped_are_refused(void **state)
{
	static const struct {
		struct kgb_block block;
		const char *text; /* NULL: fine */
	} cases[] = {
		{{.address = POOL, .bytes = KGB_POOL_BYTES}, NULL},
		{{.address = POOL + 1, .bytes = KGB_POOL_BYTES},
		 "a block of 1099511627776 bytes at 0x2acb00000001 lies outside the pool"},
		{{.address = POOL - 1, .bytes = 2}, "lies outside the pool"},
		{{.address = ARENA, .bytes = 1}, "lies outside the pool"},
		{{.address = POOL, .bytes = UINT64_MAX}, "ends beyond all addresses"},
		{{.address = UINT64_MAX, .bytes = 1}, "ends beyond all addresses"},
		{{.address = UINT64_MAX - 7, .bytes = 16}, "ends beyond all addresses"},
		{{.address = 99, .bytes = 0}, NULL}, /* nothing */
		{{.address = UINT64_C(0x7f0000000000), .bytes = 4096, .foreign = true}, NULL},
		{{.address = POOL + KGB_POOL_BYTES, .bytes = 1, .foreign = true}, NULL},
		{{.address = POOL + KGB_POOL_BYTES - 1, .bytes = 2, .foreign = true},
		 "of the candidate's own lies in our address ranges"},
		{{.address = 1 << 21, .bytes = KGB_POOL_ADDRESS, .foreign = true},
		 "of the candidate's own lies in our address ranges"},
		{{.address = ARENA - 1, .bytes = 2, .foreign = true},
		 "of the candidate's own lies in our address ranges"},
		{{.address = ARENA + 4096, .bytes = 4096, .foreign = true},
		 "of the candidate's own lies in our address ranges"},
		{{.address = 0, .bytes = 4096, .foreign = true}, "at the bottom of all addresses"},
		{{.address = (UINT64_C(1) << 47) - 1, .bytes = 2, .foreign = true},
		 "ends beyond all addresses"},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct call call;
		struct kgb_err finding = KGB_ERR_INIT;
		call_begin(&call, 2, 0);
		kgb_record_put_block(&call.bytes, &cases[i].block);
		const bool good = check_call(call_end(&call, 0), &test_owners, &finding);
		if (good != !cases[i].text)
			fail_msg("case %zu: '%s'", i, finding.msg);
		if (!good) {
			assert_contains(finding.msg, cases[i].text);
		}
		call_release(&call);
	}
}

static void test_blocks_that_overlap_are_one_memory(void **state)
{
	struct call call;
	struct kgb_err finding = KGB_ERR_INIT;

	(void)state;
	call_begin(&call, 2, 0);
	add_block(&call, POOL, 100);
	add_block(&call, POOL, 50);
	add_block(&call, POOL + 96, 32);
	add_block(&call, POOL + 16, 8); /* inside */
	add_block(&call, POOL + 128, 32); /* beside it */
	add_memset(&call, POOL, 128);
	assert_true(check_call(call_end(&call, 0), &test_owners, &finding));
	call_release(&call);

	call_begin(&call, 2, 0);
	add_block(&call, POOL, 128);
	add_block(&call, POOL + 128, 32);
	add_memset(&call, POOL, 129);
	assert_false(check_call(call_end(&call, 0), &test_owners, &finding));
	call_release(&call);
}

static void test_memory_of_the_candidates_own_needs_leave(void **state)
{
	const struct kgb_block block = {
		.address = UINT64_C(0x7f0000000000), .bytes = 4096, .foreign = true};

	(void)state;
	for (int leave = 0; leave < 2; leave++) {
		struct call call;
		struct kgb_err finding = KGB_ERR_INIT;
		call_begin(&call, 2, 0);
		kgb_record_put_block(&call.bytes, &block);
		add_memset(&call, block.address, 16);
		call_end(&call, 0);
		call.capture.foreign_ok = leave != 0;
		assert_int_equal(check_call(&call.capture, &test_owners, &finding), leave != 0);
		call_release(&call);
	}
}

static void test_order_that_only_the_host_keeps_is_refused(void **state)
{
	static const struct {
		const char *ops; /* digits: work on that stream; s: the host waits */
		bool good;
	} cases[] = {
		{"11s11", true}, {"12", true},    {"12s", true},
		{"s12", true},   {"1s2", false},  {"12s1", false},
		{"1s1s1", true}, {"1s12", false}, {"s1s1s2", false},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct call call;
		struct kgb_err finding = KGB_ERR_INIT;
		call_begin(&call, 2, 0);
		for (const char *c = cases[i].ops; *c; c++) {
			struct kgb_op op = good_launch;
			if (*c == 's')
				op.kind = KGB_OP_SYNC;
			else
				op.stream = (uint64_t)*c;
			add_op(&call, &op);
		}
		if (check_call(call_end(&call, 0), &test_owners, &finding) != cases[i].good)
			fail_msg("%s: '%s'", cases[i].ops, finding.msg);
		if (!cases[i].good)
			assert_contains(finding.msg, "ordered by the host's waiting");
		call_release(&call);
	}
}

static void test_streams_are_limited(void **state)
{
	(void)state;
	for (uint64_t n = 32; n <= 33; n++) {
		struct call call;
		struct kgb_err finding = KGB_ERR_INIT;
		call_begin(&call, 2, 0);
		for (uint64_t i = 0; i < n; i++) {
			struct kgb_op op = good_launch;
			op.stream = i * 1000;
			add_op(&call, &op);
		}
		assert_int_equal(check_call(call_end(&call, 0), &test_owners, &finding), n == 32);
		if (n == 33)
			assert_string_equal(finding.msg, "op 32 uses one more than 32 streams");
		call_release(&call);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_what_can_be_replayed_passes),
		cmocka_unit_test(test_blocks_that_cannot_be_mapped_are_refused),
		cmocka_unit_test(test_blocks_that_overlap_are_one_memory),
		cmocka_unit_test(test_memory_of_the_candidates_own_needs_leave),
		cmocka_unit_test(test_order_that_only_the_host_keeps_is_refused),
		cmocka_unit_test(test_streams_are_limited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
