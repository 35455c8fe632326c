/* SPDX-License-Identifier: MIT */
/* What kgb-exec decides before it needs a GPU: requests, spans of memory, plans that cannot be
 * replayed. */
#include <elf.h>

#include "tests/unit/base/support.h"
#include "verify/protocol/exec_request.h"
#include "verify/protocol/plan_check.h"
#include "verify/protocol/spans.h"

static struct kgb_exec_request request_of(enum kgb_exec_op op)
{
	struct kgb_exec_request request = {
		.magic = KGB_EXEC_MAGIC, .version = KGB_EXEC_VERSION, .op = (uint16_t)op, .id = 1};

	if (op == KGB_EXEC_ARENA) {
		request.arena_bytes = 100;
		request.n_slots = 2;
		request.output_bytes = 4096;
	}
	if (op == KGB_EXEC_RUN || op == KGB_EXEC_TIME) {
		request.prologue = KGB_EXEC_NO_PLAN;
		request.skip = -1;
	}
	if (op == KGB_EXEC_TIME) {
		request.n_samples = 10;
		request.n_slots = 2;
	}
	return request;
}

static size_t fds_of(enum kgb_exec_op op)
{
	return op == KGB_EXEC_ARENA ? 2 : op == KGB_EXEC_PLAN ? 1 : 0;
}

static void test_good_requests_of_every_kind_pass(void **state)
{
	(void)state;
	for (int op = 0; op < KGB_EXEC_N_OPS; op++) {
		struct kgb_exec_request request = request_of((enum kgb_exec_op)op);
		struct kgb_err err = KGB_ERR_INIT;
		assert_ok(kgb_exec_request_check(&request, sizeof(request),
						 fds_of((enum kgb_exec_op)op), &err),
			  err);
	}
}

static void test_turns_keep_elements_whole_and_differ_from_slot_to_slot(void **state)
{
	static const struct {
		uint64_t bytes;
		uint32_t slot, n_slots;
		uint64_t turn;
	} rows[] = {
		{0, 3, 8, 0},
		{2047, 7, 8, 1536},
		{2040, 1, 8, 0},
		{4096, 0, 8, 0},
		{4096, 1, 8, 512},
		{4096, 7, 8, 3584},
		{UINT64_C(1) << 40, 255, 256, (UINT64_C(255) << 32)},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		const uint64_t turn = kgb_exec_turn(rows[i].bytes, rows[i].slot, rows[i].n_slots);
		assert_int_equal(turn, rows[i].turn);
		assert_true(turn % 256 == 0 && (turn == 0 || turn < rows[i].bytes));
	}
}

static void test_requests_of_wrong_length_or_with_other_descriptors_are_refused(void **state)
{
	(void)state;
	for (int op = 0; op < KGB_EXEC_N_OPS; op++) {
		struct kgb_exec_request request = request_of((enum kgb_exec_op)op);
		struct kgb_err err = KGB_ERR_INIT;
		size_t n_fds = fds_of((enum kgb_exec_op)op);
		assert_int_equal(kgb_exec_request_check(&request, sizeof(request) - 1, n_fds, &err),
				 -1);
		assert_int_equal(kgb_exec_request_check(&request, sizeof(request) + 1, n_fds, &err),
				 -1);
		assert_int_equal(kgb_exec_request_check(&request, sizeof(request), n_fds + 1, &err),
				 -1);
		if (n_fds > 0)
			assert_int_equal(kgb_exec_request_check(&request, sizeof(request), 0, &err),
					 -1);
	}
}

#define FIELD(name) \
#name, offsetof(struct kgb_exec_request, name), sizeof(((struct kgb_exec_request *)0)->name)

struct bad_field {
	enum kgb_exec_op op;
	const char *name;
	size_t offset, size;
	uint64_t value;
};

