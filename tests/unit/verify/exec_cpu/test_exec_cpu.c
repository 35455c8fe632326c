/* SPDX-License-Identifier: MIT */
/* kgb-exec-cpu gives the results of plans: kernels, torch's moves, memory, what runs before. */
#include "tests/unit/verify/exec_cpu/player.h"

#include "tests/helpers/whole_arena.h"

static int start_player(void **state)
{
	(void)state;
	start(2);
	return 0;
}

static int stop_player(void **state)
{
	(void)state;
	stop();
	return 0;
}

static void check_outcome(enum kgb_exec_outcome got, enum kgb_exec_outcome wanted, const char *what)
{
	if (got != wanted)
		fail_msg("%s: %s: %s", what, kgb_exec_outcome_name(got), g.err.msg);
}
#define assert_outcome(call, outcome) check_outcome((call), (outcome), #call)

static void test_a_kernel_writes_into_the_arena_of_the_slot(void **state)
{
	struct kgb_buf record = record_begin(NULL);

	(void)state;
	put_add(&record, tensor(0), tensor(1), tensor(2), FLOATS);
	assert_outcome(send_plan(&record, 0), KGB_EXEC_DONE);
	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		struct kgb_exec_request spec = run_spec(0, slot);
		spec.slot = slot;
		assert_outcome(run(&spec), KGB_EXEC_DONE);
		assert_int_equal(count_wrong(slot, g.output + 2 * FLOATS * 4, FLOATS), 0);
		assert_memory_equal(g.output, image_of(slot), 2 * FLOATS * 4);
		assert_memory_equal(g.output + 3 * FLOATS * 4, image_of(slot) + 3 * FLOATS * 4, 5);
	}
}

static void test_blocks_hold_poison_until_an_op_writes(void **state)
{
	const uint64_t odd = POOL + (64 << 20) + 1005;
	struct kgb_exec_request spec = run_spec(1, UINT64_C(0xfeedfacecafebeef));
	struct kgb_buf record = record_begin(NULL);

	(void)state;
	put_block(&record, POOL, FLOATS * 4);
	put_block(&record, odd, 999);
	put_add(&record, tensor(0), tensor(1), POOL, FLOATS);
	assert_outcome(send_plan(&record, 1), KGB_EXEC_DONE);
	assert_int_equal(g.exec.reply.value, FLOATS * 4 + 999);
	spec.ranges[0] = (struct kgb_exec_range){POOL, FLOATS * 4};
	spec.ranges[1] = (struct kgb_exec_range){odd, 999};
	spec.n_ranges = 2;
	assert_outcome(run(&spec), KGB_EXEC_DONE);
	assert_int_equal(count_wrong(0, range(0), FLOATS), 0);
	assert_true(is_poison(spec.poison, odd, range(1), 999));
	assert_memory_equal(g.output, image_of(0), ARENA_BYTES);
	spec.skip = 0;
	assert_outcome(run(&spec), KGB_EXEC_DONE);
	assert_true(is_poison(spec.poison, POOL, range(0), FLOATS * 4));
	spec.skip = 1;
	assert_outcome(run(&spec), KGB_EXEC_REFUSED);
	spec.skip = -1;
	spec.slot = SLOTS;
	assert_outcome(run(&spec), KGB_EXEC_REFUSED);
	spec.slot = 0;
	spec.plan = 2;
	assert_outcome(run(&spec), KGB_EXEC_REFUSED);
	spec.plan = 1;
	spec.ranges[1].bytes = 1000;
	assert_outcome(run(&spec), KGB_EXEC_REFUSED);
	assert_contains(g.err.msg, "range 1");
}

static void test_a_masked_lane_is_random_and_the_seed_decides(void **state)
{
	/* Adds lanes of both tensors that the masks leave out. */
	static const char body[] =
		"%i = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>\n"
		"%pa = tt.splat %a : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>>\n"
		"%qa = tt.addptr %pa, %i : tensor<8x!tt.ptr<i32>>, tensor<8xi32>\n"
		"%m = arith.constant dense<false> : tensor<8xi1>\n"
		"%x = tt.load %qa, %m : tensor<8x!tt.ptr<i32>>\n"
		"tt.store %qa, %x : tensor<8x!tt.ptr<i32>>";
	KGB_AUTO(free) char *module = module_of("%a: !tt.ptr<i32>", body);
	struct kgb_buf record = record_begin(module);
	const uint64_t slots[] = {ARENA};
	char first[32], second[32];

	(void)state;
	put_launch(&record, OTHER, "f", 1, slots, 1);
	assert_outcome(send_plan(&record, 0), KGB_EXEC_DONE);
	for (uint64_t poison = 1; poison <= 3; poison++) {
		struct kgb_exec_request spec = run_spec(0, poison / 2);
		assert_outcome(run(&spec), KGB_EXEC_DONE);
		memcpy(poison == 1 ? first : second, g.output, 32);
		if (poison == 2)
			assert_true(memcmp(first, second, 32) != 0);
	}
	assert_true(memcmp(first, image_of(0), 32) != 0);
	/* The last two seeds were one. */
	struct kgb_exec_request spec = run_spec(0, 1);
	assert_outcome(run(&spec), KGB_EXEC_DONE);
	assert_memory_equal(g.output, second, 32);
}

