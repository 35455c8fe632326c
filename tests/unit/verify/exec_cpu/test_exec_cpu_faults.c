/* SPDX-License-Identifier: MIT */
/* What kgb-exec-cpu says of kernels that break a rule, of plans that it cannot run, and how a run
 * ends that does not end. */
#include "tests/unit/verify/exec_cpu/player.h"

#include "base/time.h"
#include "tests/helpers/whole_arena.h"
#include "verify/protocol/cpu_image.h"

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

/* --- kernels that break a rule --- */

#define LANES                                                                   \
	"%i = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>\n" \
	"%pa = tt.splat %a : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>>\n"          \
	"%qa = tt.addptr %pa, %i : tensor<8x!tt.ptr<i32>>, tensor<8xi32>\n"

struct rule {
	const char *name;
	const char *body; /* of a kernel (%a: !tt.ptr<i32>) */
	uint64_t argument;
	uint32_t grid;
	enum kgb_exec_fault fault;
	const char *text;
};

static const struct rule rules[] = {
	{"a read behind a block", LANES "%x = tt.load %qa : tensor<8x!tt.ptr<i32>>", POOL + 4072, 1,
	 KGB_EXEC_FAULT_ACCESS, "op 1 (launch of 'f'): access to 0x2acb00001000"},
	{"a read before a block", LANES "%x = tt.load %qa : tensor<8x!tt.ptr<i32>>", POOL - 4, 1,
	 KGB_EXEC_FAULT_ACCESS, "access to 0x2acafffffffc"},
	{"a write behind the arena", LANES "tt.store %qa, %i : tensor<8x!tt.ptr<i32>>",
	 ARENA + ARENA_BYTES - 29, 1, KGB_EXEC_FAULT_ACCESS, "access to"},
	{"an address of nothing", LANES "tt.store %qa, %i : tensor<8x!tt.ptr<i32>>", 16, 1,
	 KGB_EXEC_FAULT_ACCESS, "access to 0x10"},
	{"an address between elements", LANES "%x = tt.load %qa : tensor<8x!tt.ptr<i32>>", POOL + 2,
	 1, KGB_EXEC_FAULT_ALIGNMENT, "tt.load"},
	{"two programs write an element",
	 LANES "%p = tt.get_program_id x : i32\n%s = tt.splat %p : i32 -> tensor<8xi32>\n"
	       "tt.store %qa, %s : tensor<8x!tt.ptr<i32>>",
	 POOL, 2, KGB_EXEC_FAULT_RACE, "tt.store"},
	{"a warp reads what another one of the program wrote",
	 "%i = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>\n"
	 "%c = arith.constant dense<32> : tensor<64xi32>\n%m = arith.remsi %i, %c : tensor<64xi32>\n"
	 "%pa = tt.splat %a : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>>\n"
	 "%qa = tt.addptr %pa, %m : tensor<64x!tt.ptr<i32>>, tensor<64xi32>\n"
	 "%s = tt.addptr %pa, %i : tensor<64x!tt.ptr<i32>>, tensor<64xi32>\n"
	 "tt.store %s, %i : tensor<64x!tt.ptr<i32>>\n%x = tt.load %qa : tensor<64x!tt.ptr<i32>>",
	 POOL, 1, KGB_EXEC_FAULT_RACE, "lanes 1 and 33 of the program without a barrier"},
	{"an assertion", "%c = arith.constant false\ntt.assert %c, \"never\" : i1", POOL, 1,
	 KGB_EXEC_FAULT_ASSERT, "never"},
	{"an index",
	 LANES
	 "%h = arith.constant dense<9> : tensor<8xi32>\n"
	 "%x = tt.gather %i[%h] {axis = 0 : i32} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>",
	 POOL, 1, KGB_EXEC_FAULT_INDEX, "tt.gather"},
};

