/* SPDX-License-Identifier: MIT */
#include "verify/record/replay_plan.h"

#include "tests/unit/verify/recorded_calls.h"

/* Two streams, memory named by a parameter, by an upload's data, by an op and by nothing, a table
 * of pointers, and much that a plan leaves out. */
static const struct kgb_recorded_call *busy_call(struct call *call)
{
	const uint64_t table[] = {POOL + 2 * PAGE, 5};
	const uint64_t words[] = {ARENA, POOL + 16, 1000};
	struct kgb_op op = launch_of(IMAGE_MUL, "mul_kernel", words, sizeof(words));

	call_begin(call, 3, 0);
	add_block(call, POOL + 4 * PAGE, 400); /* unnamed */
	add_block(call, POOL, 100);
	add_block(call, POOL + 50, 100); /* one memory with the block above */
	add_block(call, POOL + 2 * PAGE, 200);
	add_block(call, POOL + 3 * PAGE, 300);
	add_plain(call, KGB_OP_SYNC, 0x700, 0);
	add_upload(call, POOL + 3 * PAGE, table, sizeof(table));
	op.stream = 0x700;
	op.launch.n_attrs = 3;
	op.launch.attrs[0].id = 8;
	op.launch.attrs[0].value[4] = 99; /* not of the priority */
	op.launch.attrs[1].id = 0;
	op.launch.attrs[2].id = 2;
	op.launch.attrs[2].value[0] = 1;
	add_op(call, &op);
	add_plain(call, KGB_OP_EVENT_RECORD, 0x700, 0xe1);
	add_plain(call, KGB_OP_EVENT_RECORD, 0x700, 0xe2);
	add_plain(call, KGB_OP_EVENT_WAIT, 0x800, 0xe2);
	op = launch_of(IMAGE_FILL, "fill", words, 4);
	op.stream = 0x800;
	add_op(call, &op);
	add_memset(call, ARENA, 0);
	add_copy(call, ARENA + 4096, ARENA, 64);
	op.kind = KGB_OP_MEMSET;
	op.memset.dst = ARENA;
	op.memset.pitch = 0x1234; /* of one row */
	op.memset.value = 7;
	op.memset.element_bytes = 4;
	op.memset.width = 2;
	op.memset.height = 1;
	add_op(call, &op);
	return call_end(call, 0);
}

/* Its images and its memory, and of its first ops those that are wanted. */
static void test_a_part_of_a_plan_ends_early_and_may_leave_out_kernels(void **state)
{
	struct call call;
	struct kgb_replay_plan plan;
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	assert_ok(kgb_replay_plan_make(busy_call(&call), &test_owners, &plan, &err), err);
	call_release(&call);
	for (size_t n_ops = 0; n_ops <= plan.n_ops; n_ops++) {
		for (int with_kernels = 0; with_kernels <= 1; with_kernels++) {
			KGB_AUTO(buf) struct kgb_buf bytes = KGB_BUF_INIT(KGB_RECORD_BYTES_MAX);
			struct kgb_record part;
			size_t n_left_out = 0;
			for (size_t i = 0; i < n_ops && !with_kernels; i++)
				n_left_out += kgb_replay_plan_is_candidate(&plan, i);
			assert_ok(kgb_replay_plan_part(&plan, n_ops, with_kernels, &bytes, &err),
				  err);
			assert_ok(kgb_record_parse(bytes.ptr, bytes.len, &part, &err), err);
			assert_int_equal(part.windows[0].n_ops, n_ops - n_left_out);
			assert_int_equal(part.windows[0].n_blocks, plan.n_blocks);
			for (size_t i = 0; i < plan.n_blocks; i++)
				assert_true(part.windows[0].blocks[i].address ==
						    plan.blocks[i].address &&
					    part.windows[0].blocks[i].bytes ==
						    plan.blocks[i].bytes);
			kgb_record_release(&part);
		}
	}
	kgb_replay_plan_release(&plan);
}

