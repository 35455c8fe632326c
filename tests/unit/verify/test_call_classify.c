/* SPDX-License-Identifier: MIT */
#include "verify/record/call_classify.h"

#include <inttypes.h>

#include "tests/helpers/canonical_calls.h"
#include "tests/unit/verify/recorded_calls.h"

/* What an honest two-kernel candidate does: a zeroed scratch block, a kernel that adds into it, one
 * that writes the result to another block, all at addresses of this call; then `extra`. */
struct honest {
	uint32_t number, first_id;
	uint64_t shift; /* of the arguments in the arena */
	uint64_t pool; /* of the two blocks */
	uint64_t n; /* a scalar: two numbers of 4 bytes */
	void (*extra)(struct call *call, const struct honest *self);
};

static const struct kgb_recorded_call *honest_call(struct call *call, const struct honest *h)
{
	const uint64_t scratch = h->pool, result = h->pool + 4 * PAGE, x = ARENA + h->shift;
	const uint64_t fill[] = {scratch, 0xdeadbeef00000000u + h->number, 256};
	const uint64_t add[] = {x, x + 8192, scratch, h->n, 0, 0};
	const uint64_t mul[] = {scratch + 128, result, 1000};

	call_begin(call, h->number, h->first_id);
	add_block(call, result, 4096);
	add_block(call, scratch, 1024);
	add_launch(call, h->first_id + IMAGE_FILL, "fill", fill, 3);
	add_launch(call, h->first_id + IMAGE_ADD, "add_kernel", add, 6);
	add_launch(call, h->first_id + IMAGE_MUL, "mul_kernel", mul, 3);
	if (h->extra)
		h->extra(call, h);
	return call_end(call, h->shift);
}

static const struct honest second_call = {
	.number = 2, .first_id = 10, .shift = 4096, .pool = POOL, .n = 1000};
/* Everything lies elsewhere, the larger block first; images have other ids. */
static const struct honest third_call = {.number = 3,
					 .first_id = 500,
					 .shift = KGB_ARENA_STRIDE + 12288,
					 .pool = POOL + 64 * PAGE,
					 .n = 1000};

static struct kgb_classification classify_two(const struct honest *second,
					      const struct honest *third)
{
	struct call a, b;
	struct kgb_classification out;

	const struct kgb_recorded_call captures[] = {*honest_call(&a, second),
						     *honest_call(&b, third)};
	kgb_calls_classify(captures, 2, &test_owners, &out);
	call_release(&a);
	call_release(&b);
	return out;
}

static void assert_class(const struct kgb_classification *got, enum kgb_replay_class expected)
{
	if (got->replay != expected)
		fail_msg("class %d, not %d: %s", (int)got->replay, (int)expected, got->reason.msg);
}

static void test_the_same_work_on_other_memory_is_the_same(void **state)
{
	const struct kgb_classification out = classify_two(&second_call, &third_call);

	(void)state;
	assert_class(&out, KGB_REPLAY_REPLAYABLE);
	assert_string_equal(out.reason.msg, "");
	assert_true(out.upload_bytes == 0 && !out.older_memory);
	assert_false(out.prologue_ok);
}

static void test_a_changed_number_is_named_with_its_place(void **state)
{
	static const struct {
		uint64_t second, third;
		const char *text;
	} cases[] = {
		{1000, 1001,
		 "op 1 (launch add_kernel): parameter bytes 24 to 27: 1000 (0x3e8) in window 2, "
		 "1001 (0x3e9) in window 3"},
		{7 + (UINT64_C(5) << 32), 7 + (UINT64_C(6) << 32),
		 "op 1 (launch add_kernel): parameter bytes 28 to 31: 5 (0x5) in window 2, 6 (0x6) "
		 "in window 3"},
		{1 + (UINT64_C(1) << 32), 2 + (UINT64_C(2) << 32),
		 "op 1 (launch add_kernel): parameter bytes 24 to 31: 4294967297 (0x100000001) in "
		 "window 2, 8589934594 (0x200000002) in window 3"},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct honest second = second_call, third = third_call;
		second.n = cases[i].second;
		third.n = cases[i].third;
		const struct kgb_classification out = classify_two(&second, &third);
		assert_class(&out, KGB_REPLAY_RANDOM);
		assert_string_equal(out.reason.msg, cases[i].text);
	}
}