/* Whether the element at %a is the one at %b. */
static const char comparison[] = "%x = tt.load %a : !tt.ptr<i32>\n%y = tt.load %b : !tt.ptr<i32>\n"
				 "%c = arith.cmpi eq, %x, %y : i32 loc(\"kernel.py\":5:3)\n"
				 "%d = arith.extui %c : i1 to i32\ntt.store %o, %d : !tt.ptr<i32>";

static void send_comparison(uint32_t plan, uint64_t a, uint64_t b)
{
	KGB_AUTO(free)
	char *module =
		module_of("%a: !tt.ptr<i32>, %b: !tt.ptr<i32>, %o: !tt.ptr<i32>", comparison);
	struct kgb_buf record = record_begin(module);
	const uint64_t slots[] = {a, b, tensor(2)};

	put_launch(&record, OTHER, "f", 1, slots, 3);
	assert_outcome(send_plan(&record, plan), KGB_EXEC_DONE);
}

/* `lanes`: since the last time. */
static uint32_t outcomes_so_far(uint32_t outside, uint32_t lanes)
{
	struct kgb_exec_condition condition;

	assert_outcome(kgb_exec_client_conditions(&g.exec, WAIT_MS, &g.err), KGB_EXEC_DONE);
	assert_int_equal(g.exec.reply.value, 1);
	memcpy(&condition, g.output, sizeof(condition));
	assert_int_equal(condition.line, 5);
	assert_string_equal(condition.file, "kernel.py");
	assert_int_equal(condition.outside, outside);
	assert_int_equal(condition.lanes, lanes);
	return condition.outcomes;
}

static void test_conditions_are_noted_over_plans(void **state)
{
	struct kgb_exec_request spec = run_spec(0, 1);

	(void)state;
	start(1);
	send_comparison(0, tensor(0), tensor(0));
	assert_int_equal(outcomes_so_far(0, 0), 0);
	spec.skip = 0;
	assert_outcome(run(&spec), KGB_EXEC_DONE);
	assert_int_equal(outcomes_so_far(0, 0), 0);
	spec.skip = -1;
	assert_outcome(run(&spec), KGB_EXEC_DONE);
	assert_outcome(run(&spec), KGB_EXEC_DONE);
	assert_int_equal(outcomes_so_far(0, 2), KGB_EXEC_WAS_TRUE);
	/* What happens on invalid inputs is noted apart. */
	spec.flags = KGB_EXEC_OUTSIDE;
	assert_outcome(run(&spec), KGB_EXEC_DONE);
	assert_int_equal(outcomes_so_far(KGB_EXEC_WAS_TRUE, 0), KGB_EXEC_WAS_TRUE);
	spec.flags = 0;
	/* What a prologue does is not judged. */
	send_comparison(1, tensor(0), tensor(1) + 4);
	spec.prologue = 1;
	assert_outcome(run(&spec), KGB_EXEC_DONE);
	assert_int_equal(outcomes_so_far(KGB_EXEC_WAS_TRUE, 1), KGB_EXEC_WAS_TRUE);
	/* A plan that is gone counts. */
	send_comparison(0, tensor(0), tensor(1) + 4);
	spec.prologue = KGB_EXEC_NO_PLAN;
	assert_outcome(run(&spec), KGB_EXEC_DONE);
	assert_int_equal(outcomes_so_far(KGB_EXEC_WAS_TRUE, 1),
			 KGB_EXEC_WAS_TRUE | KGB_EXEC_WAS_FALSE);
	start(2);
}