static const uint8_t mul_sizes[] = {8, 1, 4, 2, 8};
static const struct kgb_launch_code mul_code = {.cubin = "code",
						.len = 4,
						.n_threads = 64,
						.shared_bytes = 512,
						.param_bytes = mul_sizes,
						.n_params = KGB_ARRAY_LEN(mul_sizes)};

static const struct kgb_launch_code *code_of_mul(const struct kgb_image *image)
{
	return memcmp(image->bytes, "t mul", 5) == 0 ? &mul_code : NULL;
}

/* A kernel that the record names by its IR. */
static void test_a_plan_for_a_gpu_has_code_and_packed_parameters(void **state)
{
	const uint64_t words[] = {ARENA, 0x1ff, UINT64_MAX - 1, 0x12345, ARENA + 64};
	const struct kgb_owners owners = {.find = owner_of, .code = code_of_mul};
	struct kgb_op op = launch_of(IMAGE_MUL, "mul_kernel", words, sizeof(words));
	struct kgb_replay_plan plan;
	struct kgb_record record;
	struct kgb_err err = KGB_ERR_INIT;
	struct call call;
	uint64_t at;

	(void)state;
	call_begin(&call, 1, 0);
	add_op(&call, &op);
	assert_ok(kgb_replay_plan_make(call_end(&call, 0), &owners, &plan, &err), err);
	call_release(&call);
	assert_ok(kgb_record_parse(plan.record.ptr, plan.record.len, &record, &err), err);
	const struct kgb_launch *launch = &record.windows[0].ops[0].launch;
	assert_int_equal(record.images[0].len, 4);
	assert_memory_equal(record.images[0].bytes, "code", 4);
	assert_int_equal(launch->block[0], 64);
	assert_int_equal(launch->shared_bytes, 512);
	/* 8, 1, 3 of nothing, 4, 2, 6 of nothing, 8, and two addresses. */
	static const unsigned char middle[] = {0xff, 0,    0, 0, 0xfe, 0xff, 0xff, 0xff,
					       0x45, 0x23, 0, 0, 0,    0,    0,    0};
	assert_int_equal(launch->params_bytes, 8 + sizeof(middle) + 8 + 16);
	memcpy(&at, launch->params, 8);
	assert_true(at == ARENA);
	assert_memory_equal(launch->params + 8, middle, sizeof(middle));
	memcpy(&at, launch->params + 8 + sizeof(middle), 8);
	assert_true(at == ARENA + 64);
	for (size_t i = 0; i < 16; i++)
		assert_int_equal(launch->params[32 + i], 0);
	kgb_record_release(&record);
	kgb_replay_plan_release(&plan);
	/* Other parameters than its IR has. */
	call_begin(&call, 1, 0);
	op.launch.params_bytes -= 8;
	add_op(&call, &op);
	assert_int_equal(kgb_replay_plan_make(call_end(&call, 0), &owners, &plan, &err), -1);
	assert_contains(err.msg, "its IR has 5 parameters");
	call_release(&call);
}