static void test_equal_numbers_that_look_like_addresses_are_equal(void **state)
{
	/* 512 rows of 4096 (and of 8192) 4-byte numbers side by side: an address in the arena, in
	 * the pool. */
	static const uint64_t looks[] = {ARENA + 4096 + 16, ARENA, POOL, POOL + 64};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(looks); i++) {
		struct honest second = second_call, third = third_call;
		second.n = third.n = looks[i];
		const struct kgb_classification out = classify_two(&second, &third);
		assert_class(&out, KGB_REPLAY_REPLAYABLE);
	}
}

/* --- one more op that differs --- */

static void pointer_elsewhere(struct call *call, const struct honest *h)
{
	const uint64_t words[] = {ARENA + h->shift + (h->number == 3 ? 8192 : 0)};
	add_launch(call, h->first_id + IMAGE_ADD, "add_kernel", words, 1);
}
static void pointer_offset(struct call *call, const struct honest *h)
{
	const uint64_t words[] = {h->pool + h->number};
	add_launch(call, h->first_id + IMAGE_ADD, "add_kernel", words, 1);
}
static void pointer_other_block(struct call *call, const struct honest *h)
{
	const uint64_t words[] = {h->pool + (h->number == 3 ? 4 * PAGE : 0)};
	add_launch(call, h->first_id + IMAGE_ADD, "add_kernel", words, 1);
}
static void pointer_or_number(struct call *call, const struct honest *h)
{
	const uint64_t words[] = {h->number == 3 ? 5 : h->pool};
	add_launch(call, h->first_id + IMAGE_ADD, "add_kernel", words, 1);
}
static void pointer_to_block_or_argument(struct call *call, const struct honest *h)
{
	const uint64_t words[] = {h->number == 3 ? h->pool : ARENA + h->shift};
	add_launch(call, h->first_id + IMAGE_ADD, "add_kernel", words, 1);
}
static void other_memset(struct call *call, const struct honest *h)
{
	add_memset(call, h->pool + h->number, 8);
}
static void other_copy_to(struct call *call, const struct honest *h)
{
	add_copy(call, h->pool + h->number, ARENA + h->shift, 8);
}
static void other_copy_from(struct call *call, const struct honest *h)
{
	add_copy(call, h->pool, ARENA + h->shift + h->number, 8);
}
static void other_upload_to(struct call *call, const struct honest *h)
{
	add_upload(call, h->pool + h->number, "1", 1);
}
static void two_blocks_or_one(struct call *call, const struct honest *h)
{
	const uint64_t words[] = {h->number == 3 ? h->pool : h->pool + 8 * PAGE};
	add_block(call, h->pool + 8 * PAGE, 64);
	add_launch(call, h->first_id + IMAGE_ADD, "add_kernel", words, 1);
}
static void copy_of_a_number(struct call *call, const struct honest *h)
{
	const uint64_t words[] = {h->number == 3 ? 5 : h->pool, 77};
	add_launch(call, h->first_id + IMAGE_FILL, "fill", words, 2);
}
static void copy_between_others(struct call *call, const struct honest *h)
{
	const uint64_t words[] = {h->number == 3 ? h->pool : h->pool + 4 * PAGE, 77};
	add_launch(call, h->first_id + IMAGE_FILL, "fill", words, 2);
}
static void other_kernel(struct call *call, const struct honest *h)
{
	add_launch(call, h->first_id + IMAGE_ADD, h->number == 3 ? "fast" : "slow", NULL, 0);
}
static void other_image(struct call *call, const struct honest *h)
{
	add_launch(call, h->first_id + (h->number == 3 ? IMAGE_ADD : IMAGE_MUL), "k", NULL, 0);
}
static void other_grid(struct call *call, const struct honest *h)
{
	struct kgb_op op = launch_of(h->first_id + IMAGE_FILL, "fill", NULL, 0);
	op.launch.grid[1] = h->number;
	add_op(call, &op);
}
static void other_block(struct call *call, const struct honest *h)
{
	struct kgb_op op = launch_of(h->first_id + IMAGE_ADD, "k", NULL, 0);
	op.launch.block[0] = 32 * h->number;
	add_op(call, &op);
}
static void other_shared(struct call *call, const struct honest *h)
{
	struct kgb_op op = launch_of(h->first_id + IMAGE_ADD, "k", NULL, 0);
	op.launch.shared_bytes = h->number;
	add_op(call, &op);
}
static void other_carveout(struct call *call, const struct honest *h)
{
	struct kgb_op op = launch_of(h->first_id + IMAGE_ADD, "k", NULL, 0);
	op.launch.carveout = (int32_t)h->number;
	add_op(call, &op);
}
static void other_attr(struct call *call, const struct honest *h)
{
	struct kgb_op op = launch_of(h->first_id + IMAGE_ADD, "k", NULL, 0);
	op.launch.n_attrs = 1;
	op.launch.attrs[0].id = 8;
	op.launch.attrs[0].value[0] = (unsigned char)h->number;
	add_op(call, &op);
}
static void one_attr_more(struct call *call, const struct honest *h)
{
	struct kgb_op op = launch_of(h->first_id + IMAGE_ADD, "k", NULL, 0);
	op.launch.n_attrs = h->number == 3;
	op.launch.attrs[0].id = 8;
	add_op(call, &op);
}
static void more_params(struct call *call, const struct honest *h)
{
	static const unsigned char zeros[8];
	const struct kgb_op op = launch_of(h->first_id + IMAGE_ADD, "k", zeros, h->number);
	add_op(call, &op);
}
static void other_kind(struct call *call, const struct honest *h)
{
	if (h->number == 3)
		add_memset(call, h->pool, 16);
	else
		add_copy(call, h->pool, h->pool, 16);
}
static void other_value(struct call *call, const struct honest *h)
{
	struct kgb_op op = {.kind = KGB_OP_MEMSET};
	op.memset.dst = h->pool;
	op.memset.element_bytes = 4;
	op.memset.width = op.memset.height = 1;
	op.memset.value = h->number;
	add_op(call, &op);
}
static void other_length(struct call *call, const struct honest *h)
{
	add_copy(call, h->pool, h->pool + 64, h->number);
}
static void other_upload(struct call *call, const struct honest *h)
{
	const uint64_t words[] = {1, h->number};
	add_upload(call, h->pool, words, 16);
}
static void other_upload_tail(struct call *call, const struct honest *h)
{
	const char bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, (char)h->number};
	add_upload(call, h->pool, bytes, sizeof(bytes));
}
static void other_stream(struct call *call, const struct honest *h)
{
	struct kgb_op op = launch_of(h->first_id + IMAGE_ADD, "k", NULL, 0);
	op.stream = h->number == 3 ? 0 : 99;
	add_op(call, &op);
}
static void more_work(struct call *call, const struct honest *h)
{
	if (h->number == 3)
		add_launch(call, h->first_id + IMAGE_ADD, "k", NULL, 0);
}
static void less_work(struct call *call, const struct honest *h)
{
	if (h->number != 3)
		add_launch(call, h->first_id + IMAGE_ADD, "k", NULL, 0);
}