static void test_a_descriptor_is_made_of_the_arguments_behind_it(void **state)
{
	KGB_AUTO(free) char *module = read_module("tile.ttir");
	struct kgb_exec_request spec = run_spec(0, 3);
	struct kgb_buf record = record_begin(module);
	/* 10 rows of 12 floats, 20 floats apart: the rest of the 16 x 16 tile is zero. */
	const uint64_t slots[] = {ARENA, 10, 12, 20, 1, POOL};

	(void)state;
	put_block(&record, POOL, 16 * 16 * 4);
	put_launch(&record, OTHER, "copy_tile", 1, slots, KGB_ARRAY_LEN(slots));
	spec.ranges[0] = (struct kgb_exec_range){POOL, 16 * 16 * 4};
	spec.n_ranges = 1;
	assert_outcome(send_plan(&record, 0), KGB_EXEC_DONE);
	assert_outcome(run(&spec), KGB_EXEC_DONE);
	for (size_t i = 0; i < 256; i++) {
		const size_t row = i / 16, column = i % 16;
		const float want =
			row < 10 && column < 12 ? float_at(image_of(0), row * 20 + column) : 0;
		assert_true(float_at(range(0), i) == want);
	}
}

static void test_ops_run_in_the_order_of_the_host(void **state)
{
	static const unsigned char payload[] = "these bytes are uploaded";
	const struct kgb_op upload = {.kind = KGB_OP_UPLOAD,
				      .upload = {POOL + 1, sizeof(payload), payload}};
	const struct kgb_op rows = {.kind = KGB_OP_MEMSET,
				    .stream = 9,
				    .memset = {.dst = POOL + 2048,
					       .pitch = 64,
					       .value = 0x0102,
					       .element_bytes = 2,
					       .width = 3,
					       .height = 4}};
	const struct kgb_op download = {.kind = KGB_OP_DOWNLOAD, .download = {POOL, 100}};
	const struct kgb_op sync = {.kind = KGB_OP_SYNC};
	const struct kgb_op recorded = {.kind = KGB_OP_EVENT_RECORD, .stream = 9, .event = 4};
	const struct kgb_op waits = {.kind = KGB_OP_EVENT_WAIT, .stream = 8, .event = 5};
	struct kgb_exec_request spec = run_spec(3, 9);
	struct kgb_buf record = record_begin(NULL);
	const uint16_t two = 0x1234, row = 0x0102;
	const uint32_t four = 0x12345678;

	(void)state;
	put_block(&record, POOL, 4096);
	kgb_record_put_op(&record, &upload);
	put_memset(&record, POOL + 100, 0x1ab, 1, 50);
	put_memset(&record, POOL + 200, 0x1234, 2, 50);
	put_memset(&record, POOL + 400, 0x12345678, 4, 50);
	kgb_record_put_op(&record, &rows);
	kgb_record_put_op(&record, &recorded);
	kgb_record_put_op(&record, &waits);
	kgb_record_put_op(&record, &sync);
	put_copy(&record, POOL + 1024, POOL, 512);
	put_copy(&record, POOL + 1025, POOL + 1024, 511); /* overlaps */
	kgb_record_put_op(&record, &download);
	spec.ranges[0] = (struct kgb_exec_range){POOL, 4096};
	spec.n_ranges = 1;
	assert_outcome(send_plan(&record, 3), KGB_EXEC_DONE);
	assert_outcome(run(&spec), KGB_EXEC_DONE);
	const char *got = range(0);
	assert_memory_equal(got + 1, payload, sizeof(payload));
	assert_int_equal((unsigned char)got[149], 0xab);
	assert_memory_equal(got + 298, &two, 2);
	assert_memory_equal(got + 596, &four, 4);
	assert_memory_equal(got + 1025, got, 511);
	assert_memory_equal(got + 2048 + 3 * 64 + 4, &row, 2);
	assert_true(is_poison(9, POOL + 2054, got + 2054, 58));
	assert_true(is_poison(9, POOL + 600, got + 600, 24));
	spec.skip = 7;
	assert_outcome(run(&spec), KGB_EXEC_REFUSED);
}