static void test_a_plan_has_what_the_replay_needs_and_nothing_else(void **state)
{
	struct call call;
	struct kgb_replay_plan plan;
	struct kgb_record record;
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	assert_ok(kgb_replay_plan_make(busy_call(&call), &test_owners, &plan, &err), err);
	call_release(&call); /* the plan stands alone */
	assert_ok(kgb_record_parse(plan.record.ptr, plan.record.len, &record, &err), err);

	assert_int_equal(record.n_windows, 1);
	const struct kgb_window *window = kgb_record_window(&record, 0);
	assert_non_null(window);
	assert_int_equal(record.n_images, 2);
	assert_memory_equal(kgb_record_image(&record, 0)->bytes, "t mul", 5);
	assert_memory_equal(kgb_record_image(&record, 1)->bytes, "m fill", 6);

	assert_int_equal(window->n_blocks, 4);
	assert_int_equal(plan.n_blocks, 4);
	assert_int_equal(plan.block_bytes, 150 + 200 + 300 + 400);
	assert_true(window->blocks[0].address == POOL && window->blocks[0].bytes == 150);
	assert_true(window->blocks[1].address == POOL + 2 * PAGE);
	assert_true(window->blocks[2].address == POOL + 3 * PAGE);
	assert_true(window->blocks[3].address == POOL + 4 * PAGE);

	static const struct kgb_replay_plan_op expected[] = {
		{KGB_OP_UPLOAD, true, 0, NULL, 1},
		{KGB_OP_LAUNCH, true, KGB_OWNER_TRITON, "mul_kernel", 2},
		{KGB_OP_EVENT_RECORD, false, 0, NULL, 4},
		{KGB_OP_EVENT_WAIT, false, 0, NULL, 5},
		{KGB_OP_LAUNCH, true, KGB_OWNER_TORCH_MOVE, "fill", 6},
		{KGB_OP_COPY, true, 0, NULL, 8},
		{KGB_OP_MEMSET, true, 0, NULL, 9},
	};
	static const uint64_t streams[] = {0, 1, 1, 2, 2, 0, 2};
	assert_int_equal(window->n_ops, KGB_ARRAY_LEN(expected));
	assert_int_equal(plan.n_ops, KGB_ARRAY_LEN(expected));
	for (size_t i = 0; i < plan.n_ops; i++) {
		assert_int_equal(window->ops[i].kind, expected[i].kind);
		assert_int_equal(window->ops[i].stream, streams[i]);
		assert_int_equal(plan.ops[i].kind, expected[i].kind);
		assert_int_equal(plan.ops[i].writes, expected[i].writes);
		assert_int_equal(plan.ops[i].source, expected[i].source);
		assert_int_equal(kgb_replay_plan_is_candidate(&plan, i), i == 1);
		if (!expected[i].kernel) {
			assert_null(plan.ops[i].kernel);
			continue;
		}
		assert_int_equal(plan.ops[i].owner, expected[i].owner);
		assert_string_equal(plan.ops[i].kernel, expected[i].kernel);
		assert_string_equal(window->ops[i].launch.kernel, expected[i].kernel);
	}
	assert_false(kgb_replay_plan_is_candidate(&plan, plan.n_ops));
	assert_true(kgb_replay_plan_moves(&plan));
	for (size_t i = 0; i < plan.n_ops; i++)
		plan.ops[i].writes &= i == 1;
	assert_false(kgb_replay_plan_moves(&plan));

	const struct kgb_launch *launch = &window->ops[1].launch;
	assert_int_equal(launch->image, 0);
	assert_int_equal(launch->params_bytes, 24);
	assert_int_equal(launch->n_attrs, 2);
	assert_true(launch->attrs[0].id == 2 && launch->attrs[0].value[0] == 1);
	assert_true(launch->attrs[1].id == 8 && launch->attrs[1].value[4] == 0);
	assert_true(window->ops[2].event == 0 && window->ops[3].event == 0);
	assert_int_equal(window->ops[6].memset.pitch, 0);
	assert_int_equal(window->ops[6].memset.width, 2);
	assert_true(window->ops[5].copy.dst == ARENA + 4096 && window->ops[5].copy.bytes == 64);
	assert_int_equal(window->ops[0].upload.bytes, 16);
	kgb_record_release(&record);
	kgb_replay_plan_release(&plan);
	kgb_replay_plan_release(&plan);
	kgb_replay_plan_release(NULL);
}