static void test_other_work_depends_on_the_host(void **state)
{
	static const struct {
		void (*extra)(struct call *call, const struct honest *h);
		const char *text;
	} cases[] = {
		{pointer_elsewhere, "op 3 (launch add_kernel): parameter byte 0: x+0 in window 2, "
				    "y+0 in window 3"},
		{pointer_offset, "op 3 (launch add_kernel): parameter byte 0: block 0+2 in window "
				 "2, block 0+3 in window 3"},
		{pointer_other_block, "op 3 (launch add_kernel): parameter byte 0: block 0+0 in "
				      "window 2, block 1+0 in window 3"},
		{pointer_or_number, "op 3 (launch add_kernel): parameter byte 0: block 0+0 in "
				    "window 2, 0x5 in window 3"},
		{pointer_to_block_or_argument, "op 3 (launch add_kernel): parameter byte 0: x+0 in "
					       "window 2, block 0+0 in window 3"},
		{other_memset, "op 3 (memset): destination: block 0+2 in window 2, block 0+3 in "
			       "window 3"},
		{other_copy_to, "op 3 (copy): destination: block 0+2 in window 2, "},
		{other_copy_from, "op 3 (copy): source: x+2 in window 2, x+3 in window 3"},
		{other_upload_to, "op 3 (upload): destination: block 0+2 in window 2, "},
		{two_blocks_or_one, "op 3 (launch add_kernel): parameter byte 0: block 2+0 in "
				    "window 2, block 0+0 in window 3"},
		{copy_of_a_number, "op 3 (launch fill): parameter byte 0: block 0+0 in window 2, "
				   "0x5 in window 3"},
		{copy_between_others, "op 3 (launch fill): parameter byte 0: block 1+0 in window "
				      "2, block 0+0 in window 3"},
		{other_kernel, "op 3 (launch fast): kernel: slow in window 2, fast in window 3"},
		{other_image, "op 3 (launch k): compiled code with SHA-256: "},
		{other_grid, "op 3 (launch fill): grid: 4x2x1 in window 2, 4x3x1 in window 3"},
		{other_block, "op 3 (launch k): block: 64x1x1 in window 2, 96x1x1 in window 3"},
		{other_shared, "op 3 (launch k): bytes of shared memory: 2 in window 2, 3 in "
			       "window 3"},
		{other_carveout, "op 3 (launch k): share of L1: 2 %, then 3 %"},
		{other_attr, "op 3 (launch k): launch attributes have other values in window 3"},
		{one_attr_more, "op 3 (launch k): launch attributes: 0 in window 2, 1 in window 3"},
		{more_params, "op 3 (launch k): bytes of parameters: 2 in window 2, 3 in window 3"},
		{other_kind, "op 3 (memset): kind of op: copy in window 2, memset in window 3"},
		{other_value, "op 3 (memset): value: 2 in window 2, 3 in window 3"},
		{other_length, "op 3 (copy): bytes: 2 in window 2, 3 in window 3"},
		{other_upload, "op 3 (upload): data bytes 8 to 11: 2 (0x2) in window 2, 3 (0x3) in "
			       "window 3"},
		{other_upload_tail, "op 3 (upload): data bytes 8 to 11: 521 (0x209) in window 2, "
				    "777 (0x309) in window 3"},
		{other_stream, "op 3 (launch k): stream: 1 in window 2, 0 in window 3"},
		{more_work, "3 ops in window 2, 4 in window 3, which goes on with a launch k"},
		{less_work, "3 ops in window 3, 4 in window 2, which goes on with a launch k"},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct honest second = second_call, third = third_call;
		second.extra = third.extra = cases[i].extra;
		const struct kgb_classification out = classify_two(&second, &third);
		assert_contains(out.reason.msg, cases[i].text);
		assert_class(&out, KGB_REPLAY_HOST);
	}
}