static const struct bad_field bad_fields[] = {
	{KGB_EXEC_OPEN, FIELD(magic), 1},
	{KGB_EXEC_OPEN, FIELD(version), KGB_EXEC_VERSION + 1},
	{KGB_EXEC_OPEN, FIELD(op), KGB_EXEC_N_OPS},
	{KGB_EXEC_OPEN, FIELD(placement), 1},
	{KGB_EXEC_OPEN, FIELD(plan), 1},
	{KGB_EXEC_OPEN, FIELD(poison), 1},
	{KGB_EXEC_OPEN, FIELD(n_slots), 1},
	{KGB_EXEC_OPEN, FIELD(arena_bytes), 1},
	{KGB_EXEC_OPEN, FIELD(ranges[0].bytes), 1},
	{KGB_EXEC_ARENA, FIELD(arena_bytes), 0},
	{KGB_EXEC_ARENA, FIELD(arena_bytes), KGB_ARENA_BYTES_MAX + 1},
	{KGB_EXEC_ARENA, FIELD(arena_bytes), UINT64_MAX},
	{KGB_EXEC_ARENA, FIELD(n_slots), 0},
	{KGB_EXEC_ARENA, FIELD(n_slots), KGB_EXEC_SLOTS_MAX + 1},
	{KGB_EXEC_ARENA, FIELD(n_turned), 2},
	{KGB_EXEC_ARENA, FIELD(set), 1},
	{KGB_EXEC_TIME, FIELD(set), 1},
	{KGB_EXEC_FORGET, FIELD(set), 1},
	{KGB_EXEC_SELECT, FIELD(set), KGB_EXEC_SETS_MAX},
	{KGB_EXEC_SELECT, FIELD(plan), 1},
	{KGB_EXEC_PLACE, FIELD(placement), KGB_EXEC_NO_PLACEMENT},
	{KGB_EXEC_ARENA, FIELD(output_bytes), 99},
	{KGB_EXEC_ARENA, FIELD(output_bytes), UINT64_MAX},
	{KGB_EXEC_ARENA, FIELD(device), 1},
	{KGB_EXEC_ARENA, FIELD(n_ranges), KGB_EXEC_RANGES + 1},
	{KGB_EXEC_ARENA, FIELD(ranges[0].bytes), 1},
	{KGB_EXEC_ARENA, FIELD(placement), 1},
	{KGB_EXEC_ARENA, FIELD(flags), 1},
	{KGB_EXEC_PLAN, FIELD(n_ranges), 1},
	{KGB_EXEC_PLAN, FIELD(plan), KGB_EXEC_PLANS_MAX},
	{KGB_EXEC_PLAN, FIELD(plan), KGB_EXEC_NO_PLAN},
	{KGB_EXEC_PLAN, FIELD(skip), 1},
	{KGB_EXEC_RUN, FIELD(plan), KGB_EXEC_PLANS_MAX},
	{KGB_EXEC_RUN, FIELD(prologue), KGB_EXEC_PLANS_MAX},
	{KGB_EXEC_RUN, FIELD(slot), KGB_EXEC_SLOTS_MAX},
	{KGB_EXEC_RUN, FIELD(skip), (uint32_t)-2},
	{KGB_EXEC_RUN, FIELD(skip), KGB_RECORD_OPS_MAX},
	{KGB_EXEC_RUN, FIELD(n_ranges), KGB_EXEC_RANGES + 1},
	{KGB_EXEC_RUN, FIELD(n_ranges), UINT32_MAX},
	{KGB_EXEC_RUN, FIELD(ranges[3].address), 1},
	{KGB_EXEC_RUN, FIELD(n_samples), 1},
	{KGB_EXEC_RUN, FIELD(flags), KGB_EXEC_WITH_ACTIVITY},
	{KGB_EXEC_RUN, FIELD(n_turned), 1},
	{KGB_EXEC_RUN, FIELD(flush_bytes), 1},
	{KGB_EXEC_RUN, FIELD(placement), 1},
	{KGB_EXEC_TIME, FIELD(skip), 0},
	{KGB_EXEC_TIME, FIELD(n_samples), 0},
	{KGB_EXEC_TIME, FIELD(n_samples), KGB_EXEC_SAMPLES_MAX + 1},
	{KGB_EXEC_TIME, FIELD(n_slots), 0},
	{KGB_EXEC_TIME, FIELD(slot), 2},
	{KGB_EXEC_TIME, FIELD(flags), 4},
	{KGB_EXEC_TIME, FIELD(flush_bytes), KGB_EXEC_FLUSH_MAX + 1},
	{KGB_EXEC_PLACE, FIELD(plan), 1},
	{KGB_EXEC_PLACE, FIELD(flush_bytes), 1},
	{KGB_EXEC_FORGET, FIELD(plan), 1},
};