static void check_rule(const struct rule *rule)
{
	KGB_AUTO(free) char *module = module_of("%a: !tt.ptr<i32>", rule->body);
	struct kgb_buf record = record_begin(module);

	put_block(&record, POOL, 4096);
	put_memset(&record, POOL, 0, 4, 1024);
	put_launch(&record, OTHER, "f", rule->grid, &rule->argument, 1);
	const enum kgb_exec_outcome outcome = play(&record);
	if (outcome != KGB_EXEC_BROKE_RULE || g.exec.reply.device_error != rule->fault ||
	    g.exec.reply.value != 1 || !strstr(g.err.msg, rule->text) ||
	    !strstr(g.err.msg, "op 1 (launch of 'f')"))
		fail_msg("%s: %s, fault %u, op %llu: %s", rule->name,
			 kgb_exec_outcome_name(outcome), g.exec.reply.device_error,
			 (unsigned long long)g.exec.reply.value, g.err.msg);
}

static void test_a_kernel_that_breaks_a_rule_is_named_and_the_process_goes_on(void **state)
{
	const pid_t process = g.exec.process.launcher;

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(rules); i++)
		check_rule(&rules[i]);
	struct kgb_buf record = record_begin(NULL);
	put_add(&record, tensor(0), tensor(1), tensor(2), FLOATS);
	assert_int_equal(play(&record), KGB_EXEC_DONE);
	assert_int_equal(count_wrong(0, g.output + 2 * FLOATS * 4, FLOATS), 0);
	assert_int_equal(g.exec.process.launcher, process);
}

static void test_a_fault_names_line_program_and_address(void **state)
{
	struct kgb_buf record = record_begin(NULL);

	(void)state;
	put_block(&record, POOL, 1000 * 4); /* one program more would fit */
	put_add(&record, tensor(0), tensor(1), POOL, 1001);
	assert_int_equal(play(&record), KGB_EXEC_BROKE_RULE);
	assert_int_equal(g.exec.reply.value, 0);
	assert_contains(g.err.msg, "op 0 (launch of 'add_kernel'): access to 0x2acb00000fa0: "
				   "kernel.py:11: tt.store");
	assert_contains(g.err.msg, "program (15, 0, 0)");
}

static void test_a_launch_left_out_breaks_no_rule(void **state)
{
	struct kgb_exec_request spec = run_spec(0, 1);
	struct kgb_buf record = record_begin(NULL);

	(void)state;
	put_add(&record, tensor(0), tensor(1), POOL, 10);
	assert_int_equal(play(&record), KGB_EXEC_BROKE_RULE);
	spec.skip = 0;
	assert_int_equal(run(&spec), KGB_EXEC_DONE);
}

static void test_a_fault_in_a_prologue_has_no_op(void **state)
{
	struct kgb_exec_request spec = run_spec(0, 1);
	struct kgb_buf before = record_begin(NULL), record = record_begin(NULL);

	(void)state;
	put_add(&before, tensor(0), tensor(1), POOL, 10);
	assert_int_equal(send_plan(&record, 0), KGB_EXEC_DONE);
	assert_int_equal(send_plan(&before, 1), KGB_EXEC_DONE);
	spec.prologue = 1;
	assert_int_equal(run(&spec), KGB_EXEC_BROKE_RULE);
	assert_true(g.exec.reply.value == UINT64_MAX);
	assert_contains(g.err.msg, "prologue: op 0");
}

static void test_an_argument_is_as_divisible_as_the_module_says(void **state)
{
	struct kgb_buf record = record_begin(NULL);

	(void)state;
	put_add(&record, tensor(0) + 4, tensor(1), tensor(2), 10);
	assert_int_equal(play(&record), KGB_EXEC_BROKE_RULE);
	assert_int_equal(g.exec.reply.device_error, KGB_EXEC_FAULT_CLAIM);
}