/* A record has one number for an image that several calls use. */
static void test_another_kernel_of_the_same_image_is_other_work(void **state)
{
	struct honest second = second_call, third = third_call;

	(void)state;
	second.extra = third.extra = other_kernel;
	second.first_id = third.first_id;
	const struct kgb_classification out = classify_two(&second, &third);
	assert_contains(out.reason.msg, "kernel: slow in window 2, fast in window 3");
	assert_class(&out, KGB_REPLAY_HOST);
}

static void number_and_work(struct call *call, const struct honest *h)
{
	const uint64_t words[] = {h->number};
	add_launch(call, h->first_id + IMAGE_ADD, "k", words, 1);
	other_grid(call, h);
}

static void test_other_work_outweighs_other_numbers(void **state)
{
	struct honest second = second_call, third = third_call;

	(void)state;
	second.extra = third.extra = number_and_work;
	const struct kgb_classification out = classify_two(&second, &third);
	assert_class(&out, KGB_REPLAY_HOST);
	assert_contains(out.reason.msg, "op 4 (launch fill): grid: ");
}

/* --- what may differ --- */

static void garbage(struct call *call, const struct honest *h)
{
	/* Unwritten gaps of a struct: a number, a pointer to memory of the process, an old pointer
	 * into a block in one call only. */
	const uint64_t words[] = {h->pool, h->number * 12345,
				  UINT64_C(0x7f0000000000) + h->number * 64,
				  h->number == 3 ? 17 : h->pool + 8, h->number};
	struct kgb_op op = launch_of(h->first_id + IMAGE_FILL, "copy", words, sizeof(words) - 3);
	add_op(call, &op);
}
static void old_pointer_to_memory_not_yet_named(struct call *call, const struct honest *h)
{
	const uint64_t first = h->pool + 8 * PAGE, second = h->pool + 10 * PAGE;
	const uint64_t garbage_words[] = {h->pool, h->number == 3 ? second : first};

	add_block(call, first, 64);
	add_block(call, second, 64);
	add_launch(call, h->first_id + IMAGE_FILL, "fill", garbage_words, 2);
	add_launch(call, h->first_id + IMAGE_FILL, "fill", &first, 1);
}
static void numbers_of_torch(struct call *call, const struct honest *h)
{
	const uint64_t words[] = {h->number, UINT64_C(0x7f0000000000) + h->number};
	add_launch(call, h->first_id + IMAGE_FILL, "fill", words, 2);
}
static void pitch_of_one_row(struct call *call, const struct honest *h)
{
	struct kgb_op op = {.kind = KGB_OP_MEMSET};
	op.memset.dst = h->pool;
	op.memset.element_bytes = 1;
	op.memset.width = op.memset.height = 1;
	op.memset.pitch = h->number;
	add_op(call, &op);
}
static void events_of_other_numbers(struct call *call, const struct honest *h)
{
	/* The driver gives the number of a freed event again in one call, not in the other. */
	const uint64_t first = h->number, second = h->number == 3 ? first : 40;
	struct kgb_op op = launch_of(h->first_id + IMAGE_ADD, "k", NULL, 0);

	for (uint64_t event = first, i = 0; i < 2; i++, event = second) {
		add_plain(call, KGB_OP_EVENT_RECORD, 0, event);
		add_plain(call, KGB_OP_EVENT_WAIT, 100 * h->number, event);
		op.stream = 100 * h->number;
		add_op(call, &op);
	}
	add_plain(call, KGB_OP_EVENT_RECORD, 100 * h->number, first);
	add_plain(call, KGB_OP_EVENT_WAIT, 0, first);
}
static void nothing(struct call *call, const struct honest *h)
{
	/* Waits, events that nobody waits for or that come from before, and empty ops. */
	if (h->number == 3)
		return;
	add_plain(call, KGB_OP_SYNC, 0, 0);
	add_plain(call, KGB_OP_EVENT_RECORD, 0, 8);
	add_plain(call, KGB_OP_EVENT_WAIT, 0, 9);
	add_memset(call, 1, 0);
	add_copy(call, 1, 2, 0);
	add_upload(call, 1, "", 0);
	add_download(call, 1, 0);
	add_plain(call, KGB_OP_SYNC, 0, 0);
}
static void pointer_table(struct call *call, const struct honest *h)
{
	const uint64_t words[] = {ARENA + h->shift, h->pool + 4 * PAGE, 3};
	add_upload(call, h->pool, words, sizeof(words));
}
static void attr_gaps(struct call *call, const struct honest *h)
{
	/* Bytes of a union that its member does not have, another order, an ignored entry. */
	struct kgb_op op = launch_of(h->first_id + IMAGE_ADD, "k", NULL, 0);
	const size_t at = h->number == 3;
	op.launch.n_attrs = 3;
	op.launch.attrs[at].id = 2;
	op.launch.attrs[at].value[0] = 1;
	op.launch.attrs[at].value[4] = (unsigned char)h->number;
	op.launch.attrs[1 - at].id = 8;
	op.launch.attrs[2].value[0] = (unsigned char)h->number;
	add_op(call, &op);
}
static void end_pointer(struct call *call, const struct honest *h)
{
	const uint64_t words[] = {ARENA + h->shift + 4096, h->pool + 1024};
	add_launch(call, h->first_id + IMAGE_ADD, "k", words, 2);
}