static void test_torch_fills_and_copies_across_strides_and_types(void **state)
{
	const struct kgb_torch_move moves[] = {
		{.n_dims = 2, /* a fill of the middle of 4 rows of 5 */
		 .sizes = {4, 3},
		 .dst = {POOL + 4, KGB_DTYPE_FLOAT32, {5, 1}},
		 .value = {0x40490fdb, 0}},
		{.is_copy = true, /* 3 x 4, transposed, to int16 */
		 .n_dims = 2,
		 .sizes = {3, 4},
		 .dst = {POOL + 1024, KGB_DTYPE_INT16, {4, 1}},
		 .src = {ARENA, KGB_DTYPE_FLOAT32, {1, 3}}},
		{.is_copy = true, /* one element to many */
		 .n_dims = 1,
		 .sizes = {6},
		 .dst = {POOL + 2048, KGB_DTYPE_COMPLEX128, {1}},
		 .src = {ARENA + 4, KGB_DTYPE_FLOAT32, {0}}},
		{.dst = {POOL + 3000, KGB_DTYPE_UINT8, {0}}, .value = {0x7f, 0}}, /* no dimension */
		{.n_dims = 1, .dst = {1, KGB_DTYPE_UINT8, {1}}, .value = {1, 0}}, /* no element */
	};
	struct kgb_exec_request spec = run_spec(0, 11);
	struct kgb_buf record = record_begin(NULL);

	(void)state;
	put_block(&record, POOL, 4096);
	for (size_t i = 0; i < KGB_ARRAY_LEN(moves); i++)
		put_move(&record, &moves[i]);
	spec.ranges[0] = (struct kgb_exec_range){POOL, 4096};
	spec.n_ranges = 1;
	assert_outcome(send_plan(&record, 0), KGB_EXEC_DONE);
	assert_outcome(run(&spec), KGB_EXEC_DONE);
	const char *got = range(0);
	for (size_t i = 0; i < 20; i++)
		if (i % 5 >= 1 && i % 5 < 4)
			assert_true(float_at(got, i) == 0x1.921fb6p1f);
		else
			assert_true(is_poison(11, POOL + 4 * i, got + 4 * i, 4));
	for (size_t i = 0; i < 12; i++) {
		int16_t value;
		memcpy(&value, got + 1024 + 2 * i, 2);
		assert_int_equal(value, (int16_t)float_at(image_of(0), i / 4 + i % 4 * 3));
	}
	for (size_t i = 0; i < 6; i++) {
		double parts[2];
		memcpy(parts, got + 2048 + 16 * i, 16);
		assert_true(parts[0] == (double)float_at(image_of(0), 1) && parts[1] == 0);
	}
	assert_int_equal(got[3000], 0x7f);
	assert_true(is_poison(11, POOL + 3001, got + 3001, 1095));
}

static void test_a_prologue_finds_zeros_and_leaves_its_memory(void **state)
{
	struct kgb_exec_request spec = run_spec(0, 13);
	struct kgb_buf before = record_begin(NULL), record = record_begin(NULL);

	(void)state;
	put_block(&before, POOL, 4096);
	put_block(&before, POOL + (4 << 20), 64);
	put_copy(&before, POOL, ARENA, 64); /* zeros */
	put_memset(&before, POOL + 64, 0x33, 1, 64);
	put_memset(&before, ARENA, 0x44, 1, 64); /* gone when the image comes */
	put_block(&record, POOL, 4096);
	put_copy(&record, POOL + 128, POOL, 128);
	put_copy(&record, POOL + 256, ARENA, 64);
	spec.prologue = 1;
	spec.ranges[0] = (struct kgb_exec_range){POOL, 4096};
	spec.n_ranges = 1;
	assert_outcome(send_plan(&record, 0), KGB_EXEC_DONE);
	assert_outcome(send_plan(&before, 1), KGB_EXEC_DONE);
	assert_outcome(run(&spec), KGB_EXEC_DONE);
	const char *got = range(0);
	for (size_t i = 0; i < 64; i++)
		assert_int_equal(got[128 + i], 0);
	assert_int_equal(got[128 + 64], 0x33);
	assert_int_equal(got[128 + 127], 0x33);
	assert_memory_equal(got + 256, image_of(0), 64);
	assert_true(is_poison(13, POOL + 320, got + 320, 4096 - 320));
	/* Without it there is poison. */
	spec.prologue = KGB_EXEC_NO_PLAN;
	assert_outcome(run(&spec), KGB_EXEC_DONE);
	assert_true(is_poison(13, POOL, range(0), 128));
	assert_outcome(kgb_exec_client_forget(&g.exec, WAIT_MS, &g.err), KGB_EXEC_DONE);
	assert_outcome(run(&spec), KGB_EXEC_REFUSED);
}