/* A change that the next op undoes is one. */
static void test_an_input_is_not_written_to_at_all(void **state)
{
	const struct kgb_exec_range parts[] = {{tensor(0), 64}, {tensor(1), 64}, {tensor(2), 64}};
	const struct kgb_exec_arena_spec spec = {.input_fd = g.input_fd,
						 .output_fd = g.output_fd,
						 .arena_bytes = ARENA_BYTES,
						 .output_bytes = OUTPUT_BYTES,
						 .n_slots = SLOTS,
						 .parts = parts,
						 .n_parts = 3,
						 .inputs = 3};

	(void)state;
	assert_int_equal(kgb_exec_client_arena(&g.exec, &spec, WAIT_MS, &g.err), KGB_EXEC_DONE);
	for (size_t i = 0; i < 3; i++) {
		struct kgb_buf by_kernel = record_begin(NULL), by_copy = record_begin(NULL);
		const enum kgb_exec_outcome outcome = i < 2 ? KGB_EXEC_BROKE_RULE : KGB_EXEC_DONE;
		put_add(&by_kernel, tensor(1), tensor(1), tensor(i), 16);
		assert_int_equal(play(&by_kernel), outcome);
		if (i < 2)
			assert_int_equal(g.exec.reply.device_error, KGB_EXEC_FAULT_INPUT);
		put_copy(&by_copy, tensor(i), tensor(1), 4);
		assert_int_equal(play(&by_copy), outcome);
		if (i < 2)
			assert_int_equal(g.exec.reply.device_error, KGB_EXEC_FAULT_INPUT);
	}
	assert_int_equal(send_whole_arena(&g.exec, g.input_fd, ARENA_BYTES, SLOTS, g.output_fd,
					  OUTPUT_BYTES, WAIT_MS, &g.err),
			 KGB_EXEC_DONE);
}

/* --- plans that cannot run --- */

static void test_an_operation_that_the_machine_does_not_know_is_named(void **state)
{
	KGB_AUTO(free)
	char *module = module_of("%a: !tt.ptr<i32>", "%x = tt.dream %a : !tt.ptr<i32> -> i32");
	struct kgb_buf record = record_begin(module);
	const uint64_t slots[] = {POOL};

	(void)state;
	put_add(&record, tensor(0), tensor(1), tensor(2), 10);
	put_launch(&record, OTHER, "f", 1, slots, 1);
	assert_int_equal(send_plan(&record, 0), KGB_EXEC_UNKNOWN_OPERATION);
	assert_int_equal(g.exec.reply.value, 1);
	assert_contains(g.err.msg, "op 1 (launch of 'f')");
	assert_contains(g.err.msg, "tt.dream");
	/* The plan that was there is gone. */
	const struct kgb_exec_request spec = run_spec(0, 1);
	assert_int_equal(run(&spec), KGB_EXEC_REFUSED);
}

enum bad_plan {
	BAD_IMAGE,
	BAD_MODULE,
	BAD_KERNEL,
	TOO_FEW_PARAMETERS,
	TOO_MANY_PARAMETERS,
	ODD_PARAMETERS,
	SHARED_MEMORY,
	FOREIGN_BLOCK,
	UNSUPPORTED_OP,
	MEMSET_OUTSIDE,
	MOVE_OUTSIDE,
	MOVE_WITHOUT_END,
	MOVE_OF_NOTHING_KNOWN,
	MOVE_OF_UNKNOWN_TYPE,
	MOVE_ON_A_GRID,
	LONG_VALUE,
	N_BAD_PLANS,
};

static const char *const bad_texts[N_BAD_PLANS] = {
	[BAD_IMAGE] = "image 3",
	[BAD_MODULE] = "op 0",
	[BAD_KERNEL] = "has no kernel 'g'",
	[TOO_FEW_PARAMETERS] = "24 bytes of parameters",
	[TOO_MANY_PARAMETERS] = "40 bytes of parameters",
	[ODD_PARAMETERS] = "33 bytes of parameters",
	[SHARED_MEMORY] = "shared memory",
	[FOREIGN_BLOCK] = "did not come from the pool",
	[UNSUPPORTED_OP] = "cannot be replayed: a dance",
	[MEMSET_OUTSIDE] = "not memory of this plan",
	[MOVE_OUTSIDE] = "not memory of this plan",
	[MOVE_WITHOUT_END] = "has no end",
	[MOVE_OF_NOTHING_KNOWN] = "no kernel 'swap'",
	[MOVE_OF_UNKNOWN_TYPE] = "unknown type 99",
	[MOVE_ON_A_GRID] = "a grid or block of more than one",
	[LONG_VALUE] = "a value of more than 2 bytes",
};