static void test_what_means_nothing_may_differ(void **state)
{
	static void (*const extras[])(struct call * call, const struct honest *h) = {
		garbage,
		old_pointer_to_memory_not_yet_named,
		events_of_other_numbers,
		nothing,
		pointer_table,
		attr_gaps,
		numbers_of_torch,
		pitch_of_one_row,
		end_pointer,
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(extras); i++) {
		struct honest second = second_call, third = third_call;
		second.extra = third.extra = extras[i];
		const struct kgb_classification out = classify_two(&second, &third);
		assert_class(&out, KGB_REPLAY_REPLAYABLE);
	}
}

static void test_events_that_order_other_work_differ(void **state)
{
	struct call a, b;
	struct kgb_err finding = KGB_ERR_INIT;

	(void)state;
	/* Records 1 and 2, then a wait for the first one, or for the second one. */
	for (uint32_t number = 2; number <= 3; number++) {
		struct call *call = number == 2 ? &a : &b;
		call_begin(call, number, 0);
		add_plain(call, KGB_OP_EVENT_RECORD, 5, 1);
		add_plain(call, KGB_OP_EVENT_RECORD, 5, 2);
		add_plain(call, KGB_OP_EVENT_WAIT, 6, 1);
		add_plain(call, KGB_OP_EVENT_WAIT, 6, number == 2 ? 2 : 1);
		add_plain(call, KGB_OP_EVENT_WAIT, 6, 2);
		call_end(call, 0);
	}
	assert_int_equal(compare_calls(&a.capture, &b.capture, &test_owners, &finding),
			 KGB_WORK_DIFFERS);
	assert_string_equal(finding.msg, "op 3 (event wait): event: 1 in window 2, 0 in window 3");
	call_release(&a);
	call_release(&b);
}