static void test_every_bad_field_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(bad_fields); i++) {
		const struct bad_field *bad = &bad_fields[i];
		struct kgb_exec_request request = request_of(bad->op);
		struct kgb_err err = KGB_ERR_INIT;
		memcpy((char *)&request + bad->offset, &bad->value, bad->size);
		if (kgb_exec_request_check(&request, sizeof(request), fds_of(bad->op), &err) == 0)
			fail_msg("%s: %s = %llu was taken", kgb_exec_op_name(bad->op), bad->name,
				 (unsigned long long)bad->value);
		assert_int_equal(err.kind, KGB_ERR_INVALID);
	}
}

static void test_ranges_that_wrap_around_are_refused(void **state)
{
	struct kgb_exec_request request = request_of(KGB_EXEC_RUN);
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	request.n_ranges = 2;
	request.ranges[0] = (struct kgb_exec_range){KGB_POOL_ADDRESS, 10};
	request.ranges[1] = (struct kgb_exec_range){UINT64_MAX - 5, 10};
	assert_int_equal(kgb_exec_request_check(&request, sizeof(request), 0, &err), -1);
	request.ranges[1] = (struct kgb_exec_range){0, KGB_EXEC_OUTPUT_MAX + 1};
	assert_int_equal(kgb_exec_request_check(&request, sizeof(request), 0, &err), -1);
	request.ranges[1] = (struct kgb_exec_range){0, 0};
	assert_ok(kgb_exec_request_check(&request, sizeof(request), 0, &err), err);
}

static void test_parts_of_the_arena_lie_in_it_in_order(void **state)
{
	static const struct {
		struct kgb_exec_range parts[2];
		bool good;
	} cases[] = {
		{{{KGB_ARENA_ADDRESS, 50}, {KGB_ARENA_ADDRESS + 50, 50}}, true},
		{{{KGB_ARENA_ADDRESS + 1, 1}, {KGB_ARENA_ADDRESS + 99, 1}}, true},
		{{{KGB_ARENA_ADDRESS, 51}, {KGB_ARENA_ADDRESS + 50, 50}}, false},
		{{{KGB_ARENA_ADDRESS + 50, 50}, {KGB_ARENA_ADDRESS, 50}}, false},
		{{{KGB_ARENA_ADDRESS - 1, 50}, {KGB_ARENA_ADDRESS + 50, 50}}, false},
		{{{KGB_ARENA_ADDRESS, 50}, {KGB_ARENA_ADDRESS + 50, 51}}, false},
		{{{KGB_ARENA_ADDRESS, 50}, {KGB_ARENA_ADDRESS + 60, UINT64_MAX}}, false},
		{{{KGB_ARENA_ADDRESS, 0}, {KGB_ARENA_ADDRESS + 60, 1}}, false},
		{{{KGB_ARENA_ADDRESS, 1}, {0, 0}}, false},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_exec_request request = request_of(KGB_EXEC_ARENA);
		struct kgb_err err = KGB_ERR_INIT;
		request.n_ranges = 2;
		memcpy(request.ranges, cases[i].parts, sizeof(cases[i].parts));
		if ((kgb_exec_request_check(&request, sizeof(request), 2, &err) == 0) !=
		    cases[i].good)
			fail_msg("row %zu: %s", i, err.msg);
	}
}

static void test_results_lie_one_after_the_other_at_multiples_of_64(void **state)
{
	struct kgb_exec_request request = request_of(KGB_EXEC_TIME);
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_exec_layout layout;

	(void)state;
	request.n_ranges = 3;
	request.ranges[0].bytes = 1;
	request.ranges[1].bytes = 0;
	request.ranges[2].bytes = 129;
	assert_ok(kgb_exec_layout(&request, 100, &layout, &err), err);
	assert_int_equal(layout.ranges[0], 128);
	assert_int_equal(layout.ranges[1], 192);
	assert_int_equal(layout.ranges[2], 192);
	assert_int_equal(layout.samples, 384);
	assert_int_equal(layout.bytes, 384 + 10 * sizeof(struct kgb_exec_sample));
	request.op = KGB_EXEC_RUN;
	assert_ok(kgb_exec_layout(&request, 128, &layout, &err), err);
	assert_int_equal(layout.ranges[0], 128);
	assert_int_equal(layout.samples, 0);
	assert_int_equal(layout.bytes, 321);
}