static void test_a_plan_keeps_the_kind_of_its_memory(void **state)
{
	static const struct kgb_block blocks[] = {
		{.address = POOL, .bytes = 8, .before = true},
		{.address = UINT64_C(0x7f0000000000), .bytes = 8, .foreign = true},
	};
	const uint64_t words[] = {blocks[0].address, blocks[1].address};
	struct call call;
	struct kgb_replay_plan plan;
	struct kgb_record record;
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	call_begin(&call, 2, 0);
	for (size_t i = 0; i < KGB_ARRAY_LEN(blocks); i++)
		kgb_record_put_block(&call.bytes, &blocks[i]);
	add_launch(&call, IMAGE_ADD, "k", words, 2);
	call_end(&call, 0);
	assert_ok(kgb_replay_plan_make(&call.capture, &test_owners, &plan, &err), err);
	assert_ok(kgb_record_parse(plan.record.ptr, plan.record.len, &record, &err), err);
	assert_int_equal(record.windows[0].n_blocks, 2);
	for (size_t i = 0; i < KGB_ARRAY_LEN(blocks); i++) {
		assert_int_equal(record.windows[0].blocks[i].before, blocks[i].before);
		assert_int_equal(record.windows[0].blocks[i].foreign, blocks[i].foreign);
	}
	kgb_record_release(&record);
	kgb_replay_plan_release(&plan);
	call_release(&call);
}

static void test_a_plan_of_a_plan_is_the_same(void **state)
{
	struct call call;
	struct kgb_replay_plan first, second;
	struct kgb_record record;
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	assert_ok(kgb_replay_plan_make(busy_call(&call), &test_owners, &first, &err), err);
	assert_ok(kgb_record_parse(first.record.ptr, first.record.len, &record, &err), err);
	struct kgb_recorded_call capture = call.capture;
	capture.record = &record;
	capture.window = &record.windows[0];
	assert_ok(kgb_replay_plan_make(&capture, &test_owners, &second, &err), err);
	assert_int_equal(first.record.len, second.record.len);
	assert_memory_equal(first.record.ptr, second.record.ptr, first.record.len);
	kgb_replay_plan_release(&first);
	kgb_replay_plan_release(&second);
	kgb_record_release(&record);
	call_release(&call);
}

static void test_no_plan_is_made_of_what_cannot_be_replayed(void **state)
{
	static const struct {
		enum kgb_op_kind kind;
		const char *message;
	} cases[] = {
		{KGB_OP_UNSUPPORTED,
		 "op 0 (unsupported): cannot be replayed: cuGraphLaunch: a graph with a host node"},
		{KGB_OP_DOWNLOAD, "op 0: the host reads 9 bytes at x+0 (.item(), .cpu(), a "
				  "condition on a tensor ...)"},
		{KGB_OP_COPY,
		 "op 0 (copy): destination of 9 bytes at 0x5 (0x5), which is not wholly in an "
		 "argument or in memory that torch allocated"},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct call call;
		struct kgb_replay_plan plan = {.n_ops = 55};
		struct kgb_err err = KGB_ERR_INIT;
		call_begin(&call, 2, 0);
		if (cases[i].kind == KGB_OP_DOWNLOAD)
			add_download(&call, ARENA, 9);
		else if (cases[i].kind == KGB_OP_COPY)
			add_copy(&call, 5, ARENA, 9);
		else
			add_plain(&call, cases[i].kind, 0, 0);
		call_end(&call, 0);
		assert_fails(kgb_replay_plan_make(&call.capture, &test_owners, &plan, &err), err,
			     cases[i].message);
		assert_int_equal(err.kind, KGB_ERR_INVALID);
		assert_int_equal(plan.n_ops, 55);
		call_release(&call);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_plan_has_what_the_replay_needs_and_nothing_else),
		cmocka_unit_test(test_a_plan_for_a_gpu_has_code_and_packed_parameters),
		cmocka_unit_test(test_a_part_of_a_plan_ends_early_and_may_leave_out_kernels),
		cmocka_unit_test(test_a_plan_keeps_the_kind_of_its_memory),
		cmocka_unit_test(test_a_plan_of_a_plan_is_the_same),
		cmocka_unit_test(test_no_plan_is_made_of_what_cannot_be_replayed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