/* --- classes --- */

static void library(struct call *call, const struct honest *h)
{
	add_launch(call, h->first_id + IMAGE_GEMM, "nvjet_gemm", NULL, 0);
}
static void unknown(struct call *call, const struct honest *h)
{
	add_launch(call, h->first_id + IMAGE_ODD, "odd", NULL, 0);
	add_download(call, h->pool, 4);
}
static void undecided(struct call *call, const struct honest *h)
{
	add_launch(call, h->first_id + IMAGE_SLOW, "slow", NULL, 0);
	add_plain(call, KGB_OP_UNSUPPORTED, 0, 0);
}
static void undecided_then_library(struct call *call, const struct honest *h)
{
	undecided(call, h);
	library(call, h);
}
static void unsupported(struct call *call, const struct honest *h)
{
	add_plain(call, KGB_OP_UNSUPPORTED, 0, 0);
	add_download(call, h->pool, 4);
}
static void host_reads(struct call *call, const struct honest *h)
{
	const uint64_t words[] = {h->number};
	add_download(call, h->pool + 16, 4);
	add_launch(call, h->first_id + IMAGE_ADD, "k", words, 1);
}

static void test_each_class_has_its_reason(void **state)
{
	static const struct {
		void (*extra)(struct call *call, const struct honest *h);
		enum kgb_replay_class replay;
		const char *text;
	} cases[] = {
		{library, KGB_REPLAY_LIBRARY,
		 "op 3 launches kernel nvjet_gemm, which is of a library: only the candidate's own "
		 "Triton kernels and fills and copies of torch may run"},
		{unknown, KGB_REPLAY_LIBRARY,
		 "op 3 launches kernel odd, which is of unknown origin: "},
		{undecided, KGB_REPLAY_UNDECIDED,
		 "op 3 launches kernel slow, which is of an origin that could not be found out: "},
		{unsupported, KGB_REPLAY_UNSUPPORTED,
		 "op 3 (unsupported): cannot be replayed: cuGraphLaunch: a graph with a host "
		 "node"},
		{host_reads, KGB_REPLAY_HOST, "op 3: the host reads 4 bytes at block 0+16"},
	};

	(void)state;
	/* In both calls, in the earlier one only, in the later one only. */
	for (size_t i = 0; i < 3 * KGB_ARRAY_LEN(cases); i++) {
		struct honest second = second_call, third = third_call;
		second.extra = i % 3 == 2 ? NULL : cases[i / 3].extra;
		third.extra = i % 3 == 1 ? NULL : cases[i / 3].extra;
		const struct kgb_classification out = classify_two(&second, &third);
		assert_class(&out, cases[i / 3].replay);
		assert_contains(out.reason.msg, cases[i / 3].text);
		assert_int_equal(strncmp(out.reason.msg, "op 3", 4), 0);
	}
}

/* Nobody hides a library's kernel behind one that nobody could judge. */
static void test_what_is_known_to_be_refused_comes_before_what_nobody_knows(void **state)
{
	static void (*const extras[][2])(struct call *, const struct honest *) = {
		{undecided_then_library, undecided_then_library},
		{undecided, library},
		{library, undecided},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(extras); i++) {
		struct honest second = second_call, third = third_call;
		second.extra = extras[i][0];
		third.extra = extras[i][1];
		const struct kgb_classification out = classify_two(&second, &third);
		assert_class(&out, KGB_REPLAY_LIBRARY);
		assert_contains(out.reason.msg, "launches kernel nvjet_gemm");
	}
}

