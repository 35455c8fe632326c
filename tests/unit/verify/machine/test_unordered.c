/* SPDX-License-Identifier: MIT */
/* What has no order on a GPU gets one that the seed draws: lanes of an atomic, elements that are
 * combined, blocks whose elements a kernel lets the compiler reorder. What a GPU does early is
 * early. */
#include "tests/unit/verify/machine/machine_module.h"

#define N 16
#define SEEDS 8
#define I16 "tensor<16xi32>"
#define P16 "tensor<16x!tt.ptr<i32>>"
/* %i: lane numbers, %x: loaded from %a, %here: addresses in %o, %first: its first element for all.
 */
#define LANES                                                                                    \
	"%i = tt.make_range {end = 16 : i32, start = 0 : i32} : " I16                            \
	"\n%sa = tt.splat %a : !tt.ptr<i32> -> " P16 "\n%pa = tt.addptr %sa, %i : " P16 ", " I16 \
	"\n%x = tt.load %pa : " P16 "\n%first = tt.splat %o : !tt.ptr<i32> -> " P16              \
	"\n%here = tt.addptr %first, %i : " P16 ", " I16 "\n"
#define STORE(value) "tt.store %here, " value " : " P16 "\n"

/* A kernel (%a, %o) with %a = 1 .. 16 and zeros in %o; returns the fault. */
static enum kgb_machine_fault_kind run(const char *body, uint64_t seed, int32_t *o)
{
	KGB_AUTO(free) char *text = module_text("%a: !tt.ptr<i32>, %o: !tt.ptr<i32>", body);
	struct kgb_machine_program *program = parse_module(text);
	_Alignas(16) int32_t a[N];
	struct arrays arrays = {.launch = {.finds_races = true, .seed = seed}};
	struct kgb_machine_fault fault;
	struct kgb_err err = KGB_ERR_INIT;

	for (int32_t i = 0; i < N; i++) {
		a[i] = i + 1;
		o[i] = 0;
	}
	add_array(&arrays, a, sizeof(a));
	add_array(&arrays, o, N * sizeof(*o));
	if (run_arrays(&arrays, program, &fault, &err) < 0 && fault.kind == KGB_MACHINE_NO_FAULT)
		fail_msg("%s", err.msg);
	kgb_machine_program_free(program);
	return fault.kind;
}

/* The results of a kernel for some seeds; returns how many differ from the first one. */
static int run_seeds(const char *body, int32_t results[SEEDS][N])
{
	int different = 0;

	for (int i = 0; i < SEEDS; i++) {
		assert_int_equal(run(body, (uint64_t)i, results[i]), KGB_MACHINE_NO_FAULT);
		different += memcmp(results[i], results[0], sizeof(results[i])) != 0;
	}
	return different;
}

static void test_lanes_of_an_atomic(void **state)
{
	static const char *const bodies[] = {
		LANES "%v = tt.atomic_rmw add, relaxed, gpu, %sa, %i : (" P16 ", " I16 ") -> " I16
		      "\n" STORE("%v"),
		LANES "%v = tt.atomic_cas relaxed, gpu, %sa, %x, %i : (" P16 ", " I16 ", " I16
		      ") -> " I16 "\n" STORE("%v"),
	};
	int32_t results[SEEDS][N];

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(bodies); i++)
		assert_true(run_seeds(bodies[i], results) > SEEDS / 2);
	(void)run_seeds(bodies[0], results);
	for (int i = 0; i < SEEDS; i++) { /* each lane was served once */
		int32_t largest = 0;
		for (int k = 0; k < N; k++)
			largest = results[i][k] > largest ? results[i][k] : largest;
		assert_in_range(largest, 1 + N * (N - 1) / 2 - (N - 1), 1 + N * (N - 1) / 2);
	}
}

/* ---- reductions and scans ---- */

/* A region on i32. */
#define REGION(what, body) "({\n^bb0(%u: i32, %v: i32):\n" body "tt." what ".return %w : i32\n})"
#define REDUCE(body)                                         \
	"%r = \"tt.reduce\"(%x) <{axis = 0 : i32}> " REGION( \
		"reduce", body) " : (" I16 ") -> i32\n"      \
				"tt.store %o, %r : !tt.ptr<i32>\n"
#define SCAN(body)                                                          \
	"%r = \"tt.scan\"(%x) <{axis = 0 : i32, reverse = false}> " REGION( \
		"scan", body) " : (" I16 ") -> " I16 "\n" STORE("%r")
#define RIGHT "%zero = arith.subi %u, %u : i32\n%w = arith.addi %zero, %v : i32\n"
#define TWICE_LEFT "%t = arith.addi %u, %u : i32\n%w = arith.addi %t, %v : i32\n"
#define SUM "%w = arith.addi %v, %u : i32\n"