static void test_more_results_than_any_memory_are_refused(void **state)
{
	struct kgb_exec_request request = request_of(KGB_EXEC_RUN);
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_exec_layout layout;

	(void)state;
	request.n_ranges = KGB_EXEC_RANGES;
	for (int i = 0; i < KGB_EXEC_RANGES; i++)
		request.ranges[i].bytes = KGB_EXEC_OUTPUT_MAX;
	assert_int_equal(kgb_exec_layout(&request, KGB_ARENA_BYTES_MAX, &layout, &err), -1);
}

static void test_poison_is_what_its_description_says(void **state)
{
	(void)state;
	/* Worked out by hand from the formula, with seed 0 and address 0 the fixed point. */
	assert_true(kgb_exec_poison_word(0, 0) == 0);
	uint64_t x = 5 + 3 * UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	assert_true(kgb_exec_poison_word(5, 24) == (x ^ x >> 32));
}

static void test_poison_has_as_many_ones_as_zeros(void **state)
{
	long n_ones = 0;

	(void)state;
	for (uint64_t i = 0; i < 100000; i++)
		n_ones +=
			__builtin_popcountll(kgb_exec_poison_word(12345, KGB_POOL_ADDRESS + 8 * i));
	/* 6.4 million bits: one standard deviation is 1,265. */
	assert_in_range(n_ones, 3200000 - 8000, 3200000 + 8000);
}

/* --- spans --- */

struct span_case {
	const char *name;
	struct kgb_span a[5], b[5], difference[6];
};

static const struct span_case span_cases[] = {
	{"nothing from nothing", {{0}}, {{0}}, {{0}}},
	{"nothing taken", {{10, 5}}, {{0}}, {{10, 5}}},
	{"all taken", {{10, 5}}, {{10, 5}}, {{0}}},
	{"more than all", {{10, 5}, {20, 5}}, {{1, 100}}, {{0}}},
	{"a hole", {{10, 10}}, {{12, 3}}, {{10, 2}, {15, 5}}},
	{"two holes", {{10, 10}}, {{11, 1}, {13, 1}}, {{10, 1}, {12, 1}, {14, 6}}},
	{"both ends", {{10, 10}}, {{5, 6}, {19, 9}}, {{11, 8}}},
	{"one over two", {{10, 5}, {20, 5}}, {{12, 10}}, {{10, 2}, {22, 3}}},
	{"neighbours stay", {{10, 5}}, {{5, 5}, {15, 5}}, {{10, 5}}},
	{"unsorted, overlapping", {{20, 5}, {10, 5}, {12, 8}}, {{11, 1}}, {{10, 1}, {12, 13}}},
	{"high addresses",
	 {{UINT64_C(1) << 46, 100}},
	 {{(UINT64_C(1) << 46) + 1, 98}},
	 {{UINT64_C(1) << 46, 1}, {(UINT64_C(1) << 46) + 99, 1}}},
};

static void put_list(struct kgb_spans *spans, const struct kgb_span *list, size_t max)
{
	for (size_t i = 0; i < max && list[i].bytes > 0; i++)
		kgb_spans_put(spans, list[i].start, list[i].bytes);
	kgb_spans_normalize(spans);
}

static void test_spans_are_joined_and_subtracted(void **state)
{
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(span_cases); i++) {
		const struct span_case *c = &span_cases[i];
		KGB_AUTO(spans) struct kgb_spans a = KGB_SPANS_INIT;
		KGB_AUTO(spans) struct kgb_spans b = KGB_SPANS_INIT;
		KGB_AUTO(spans) struct kgb_spans out = KGB_SPANS_INIT;
		size_t n = 0;
		put_list(&a, c->a, 5);
		put_list(&b, c->b, 5);
		kgb_spans_subtract(&a, &b, &out);
		while (n < 6 && c->difference[n].bytes > 0)
			n++;
		if (out.n != n || memcmp(out.items ? out.items : c->difference, c->difference,
					 n * sizeof(c->difference[0])) != 0)
			fail_msg("%s", c->name);
	}
}