static const uint64_t fill_words[] = {POOL, KGB_DTYPE_FLOAT16, 1, 0, 1, 16, 1};

static void put_bad_move(struct kgb_buf *record, enum bad_plan bad)
{
	uint64_t words[KGB_ARRAY_LEN(fill_words)];

	memcpy(words, fill_words, sizeof(words));
	if (bad == MOVE_OUTSIDE)
		words[6] = 2; /* the last element is behind the block */
	if (bad == MOVE_WITHOUT_END)
		words[6] = UINT64_C(1) << 62;
	if (bad == MOVE_OF_UNKNOWN_TYPE)
		words[1] = 99;
	if (bad == LONG_VALUE)
		words[2] = 0x10000;
	put_launch(record, TORCH, bad == MOVE_OF_NOTHING_KNOWN ? "swap" : KGB_TORCH_FILL,
		   bad == MOVE_ON_A_GRID ? 2 : 1, words, KGB_ARRAY_LEN(words));
}

static void put_bad_launch(struct kgb_buf *record, enum bad_plan bad)
{
	const uint64_t slots[5] = {tensor(0), tensor(1), tensor(2), 10, 0};
	struct kgb_op op = {.kind = KGB_OP_LAUNCH,
			    .launch = {.image = ADD,
				       .kernel = bad == BAD_KERNEL ? "g" : "add_kernel",
				       .grid = {1, 1, 1},
				       .block = {128, 1, 1},
				       .carveout = -1,
				       .shared_bytes = bad == SHARED_MEMORY ? 64 : 0,
				       .params = (const unsigned char *)slots,
				       .params_bytes = bad == TOO_FEW_PARAMETERS    ? 24
						       : bad == TOO_MANY_PARAMETERS ? 40
						       : bad == ODD_PARAMETERS      ? 33
										    : 32}};

	kgb_record_put_op(record, &op);
}

static enum kgb_exec_outcome play_bad(enum bad_plan bad)
{
	const struct kgb_op unsupported = {.kind = KGB_OP_UNSUPPORTED, .why = "a dance"};
	const struct kgb_block foreign = {.address = 1 << 30, .bytes = 64, .foreign = true};
	const uint64_t none[] = {0};
	struct kgb_buf record = record_begin(bad == BAD_MODULE ? "module {" : NULL);

	put_block(&record, POOL, 32);
	if (bad == BAD_IMAGE)
		kgb_record_put_image(&record, OTHER,
				     "\x7f"
				     "ELF",
				     4);
	else if (bad == BAD_MODULE)
		put_launch(&record, OTHER, "f", 1, none, 1);
	else if (bad == FOREIGN_BLOCK)
		kgb_record_put_block(&record, &foreign);
	else if (bad == UNSUPPORTED_OP)
		kgb_record_put_op(&record, &unsupported);
	else if (bad == MEMSET_OUTSIDE)
		put_memset(&record, POOL + 1, 0, 1, 32);
	else if (bad < MOVE_OUTSIDE)
		put_bad_launch(&record, bad);
	else
		put_bad_move(&record, bad);
	return play(&record);
}

static void test_plans_that_cannot_run_say_why(void **state)
{
	struct kgb_buf record = record_begin(NULL);

	(void)state;
	for (int bad = 0; bad < N_BAD_PLANS; bad++) {
		const enum kgb_exec_outcome outcome = play_bad((enum bad_plan)bad);
		if (outcome != KGB_EXEC_UNREPLAYABLE || !strstr(g.err.msg, bad_texts[bad]))
			fail_msg("%s: %s: %s", bad_texts[bad], kgb_exec_outcome_name(outcome),
				 g.err.msg);
	}
	/* What the table changes is what is wrong with it. */
	put_block(&record, POOL, 32);
	put_launch(&record, TORCH, KGB_TORCH_FILL, 1, fill_words, KGB_ARRAY_LEN(fill_words));
	put_bad_launch(&record, N_BAD_PLANS);
	assert_int_equal(play(&record), KGB_EXEC_DONE);
}