static void test_only_parts_of_an_arena_are_memory_and_come_back(void **state)
{
	const struct kgb_exec_range parts[] = {{ARENA + 100, 1000}, {ARENA + 4004, 4}};
	const struct kgb_exec_arena_spec spec = {.input_fd = g.input_fd,
						 .output_fd = g.output_fd,
						 .arena_bytes = ARENA_BYTES,
						 .output_bytes = OUTPUT_BYTES,
						 .n_slots = SLOTS,
						 .parts = parts,
						 .n_parts = 2};
	static const struct {
		uint64_t dst, src;
		bool fits;
	} copies[] = {
		{ARENA + 100, ARENA + 1096, true},  {ARENA + 4004, ARENA + 1096, true},
		{ARENA + 100, ARENA + 1097, false}, {ARENA + 99, ARENA + 200, false},
		{ARENA + 200, ARENA + 4000, false}, {ARENA + 4008, ARENA + 200, false},
	};

	(void)state;
	assert_outcome(kgb_exec_client_arena(&g.exec, &spec, WAIT_MS, &g.err), KGB_EXEC_DONE);
	for (size_t i = 0; i < KGB_ARRAY_LEN(copies); i++) {
		struct kgb_buf record = record_begin(NULL);
		memset(g.output, 0x3c, ARENA_BYTES);
		put_copy(&record, copies[i].dst, copies[i].src, 4);
		assert_outcome(play(&record),
			       copies[i].fits ? KGB_EXEC_DONE : KGB_EXEC_UNREPLAYABLE);
		if (!copies[i].fits)
			continue;
		for (size_t at = 0; at < ARENA_BYTES; at++) {
			const uint64_t address = ARENA + at;
			char want = 0x3c;
			if ((address >= ARENA + 100 && address < ARENA + 1100) ||
			    (address >= ARENA + 4004 && address < ARENA + 4008))
				want = image_of(0)[at];
			if (address >= copies[i].dst && address < copies[i].dst + 4)
				want = image_of(0)[copies[i].src + address - copies[i].dst - ARENA];
			assert_int_equal(g.output[at], want);
		}
	}
	assert_outcome(send_whole_arena(&g.exec, g.input_fd, ARENA_BYTES, SLOTS, g.output_fd,
					OUTPUT_BYTES, WAIT_MS, &g.err),
		       KGB_EXEC_DONE);
}

static void test_threads_do_not_change_results(void **state)
{
	static const int threads[] = {0, 1, 7};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(threads); i++) {
		struct kgb_buf record = record_begin(NULL);
		start(threads[i]);
		for (int k = 0; k < 50; k++)
			put_add(&record, tensor(0), tensor(1), tensor(2), FLOATS);
		assert_outcome(play(&record), KGB_EXEC_DONE);
		assert_int_equal(count_wrong(0, g.output + 2 * FLOATS * 4, FLOATS), 0);
	}
}

static void test_it_runs_in_its_sandbox(void **state)
{
	const struct kgb_exec_spec spec = {.on_cpu = true,
					   .n_threads = 1,
					   .program = KGB_TEST_BIN_DIR "/kgb-exec-cpu",
					   .launcher = KGB_TEST_BIN_DIR "/kgb-launch"};
	struct kgb_buf record = record_begin(NULL);

	(void)state;
	stop();
	const enum kgb_exec_outcome outcome =
		kgb_exec_client_start(&g.exec, &spec, WAIT_MS, &g.err);
	if (outcome == KGB_EXEC_NO_GPU && g.exec.reply.magic == 0) {
		kgb_buf_release(&record);
		skip(); /* no user namespaces */
	}
	assert_int_equal(outcome, KGB_EXEC_DONE);
	assert_string_equal(g.exec.device_name, "the machine for Triton's IR");
	assert_true(g.exec.machine.memory_bytes > 0);
	assert_outcome(send_whole_arena(&g.exec, g.input_fd, ARENA_BYTES, SLOTS, g.output_fd,
					OUTPUT_BYTES, WAIT_MS, &g.err),
		       KGB_EXEC_DONE);
	put_add(&record, tensor(0), tensor(1), tensor(2), FLOATS);
	assert_outcome(play(&record), KGB_EXEC_DONE);
	assert_int_equal(count_wrong(0, g.output + 2 * FLOATS * 4, FLOATS), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_kernel_writes_into_the_arena_of_the_slot),
		cmocka_unit_test(test_blocks_hold_poison_until_an_op_writes),
		cmocka_unit_test(test_a_masked_lane_is_random_and_the_seed_decides),
		cmocka_unit_test(test_conditions_are_noted_over_plans),
		cmocka_unit_test(test_a_descriptor_is_made_of_the_arguments_behind_it),
		cmocka_unit_test(test_ops_run_in_the_order_of_the_host),
		cmocka_unit_test(test_torch_fills_and_copies_across_strides_and_types),
		cmocka_unit_test(test_a_prologue_finds_zeros_and_leaves_its_memory),
		cmocka_unit_test(test_only_parts_of_an_arena_are_memory_and_come_back),
		cmocka_unit_test(test_threads_do_not_change_results),
		cmocka_unit_test(test_it_runs_in_its_sandbox),
	};

	return cmocka_run_group_tests(tests, start_player, stop_player);
}