static void test_blocks_on_one_page_share_it(void **state)
{
	KGB_AUTO(spans) struct kgb_spans spans = KGB_SPANS_INIT;

	(void)state;
	kgb_spans_put(&spans, KGB_POOL_ADDRESS + 100, 10);
	kgb_spans_put(&spans, KGB_POOL_ADDRESS + KGB_GPU_PAGE - 1, 2);
	kgb_spans_put(&spans, KGB_POOL_ADDRESS + 7 * KGB_GPU_PAGE, 1);
	kgb_spans_put(&spans, KGB_POOL_ADDRESS + 500, 0);
	kgb_spans_round(&spans, KGB_GPU_PAGE);
	assert_int_equal(spans.n, 2);
	assert_true(spans.items[0].start == KGB_POOL_ADDRESS);
	assert_true(spans.items[0].bytes == 2 * KGB_GPU_PAGE);
	assert_true(spans.items[1].bytes == KGB_GPU_PAGE);
	assert_true(kgb_spans_total(&spans) == 3 * KGB_GPU_PAGE);
}

static void test_spans_hold_what_lies_in_one_of_them(void **state)
{
	KGB_AUTO(spans) struct kgb_spans spans = KGB_SPANS_INIT;

	(void)state;
	assert_false(kgb_spans_hold(&spans, 0, 1));
	kgb_spans_put(&spans, 100, 10);
	kgb_spans_put(&spans, 200, 10);
	kgb_spans_normalize(&spans);
	assert_true(kgb_spans_hold(&spans, 100, 10));
	assert_true(kgb_spans_hold(&spans, 109, 1));
	assert_true(kgb_spans_hold(&spans, 5, 0));
	assert_false(kgb_spans_hold(&spans, 99, 1));
	assert_false(kgb_spans_hold(&spans, 100, 11));
	assert_false(kgb_spans_hold(&spans, 110, 1));
	assert_false(kgb_spans_hold(&spans, 105, 100));
	assert_false(kgb_spans_hold(&spans, 209, UINT64_MAX));
	assert_false(kgb_spans_hold(&spans, UINT64_MAX, 2));
	assert_true(kgb_spans_touch(&spans, 99, 2));
	assert_true(kgb_spans_touch(&spans, 109, 5));
	assert_true(kgb_spans_touch(&spans, 105, 100));
	assert_true(kgb_spans_touch(&spans, 0, 10000));
	assert_false(kgb_spans_touch(&spans, 99, 1));
	assert_false(kgb_spans_touch(&spans, 110, 1));
	assert_false(kgb_spans_touch(&spans, 105, 0));
}

/* --- plans --- */

struct plan {
	struct kgb_record record;
	struct kgb_op op;
	struct kgb_block block;
	struct kgb_image image;
};

/* A record of one op, no block, no image. */
static void make_plan(struct plan *plan, struct kgb_op op)
{
	memset(plan, 0, sizeof(*plan));
	plan->op = op;
	plan->record.n_windows = 1;
	plan->record.windows[0] = (struct kgb_window){.number = 1, .ops = &plan->op, .n_ops = 1};
}

static struct kgb_op launch(void)
{
	return (struct kgb_op){
		.kind = KGB_OP_LAUNCH,
		.launch = {.kernel = "k", .grid = {1, 1, 1}, .block = {32, 1, 1}, .carveout = -1}};
}

static struct kgb_op launch_of(uint32_t grid_y, uint32_t block_x, uint32_t block_z, int carveout)
{
	struct kgb_op op = launch();

	op.launch.grid[1] = grid_y;
	op.launch.block[0] = block_x;
	op.launch.block[2] = block_z;
	op.launch.carveout = carveout;
	return op;
}

static struct kgb_op attr_of(uint32_t id)
{
	struct kgb_op op = launch();

	op.launch.n_attrs = 1;
	op.launch.attrs[0].id = id;
	return op;
}

static struct kgb_op memset_of(uint64_t dst, uint32_t size, uint64_t width, uint64_t height,
			       uint64_t pitch)
{
	return (struct kgb_op){.kind = KGB_OP_MEMSET,
			       .memset = {.dst = dst,
					  .pitch = pitch,
					  .element_bytes = size,
					  .width = width,
					  .height = height}};
}