/* Who reads the result goes on with the default stream, and does not wait for others. */
static void test_work_on_another_stream_must_be_waited_for(void **state)
{
	static const struct {
		/* digits: work on that stream; r2 and w0: an event recorded on 2, 0 waits for it;
		 * s: the host waits. The last s is the runner's. */
		const char *ops;
		bool good;
	} cases[] = {
		{"00s", true},       {"22s", false},        {"02s", false},
		{"2r2w00s", true},   {"r22w00s", false},    {"2r2w02s", false},
		{"2r2w22s", false},  {"02ss", true},        {"22ss", true},
		{"0s2s", false},     {"2r2w3r3w00s", true}, {"2r2w33r2w00s", false},
		{"2r23w00s", false},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct call calls[2];
		struct kgb_classification out;
		for (uint32_t n = 0; n < 2; n++) {
			uint64_t event = 0;
			call_begin(&calls[n], n + 2, 0);
			for (const char *c = cases[i].ops; *c; c++) {
				struct kgb_op op = launch_of(IMAGE_ADD, "k", NULL, 0);
				op.stream = (uint64_t)(*c - '0');
				if (*c == 's')
					add_plain(&calls[n], KGB_OP_SYNC, 0, 0);
				else if (*c == 'r')
					add_plain(&calls[n], KGB_OP_EVENT_RECORD,
						  (uint64_t)(*++c - '0'), ++event);
				else if (*c == 'w')
					add_plain(&calls[n], KGB_OP_EVENT_WAIT,
						  (uint64_t)(*++c - '0'), event);
				else
					add_op(&calls[n], &op);
			}
			call_end(&calls[n], 0);
		}
		const struct kgb_recorded_call captures[] = {calls[0].capture, calls[1].capture};
		kgb_calls_classify(captures, 2, &test_owners, &out);
		if ((out.replay == KGB_REPLAY_REPLAYABLE) != cases[i].good)
			fail_msg("%s: class %d '%s'", cases[i].ops, (int)out.replay,
				 out.reason.msg);
		call_release(&calls[0]);
		call_release(&calls[1]);
	}
}

static void test_a_call_without_a_kernel_of_the_candidate_is_told(void **state)
{
	struct call busy, idle;
	struct kgb_classification out;

	(void)state;
	/* The data came from the host, and went there: not a case for the judging of host-dependent
	 * candidates. */
	call_begin(&idle, 3, 0);
	add_download(&idle, ARENA, 4096);
	add_upload(&idle, ARENA, "123456789", 9);
	add_launch(&idle, IMAGE_FILL, "fill", NULL, 0);
	call_end(&idle, 0);
	honest_call(&busy, &second_call);
	for (size_t last = 0; last < 2; last++) {
		const struct kgb_recorded_call captures[] = {last ? idle.capture : busy.capture,
							     last ? busy.capture : idle.capture};
		kgb_calls_classify(captures, 2, &test_owners, &out);
		assert_class(&out, KGB_REPLAY_HOST);
		assert_string_equal(out.idle.msg, "window 3: no Triton kernel ran during the "
						  "call (3 ops in all)");
		assert_int_equal(out.upload_bytes, last ? 0 : 9);
	}
	call_release(&busy);
	call_release(&idle);
}

/* Zeros for an empty sum: fills and copies will do, and nothing else. */
static void test_a_case_with_an_empty_input_may_do_without_a_kernel(void **state)
{
	static const struct {
		uint32_t image;
		bool reads;
		enum kgb_replay_class replay;
	} cases[] = {
		{IMAGE_FILL, false, KGB_REPLAY_REPLAYABLE},
		{IMAGE_GEMM, false, KGB_REPLAY_LIBRARY},
		{IMAGE_FILL, true, KGB_REPLAY_HOST},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct call a, b;
		struct kgb_classification out;
		for (uint32_t number = 2; number <= 3; number++) {
			struct call *call = number == 2 ? &a : &b;
			call_begin(call, number, 0);
			add_launch(call, cases[i].image, "k", NULL, 0);
			if (cases[i].reads)
				add_download(call, ARENA, 4);
			call_end(call, 0);
		}
		const struct kgb_recorded_call captures[] = {a.capture, b.capture};
		kgb_calls_classify(captures, 2, &test_owners, &out);
		assert_class(&out, cases[i].replay);
		call_release(&a);
		call_release(&b);
	}
}

static void test_a_cold_first_call_does_not_matter(void **state)
{
	struct call first, second, third;
	struct kgb_classification out;

	(void)state;
	for (int bad = 0; bad < 3; bad++) {
		call_begin(&first, 1, 0);
		for (uint64_t i = 0; i < 3219; i++)
			add_launch(&first, i % 2 ? IMAGE_ADD : IMAGE_FILL, "tuned", &i, 1);
		if (bad == 1)
			add_launch(&first, IMAGE_GEMM, "gemm", NULL, 0);
		if (bad == 2)
			add_download(&first, ARENA, 4);
		call_end(&first, 0);
		honest_call(&second, &second_call);
		honest_call(&third, &third_call);
		const struct kgb_recorded_call captures[] = {first.capture, second.capture,
							     third.capture};
		kgb_calls_classify(captures, 3, &test_owners, &out);
		assert_class(&out, KGB_REPLAY_REPLAYABLE);
		assert_int_equal(out.prologue_ok, bad == 0);
		call_release(&first);
		call_release(&second);
		call_release(&third);
	}
}