static void test_combinations_depend_on_the_seed(void **state)
{
	static const struct {
		const char *what, *body;
		bool may_differ;
	} rows[] = {
		{"a reduction that is not symmetric", LANES REDUCE(RIGHT), true},
		{"a reduction that is not associative", LANES REDUCE(TWICE_LEFT), true},
		{"a difference", LANES REDUCE("%w = arith.subi %u, %v : i32\n"), true},
		{"a scan that is not associative", LANES SCAN(TWICE_LEFT), true},
		{"a scan of differences", LANES SCAN("%w = arith.subi %u, %v : i32\n"), true},
		{"a scan that is not symmetric", LANES SCAN(RIGHT), false},
		{"a sum", LANES REDUCE(SUM), false},
		{"a scan of sums", LANES SCAN(SUM), false},
	};
	int32_t results[SEEDS][N];

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++)
		if ((run_seeds(rows[i].body, results) > 1) != rows[i].may_differ)
			fail_msg("%s", rows[i].what);
}

/* 2 x 4 x 2 numbers 1 .. 16 along the middle axis. */
#define BLOCK "%m = tt.reshape %x : " I16 " -> tensor<2x4x2xi32>\n"
#define REVERSED(reverse)                                                                                             \
	LANES BLOCK "%r = \"tt.scan\"(%m) <{axis = 1 : i32, reverse = " reverse "}> " REGION(                         \
		"scan",                                                                                               \
		SUM) " : (tensor<2x4x2xi32>) -> tensor<2x4x2xi32>\n%flat = tt.reshape %r : tensor<2x4x2xi32> -> " I16 \
		     "\n" STORE("%flat")

static void test_combinations_along_an_inner_axis(void **state)
{
	static const struct {
		const char *body;
		int32_t want[N];
	} rows[] = {
		{LANES BLOCK "%r = \"tt.reduce\"(%m) <{axis = 1 : i32}> " REGION(
			 "reduce",
			 SUM) " : (tensor<2x4x2xi32>) -> tensor<2x2xi32>\n"
			      "%e = tt.expand_dims %r {axis = 1 : i32} : tensor<2x2xi32> -> tensor<2x1x2xi32>\n"
			      "%b = tt.broadcast %e : tensor<2x1x2xi32> -> tensor<2x4x2xi32>\n"
			      "%flat = tt.reshape %b : tensor<2x4x2xi32> -> " I16
			      "\n" STORE("%flat"),
		 {16, 20, 16, 20, 16, 20, 16, 20, 48, 52, 48, 52, 48, 52, 48, 52}},
		{REVERSED("false"), {1, 2, 4, 6, 9, 12, 16, 20, 9, 10, 20, 22, 33, 36, 48, 52}},
		{REVERSED("true"), {16, 20, 15, 18, 12, 14, 7, 8, 48, 52, 39, 42, 28, 30, 15, 16}},
	};
	int32_t o[N];

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++)
		for (uint64_t seed = 0; seed < SEEDS; seed++) {
			assert_int_equal(run(rows[i].body, seed, o), KGB_MACHINE_NO_FAULT);
			assert_memory_equal(o, rows[i].want, sizeof(o));
		}
}

/* ---- blocks that may be reordered ---- */

#define HALVES                      \
	"%m = tt.reshape %x : " I16 \
	" -> tensor<8x2xi32>\n%left, %right = tt.split %m : tensor<8x2xi32> -> tensor<8xi32>\n"
#define RESHAPED "%r = tt.reshape %x allow_reorder : " I16 " -> " I16 "\n"
#define JOINED HALVES "%r = tt.cat %left, %right : tensor<8xi32> -> " I16 "\n"

static void test_blocks_that_may_be_reordered(void **state)
{
	static const char *const bodies[] = {
		LANES RESHAPED STORE("%r"),
		LANES JOINED STORE("%r"),
	};
	int32_t results[SEEDS][N];

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(bodies); i++) {
		assert_true(run_seeds(bodies[i], results) > SEEDS / 2);
		for (int k = 0; k < SEEDS; k++) { /* all elements are there */
			uint32_t seen = 0;
			for (int j = 0; j < N; j++)
				seen |= 1u << (results[k][j] - 1);
			assert_int_equal(seen, 0xffff);
		}
	}
}

/* What a kernel reorders alike stays together. */
static void test_blocks_of_one_size_have_one_order(void **state)
{
	int32_t results[SEEDS][N];

	(void)state;
	(void)run_seeds(LANES RESHAPED "%w = tt.reshape %i allow_reorder : " I16 " -> " I16
				       "\n%d = arith.subi %r, %w : " I16 "\n" STORE("%d"),
			results);
	for (int i = 0; i < SEEDS; i++)
		for (int k = 0; k < N; k++)
			assert_int_equal(results[i][k], 1);
}