static void test_ops_that_cannot_be_repeated_are_named(void **state)
{
	const struct {
		const char *name;
		struct kgb_op op;
		const char *message; /* NULL: good */
	} cases[] = {
		{"launch", launch(), NULL},
		{"empty grid", launch_of(0, 32, 1, -1), "grid"},
		{"empty block", launch_of(1, 0, 1, -1), "block"},
		{"too many threads", launch_of(1, 1024, 2, -1), "threads"},
		{"block that overflows", launch_of(1, UINT32_MAX, UINT32_MAX, -1), "block"},
		{"carveout", launch_of(1, 32, 1, 101), "101 % of L1"},
		{"cooperative", attr_of(2), NULL},
		{"cluster without blocks", attr_of(4), "clusters of 0x0x0"},
		{"programmatic serialization", attr_of(6), NULL},
		{"a handle of an event", attr_of(7), "attribute 7"},
		{"a handle of another event", attr_of(12), "attribute 12"},
		{"a node of a graph", attr_of(13), "attribute 13"},
		{"unknown attribute", attr_of(1000), "attribute 1000"},
		{"memset", memset_of(0x1000, 4, 10, 1, 0), NULL},
		{"memset of odd elements", memset_of(0x1000, 3, 10, 1, 0), "elements of 3"},
		{"memset of large elements", memset_of(0x1000, 8, 10, 1, 0), "elements of 8"},
		{"misaligned memset", memset_of(0x1001, 2, 10, 1, 0), "elements of 2"},
		{"memset of nothing", memset_of(0x1000, 1, 0, 1, 0), "elements"},
		{"memset of no rows", memset_of(0x1000, 1, 1, 0, 0), "elements"},
		{"rows that overlap", memset_of(0x1000, 4, 10, 2, 39), "pitch"},
		{"row that overflows", memset_of(0x1000, 4, UINT64_MAX / 2, 1, 0), "rows"},
		{"rows that overflow", memset_of(0x1000, 1, 1, UINT64_MAX, 16), "pitch"},
		{"download", {.kind = KGB_OP_DOWNLOAD, .download = {0, 8}}, NULL},
		{"large download",
		 {.kind = KGB_OP_DOWNLOAD, .download = {0, KGB_EXEC_DOWNLOAD_MAX + 1}},
		 "bytes"},
		{"unsupported",
		 {.kind = KGB_OP_UNSUPPORTED, .why = "cuGraphLaunch"},
		 "cuGraphLaunch"},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(free) struct plan *plan = kgb_xmalloc(sizeof(*plan));
		struct kgb_err err = KGB_ERR_INIT;
		make_plan(plan, cases[i].op);
		int rc = kgb_exec_check_plan(&plan->record, kgb_exec_check_image, &err);
		if ((rc == 0) != !cases[i].message)
			fail_msg("%s: %d %s", cases[i].name, rc, err.msg);
		if (rc < 0 && (!strstr(err.msg, cases[i].message) || !strstr(err.msg, "op 0")))
			fail_msg("%s: '%s'", cases[i].name, err.msg);
	}
}

static void test_blocks_in_impossible_places_are_named(void **state)
{
	const struct {
		const char *name;
		struct kgb_block block;
		const char *message;
	} cases[] = {
		{"pool", {KGB_POOL_ADDRESS, 100, false, true, false}, NULL},
		{"whole pool", {KGB_POOL_ADDRESS, KGB_POOL_BYTES, false, true, false}, NULL},
		{"elsewhere", {UINT64_C(0x7f0000000000), 100, true, true, false}, NULL},
		{"empty", {KGB_POOL_ADDRESS, 0, false, true, false}, "0 bytes"},
		{"null page", {0, 100, true, true, false}, "bottom"},
		{"wraps", {UINT64_MAX - 10, 100, true, true, false}, "beyond"},
		{"too high", {KGB_GPU_ADDRESS_END - 10, 11, true, true, false}, "beyond"},
		{"arena", {KGB_ARENA_ADDRESS + 10, 1, false, true, false}, "outside"},
		{"in the arena", {KGB_ARENA_ADDRESS + 10, 1, true, true, false}, "ranges"},
		{"into the arena", {KGB_ARENA_ADDRESS - 1, 2, true, true, false}, "ranges"},
		{"around the arena",
		 {KGB_ARENA_ADDRESS - 1, KGB_ARENA_BYTES_MAX + 2, true, true, false},
		 "ranges"},
		{"into the pool", {KGB_POOL_ADDRESS - 1, 2, true, true, false}, "ranges"},
		{"out of the pool",
		 {KGB_POOL_ADDRESS, KGB_POOL_BYTES + 1, false, true, false},
		 "outside"},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(free) struct plan *plan = kgb_xmalloc(sizeof(*plan));
		struct kgb_err err = KGB_ERR_INIT;
		make_plan(plan, launch());
		plan->record.windows[0].blocks = &cases[i].block;
		plan->record.windows[0].n_blocks = 1;
		int rc = kgb_exec_check_plan(&plan->record, kgb_exec_check_image, &err);
		if ((rc == 0) != !cases[i].message ||
		    (rc < 0 && !strstr(err.msg, cases[i].message)))
			fail_msg("%s: %d %s", cases[i].name, rc, err.msg);
	}
}