static void test_memory_is_made_by_a_call_or_was_there(void **state)
{
	static const struct {
		struct kgb_block blocks[2];
		size_t n;
		uint64_t address, bytes;
		bool made;
	} rows[] = {
		{{{.address = POOL, .bytes = 64}}, 1, POOL, 64, true},
		{{{.address = POOL, .bytes = 64}}, 1, POOL + 16, 48, true},
		{{{.address = POOL, .bytes = 64}}, 1, POOL + 16, 49, false},
		{{{.address = POOL + 16, .bytes = 64}}, 1, POOL, 32, false},
		{{{.address = POOL, .bytes = 64}}, 1, POOL + 64, 1, false},
		{{{.address = POOL, .bytes = 64, .before = true}}, 1, POOL, 64, false},
		{{{.address = POOL, .bytes = 64, .foreign = true}}, 1, POOL, 64, false},
		{{{.address = POOL, .bytes = 64, .before = true}, {.address = POOL, .bytes = 64}},
		 2,
		 POOL,
		 64,
		 true},
		{{{.address = POOL, .bytes = 64, .before = true}, {.address = POOL, .bytes = 128}},
		 2,
		 POOL,
		 64,
		 true},
		{{{.address = POOL, .bytes = 64, .before = true},
		  {.address = POOL + 64, .bytes = 64}},
		 2,
		 POOL,
		 64,
		 false},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct call call;
		call_begin(&call, 2, 0);
		for (size_t k = 0; k < rows[i].n; k++)
			kgb_record_put_block(&call.bytes, &rows[i].blocks[k]);
		call_end(&call, 0);
		assert_int_equal(
			kgb_window_allocated(call.capture.window, rows[i].address, rows[i].bytes),
			rows[i].made);
		call_release(&call);
	}
}

static void test_a_used_block_of_an_earlier_call_is_older_memory(void **state)
{
	struct call call;
	struct kgb_classification out;
	const struct kgb_block old = {.address = POOL, .bytes = 64, .before = true};

	(void)state;
	for (uint64_t used = 0; used < 2; used++) {
		const uint64_t words[] = {used ? POOL + 64 : 0, 9};
		call_begin(&call, 2, 0);
		kgb_record_put_block(&call.bytes, &old);
		add_launch(&call, IMAGE_ADD, "k", words, 2);
		call_end(&call, 0);
		const struct kgb_recorded_call captures[] = {call.capture, call.capture};
		kgb_calls_classify(captures, 2, &test_owners, &out);
		assert_class(&out, KGB_REPLAY_REPLAYABLE);
		assert_int_equal(out.older_memory, used);
		call_release(&call);
	}
}

static void test_every_owner_has_a_name(void **state)
{
	(void)state;
	for (int i = 0; i < KGB_N_OWNERS; i++)
		assert_true(strlen(kgb_owner_name((enum kgb_owner)i)) > 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_same_work_on_other_memory_is_the_same),
		cmocka_unit_test(test_a_changed_number_is_named_with_its_place),
		cmocka_unit_test(test_equal_numbers_that_look_like_addresses_are_equal),
		cmocka_unit_test(test_other_work_depends_on_the_host),
		cmocka_unit_test(test_another_kernel_of_the_same_image_is_other_work),
		cmocka_unit_test(test_other_work_outweighs_other_numbers),
		cmocka_unit_test(test_what_means_nothing_may_differ),
		cmocka_unit_test(test_events_that_order_other_work_differ),
		cmocka_unit_test(test_each_class_has_its_reason),
		cmocka_unit_test(test_what_is_known_to_be_refused_comes_before_what_nobody_knows),
		cmocka_unit_test(test_memory_is_made_by_a_call_or_was_there),
		cmocka_unit_test(test_work_on_another_stream_must_be_waited_for),
		cmocka_unit_test(test_a_call_without_a_kernel_of_the_candidate_is_told),
		cmocka_unit_test(test_a_case_with_an_empty_input_may_do_without_a_kernel),
		cmocka_unit_test(test_a_cold_first_call_does_not_matter),
		cmocka_unit_test(test_a_used_block_of_an_earlier_call_is_older_memory),
		cmocka_unit_test(test_every_owner_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