/* ---- loads ahead of their round ---- */

/* Eight rounds %n of a loop with stages; %to is lane %n * step of %o for lane 0, and so on. */
#define ROUNDS(step, body, stages)                                                              \
	LANES "%c0 = arith.constant 0 : i32\n%c1 = arith.constant 1 : i32\n"                    \
	      "%c8 = arith.constant 8 : i32\n%step = arith.constant " #step                     \
	      " : i32\n%few = arith.constant dense<4> : " I16                                   \
	      "\n%in = arith.cmpi slt, %i, %few : " I16                                         \
	      "\nscf.for %n = %c0 to %c8 step %c1 : i32 {\n%far = arith.muli %n, %step : i32\n" \
	      "%to_n = tt.splat %far : i32 -> " I16 "\n%to = tt.addptr %here, %to_n : " P16     \
	      ", " I16 "\n" body "} {tt.num_stages = " #stages " : i32}\n"
#define ADD_IN_MEMORY                                                          \
	"%old = tt.load %to, %in : " P16 "\n%new = arith.addi %old, %x : " I16 \
	"\ntt.store %to, %new, %in : " P16 "\n"
#define CONDITIONAL "%k = arith.cmpi eq, %n, %c1 : i32\nscf.if %k {\n" ADD_IN_MEMORY "}\n"
/* Stores what the next round but one loads, and the round behind it. */
#define AHEAD(rounds)                                                                    \
	"%c" #rounds "s = arith.constant dense<" #rounds "> : " I16                      \
	"\n%ahead = tt.addptr %to, %c" #rounds "s : " P16 ", " I16                       \
	"\n%first_lane = arith.cmpi slt, %i, %ones : " I16                               \
	"\n%old = tt.load %to, %first_lane : " P16 "\n%new = arith.addi %old, %x : " I16 \
	"\ntt.store %ahead, %new, %first_lane : " P16 "\n"
#define ONES "%ones = arith.constant dense<1> : " I16 "\n"

static void test_loads_ahead_of_their_round(void **state)
{
	static const struct {
		const char *what, *body;
		bool is_missed;
	} rows[] = {
		{"a sum in memory", ROUNDS(0, ADD_IN_MEMORY, 3), true},
		{"two stages", ROUNDS(0, ADD_IN_MEMORY, 2), false},
		{"elements of each round", ROUNDS(1, ONES AHEAD(0), 4), false},
		{"the next round", ROUNDS(1, ONES AHEAD(1), 3), true},
		{"the round behind the next one", ROUNDS(1, ONES AHEAD(2), 3), false},
		{"the round behind the next one, with a stage more", ROUNDS(1, ONES AHEAD(2), 4),
		 true},
		{"two rounds behind the next one", ROUNDS(1, ONES AHEAD(3), 4), false},
		{"a load that no round does always", ROUNDS(0, CONDITIONAL, 4), false},
		{"a barrier", ROUNDS(0, ADD_IN_MEMORY "gpu.barrier\n", 4), false},
		{"a loop around another one",
		 ROUNDS(0, ADD_IN_MEMORY "scf.for %m = %c0 to %c1 step %c1 : i32 {\n}\n", 4),
		 false},
		{"stores in front of the loop",
		 LANES STORE(
			 "%x") "%c0 = arith.constant 0 : i32\n%c8 = arith.constant 8 : i32\n"
			       "%c1 = arith.constant 1 : i32\nscf.for %n = %c0 to %c8 step %c1 : i32 {\n"
			       "%old = tt.load %here : " P16 "\n%new = arith.addi %old, %x : " I16
			       "\ntt.store %pa, %new : " P16 "\n} {tt.num_stages = 4 : i32}\n",
		 false},
	};
	int32_t o[N];

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		const enum kgb_machine_fault_kind kind = run(rows[i].body, 0, o);
		if (kind != (rows[i].is_missed ? KGB_MACHINE_FAULT_RACE : KGB_MACHINE_NO_FAULT))
			fail_msg("%s: %s", rows[i].what, kgb_machine_fault_name(kind));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lanes_of_an_atomic),
		cmocka_unit_test(test_blocks_that_may_be_reordered),
		cmocka_unit_test(test_blocks_of_one_size_have_one_order),
		cmocka_unit_test(test_combinations_depend_on_the_seed),
		cmocka_unit_test(test_combinations_along_an_inner_axis),
		cmocka_unit_test(test_loads_ahead_of_their_round),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