struct elf {
	Elf64_Ehdr head;
	Elf64_Phdr segment;
	Elf64_Shdr section;
	char text[16];
};

static struct elf good_elf(void)
{
	return (struct elf){
		.head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB},
			 .e_phoff = offsetof(struct elf, segment),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 1,
			 .e_shoff = offsetof(struct elf, section),
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = 1},
		.segment = {.p_offset = offsetof(struct elf, text), .p_filesz = 16},
		.section = {.sh_type = SHT_PROGBITS,
			    .sh_offset = offsetof(struct elf, text),
			    .sh_size = 16},
	};
}

static int check_bytes(const void *bytes, size_t len)
{
	const struct kgb_image image = {.id = 3, .bytes = bytes, .len = len};
	struct kgb_err err = KGB_ERR_INIT;

	return kgb_exec_check_image(&image, &err);
}

static void test_cubins_are_whole(void **state)
{
	struct elf elf = good_elf();

	(void)state;
	assert_int_equal(check_bytes(&elf, sizeof(elf)), 0);
	for (size_t len = 0; len < sizeof(elf); len++)
		assert_int_equal(check_bytes(&elf, len), -1);
	elf.section.sh_size = UINT64_MAX;
	assert_int_equal(check_bytes(&elf, sizeof(elf)), -1);
	elf.section.sh_type = SHT_NOBITS; /* memory of the kernel, no bytes of the file */
	assert_int_equal(check_bytes(&elf, sizeof(elf)), 0);
	elf = good_elf();
	elf.segment.p_offset = UINT64_MAX;
	assert_int_equal(check_bytes(&elf, sizeof(elf)), -1);
	elf = good_elf();
	elf.head.e_shoff = UINT64_MAX - 10;
	assert_int_equal(check_bytes(&elf, sizeof(elf)), -1);
	elf = good_elf();
	elf.head.e_shnum = UINT16_MAX;
	assert_int_equal(check_bytes(&elf, sizeof(elf)), -1);
	elf = good_elf();
	elf.head.e_shentsize = 1;
	assert_int_equal(check_bytes(&elf, sizeof(elf)), -1);
	elf = good_elf();
	elf.head.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(check_bytes(&elf, sizeof(elf)), -1);
}

static void test_fatbins_are_whole_and_not_pointers(void **state)
{
	struct {
		uint32_t magic;
		uint16_t version, header_bytes;
		uint64_t payload_bytes;
		char payload[32];
	} fatbin = {.magic = 0xba55ed50, .version = 1, .header_bytes = 16, .payload_bytes = 32};
	const struct {
		uint32_t magic, version;
		const void *data, *name;
	} wrapper = {0x466243b1, 1, &fatbin, NULL};

	(void)state;
	assert_int_equal(check_bytes(&fatbin, sizeof(fatbin)), 0);
	assert_int_equal(check_bytes(&fatbin, sizeof(fatbin) - 1), -1);
	assert_int_equal(check_bytes(&fatbin, 8), -1);
	fatbin.payload_bytes = UINT64_MAX;
	assert_int_equal(check_bytes(&fatbin, sizeof(fatbin)), -1);
	fatbin.payload_bytes = 32;
	fatbin.header_bytes = 4;
	assert_int_equal(check_bytes(&fatbin, sizeof(fatbin)), -1);
	assert_int_equal(check_bytes(&wrapper, sizeof(wrapper)), -1);
	assert_int_equal(check_bytes(".version 7.0\n", 14), -1);
}