static void test_more_memory_than_there_is_is_out_of_memory(void **state)
{
	struct kgb_buf record = record_begin(NULL);

	(void)state;
	put_block(&record, POOL, KGB_POOL_BYTES);
	assert_int_equal(play(&record), KGB_EXEC_OUT_OF_MEMORY);
}

static void test_nothing_is_timed(void **state)
{
	struct kgb_exec_request spec = run_spec(0, 1);
	struct kgb_buf record = record_begin(NULL);

	(void)state;
	assert_int_equal(send_plan(&record, 0), KGB_EXEC_DONE);
	spec.n_samples = spec.n_slots = 1;
	assert_int_equal(kgb_exec_client_time(&g.exec, &spec, &g.layout, WAIT_MS, &g.err),
			 KGB_EXEC_NO_GPU);
	start(1);
	assert_int_equal(kgb_exec_client_measure(&g.exec, WAIT_MS, &g.err), KGB_EXEC_NO_GPU);
	start(1);
}

/* --- runs that do not end --- */

static void send_endless_plan(void)
{
	KGB_AUTO(free)
	char *module =
		module_of("%a: !tt.ptr<i32>",
			  "cf.br ^bb1\n^bb1:\n%x = tt.load %a : !tt.ptr<i32>\ncf.br ^bb1\n^bb2:");
	struct kgb_buf record = record_begin(module);
	const uint64_t slots[] = {ARENA};

	put_launch(&record, OTHER, "f", 8, slots, 1);
	if (send_plan(&record, 0) != KGB_EXEC_DONE)
		fail_msg("%s", g.err.msg);
}

static void test_an_endless_kernel_ends_at_its_deadline(void **state)
{
	const struct kgb_exec_request spec = run_spec(0, 1);
	const int64_t begin = kgb_mono_ms();

	(void)state;
	send_endless_plan();
	assert_int_equal(kgb_exec_client_run(&g.exec, &spec, &g.layout, 300, &g.err),
			 KGB_EXEC_TIMED_OUT);
	assert_true(kgb_mono_ms() - begin < WAIT_MS / 2);
	assert_int_equal(g.exec.process.launcher, 0);
	start(2);
}

static pid_t kill_soon(void)
{
	fflush(NULL);
	const pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		usleep(200000);
		kgb_exec_client_leave(&g.exec, false, NULL);
		_exit(0);
	}
	return pid;
}

static void test_a_process_that_is_killed_in_a_run_has_died(void **state)
{
	const struct kgb_exec_request spec = run_spec(0, 1);

	(void)state;
	send_endless_plan();
	const pid_t killer = kill_soon();
	assert_int_equal(run(&spec), KGB_EXEC_DIED);
	assert_int_equal(waitpid(killer, NULL, 0), killer);
	assert_contains(g.err.msg, "signal 15");
	start(2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_kernel_that_breaks_a_rule_is_named_and_the_process_goes_on),
		cmocka_unit_test(test_a_fault_names_line_program_and_address),
		cmocka_unit_test(test_a_launch_left_out_breaks_no_rule),
		cmocka_unit_test(test_a_fault_in_a_prologue_has_no_op),
		cmocka_unit_test(test_an_argument_is_as_divisible_as_the_module_says),
		cmocka_unit_test(test_an_input_is_not_written_to_at_all),
		cmocka_unit_test(test_an_operation_that_the_machine_does_not_know_is_named),
		cmocka_unit_test(test_plans_that_cannot_run_say_why),
		cmocka_unit_test(test_more_memory_than_there_is_is_out_of_memory),
		cmocka_unit_test(test_nothing_is_timed),
		cmocka_unit_test(test_an_endless_kernel_ends_at_its_deadline),
		cmocka_unit_test(test_a_process_that_is_killed_in_a_run_has_died),
	};

	return cmocka_run_group_tests(tests, start_player, stop_player);
}
