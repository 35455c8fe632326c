/* SPDX-License-Identifier: MIT */
/* What has no order on a GPU gets one that the seed draws: lanes of an atomic. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lanes_of_an_atomic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