static void test_ops_stay_in_the_memory_of_their_plan(void **state)
{
	const uint64_t at = KGB_POOL_ADDRESS;
	const struct {
		const char *name;
		struct kgb_op op;
		bool good;
	} cases[] = {
		{"memset", memset_of(at, 4, 25, 1, 0), true},
		{"memset behind", memset_of(at, 4, 26, 1, 0), false},
		{"pitch of one row", memset_of(at, 4, 25, 1, UINT64_MAX), true},
		{"rows", memset_of(at, 1, 10, 10, 10), true},
		{"rows with a short last one", memset_of(at, 1, 1, 10, 11), true},
		{"rows behind", memset_of(at, 1, 2, 10, 11), false},
		{"copy", {.kind = KGB_OP_COPY, .copy = {at, at + 50, 50}}, true},
		{"copy to nowhere", {.kind = KGB_OP_COPY, .copy = {at + 100, at, 1}}, false},
		{"copy from nowhere", {.kind = KGB_OP_COPY, .copy = {at, at - 1, 1}}, false},
		{"copy that wraps", {.kind = KGB_OP_COPY, .copy = {at, at, UINT64_MAX}}, false},
		{"upload", {.kind = KGB_OP_UPLOAD, .upload = {at + 99, 1, NULL}}, true},
		{"upload behind", {.kind = KGB_OP_UPLOAD, .upload = {at + 99, 2, NULL}}, false},
		{"download", {.kind = KGB_OP_DOWNLOAD, .download = {at, 100}}, true},
		{"download behind", {.kind = KGB_OP_DOWNLOAD, .download = {at, 101}}, false},
		{"launch", launch(), true},
		{"sync", {.kind = KGB_OP_SYNC}, true},
	};
	KGB_AUTO(spans) struct kgb_spans memory = KGB_SPANS_INIT;

	(void)state;
	kgb_spans_put(&memory, at, 100);
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		const struct kgb_window window = {.ops = &cases[i].op, .n_ops = 1};
		struct kgb_err err = KGB_ERR_INIT;
		if ((kgb_exec_check_memory(&window, &memory, &err) == 0) != cases[i].good)
			fail_msg("%s: %s", cases[i].name, err.msg);
	}
}

static void test_a_plan_has_one_window(void **state)
{
	KGB_AUTO(free) struct plan *plan = kgb_xmalloc(sizeof(*plan));
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	make_plan(plan, launch());
	plan->record.n_windows = 2;
	assert_int_equal(kgb_exec_check_plan(&plan->record, kgb_exec_check_image, &err), -1);
	plan->record.n_windows = 0;
	assert_int_equal(kgb_exec_check_plan(&plan->record, kgb_exec_check_image, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_requests_of_every_kind_pass),
		cmocka_unit_test(test_turns_keep_elements_whole_and_differ_from_slot_to_slot),
		cmocka_unit_test(
			test_requests_of_wrong_length_or_with_other_descriptors_are_refused),
		cmocka_unit_test(test_every_bad_field_is_refused),
		cmocka_unit_test(test_ranges_that_wrap_around_are_refused),
		cmocka_unit_test(test_parts_of_the_arena_lie_in_it_in_order),
		cmocka_unit_test(test_results_lie_one_after_the_other_at_multiples_of_64),
		cmocka_unit_test(test_more_results_than_any_memory_are_refused),
		cmocka_unit_test(test_poison_is_what_its_description_says),
		cmocka_unit_test(test_poison_has_as_many_ones_as_zeros),
		cmocka_unit_test(test_spans_are_joined_and_subtracted),
		cmocka_unit_test(test_blocks_on_one_page_share_it),
		cmocka_unit_test(test_spans_hold_what_lies_in_one_of_them),
		cmocka_unit_test(test_ops_that_cannot_be_repeated_are_named),
		cmocka_unit_test(test_blocks_in_impossible_places_are_named),
		cmocka_unit_test(test_cubins_are_whole),
		cmocka_unit_test(test_fatbins_are_whole_and_not_pointers),
		cmocka_unit_test(test_ops_stay_in_the_memory_of_their_plan),
		cmocka_unit_test(test_a_plan_has_one_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
