/* SPDX-License-Identifier: MIT */
/* The machine finds the conditions that depend on elements, and notes what they were. */
#include "tests/unit/verify/machine/machine_module.h"

#define N 16
#define I16 "tensor<16xi32>"
#define B16 "tensor<16xi1>"
#define P16 "tensor<16x!tt.ptr<i32>>"
/* %i: lane numbers, %x: loaded from %a, %two: a constant */
#define LANES                                                                                    \
	"%i = tt.make_range {end = 16 : i32, start = 0 : i32} : " I16                            \
	"\n%sa = tt.splat %a : !tt.ptr<i32> -> " P16 "\n%pa = tt.addptr %sa, %i : " P16 ", " I16 \
	"\n%x = tt.load %pa : " P16 "\n%two = arith.constant dense<2> : " I16 "\n"
#define KEEP(condition) \
	"%kept = arith.extui " condition " : " B16 " to " I16 "\ntt.store %pa, %kept : " P16 "\n"
#define COMPARE(name, predicate, a, b) name " = arith.cmpi " predicate ", " a ", " b " : " I16 "\n"

enum { T = KGB_OUTCOME_TRUE, F = KGB_OUTCOME_FALSE, BOTH = T | F };

/* %y: loaded where the lane's number is below 2, else 2 */
#define MASKED(three)                                                                          \
	"%one = arith.constant dense<1> : " I16 "\n" three " = arith.constant dense<3> : " I16 \
	"\n%mask = arith.cmpi slt, %i, %two : " I16 "\n%y = tt.load %pa, %mask, %two : " P16 "\n"

struct row {
	const char *what, *body;
	int32_t step; /* %a holds 0, step, 2 step ... */
	uint32_t n; /* conditions */
	uint8_t outcomes; /* of the last one */
};

static void check(const struct row *row)
{
	KGB_AUTO(free) char *text = module_text("%a: !tt.ptr<i32>, %n: i32", row->body);
	struct kgb_machine_program *program = parse_module(text);
	const uint32_t n = kgb_machine_program_n_conditions(program);
	uint8_t outcomes[8] = {0};
	_Alignas(16) int32_t a[N];
	struct arrays arrays = {.launch = {.outcomes = outcomes}};
	struct kgb_machine_fault fault;
	struct kgb_err err = KGB_ERR_INIT;

	for (int32_t i = 0; i < N; i++)
		a[i] = i * row->step;
	add_array(&arrays, a, sizeof(a));
	arrays.arguments[arrays.launch.n_arguments++].bits = 3;
	if (run_arrays(&arrays, program, &fault, &err) < 0)
		fail_msg("%s: %s", row->what, err.msg);
	if (n != row->n || n > KGB_ARRAY_LEN(outcomes))
		fail_msg("%s: %u conditions", row->what, n);
	if (n > 0 && outcomes[n - 1] != row->outcomes)
		fail_msg("%s: outcomes %u", row->what, outcomes[n - 1]);
	kgb_machine_program_free(program);
}

#define LOOP(first, carried)                                                            \
	LANES "%c0 = arith.constant 0 : i32\n%c1 = arith.constant 1 : i32\n"            \
	      "%r = scf.for %k = %c0 to %n step %c1 iter_args(%v = " first ") -> (" I16 \
	      ")  : i32 {\n"                                                            \
	      "scf.yield " carried " : " I16 "\n}\n" COMPARE("%c", "eq", "%r", "%two") KEEP("%c")
#define REDUCE(of)                                                                    \
	"%s = \"tt.reduce\"(" of ") <{axis = 0 : i32}> ({\n^bb0(%u: i32, %w: i32):\n" \
	"%t = arith.addi %u, %w : i32\ntt.reduce.return %t : i32\n}) : (" I16 ") -> i32\n"

static void test_conditions_and_their_outcomes(void **state)
{
	static const struct row rows[] = {
		{"both", LANES COMPARE("%c", "eq", "%x", "%two") KEEP("%c"), 1, 1, BOTH},
		{"never true", LANES COMPARE("%c", "eq", "%x", "%two") KEEP("%c"), 3, 1, F},
		{"never false", LANES COMPARE("%c", "sle", "%x", "%i") KEEP("%c"), 1, 1, T},
		{"lane numbers are no data", LANES COMPARE("%c", "slt", "%i", "%two") KEEP("%c"), 1,
		 0, 0},
		{"arguments are no data",
		 LANES "%m = tt.splat %n : i32 -> " I16 "\n" COMPARE("%c", "slt", "%i", "%m")
			 KEEP("%c"),
		 1, 0, 0},
		{"an integer and itself", LANES COMPARE("%c", "ne", "%x", "%x") KEEP("%c"), 1, 0,
		 0},
		{"what follows from these",
		 LANES COMPARE("%c", "ne", "%x", "%x") "%e = arith.extui %c : " B16 " to " I16
						       "\n" COMPARE("%d", "eq", "%e", "%two")
							       KEEP("%d"),
		 1, 0, 0},
		{"joined",
		 LANES COMPARE("%c", "sgt", "%x", "%two") COMPARE(
			 "%d", "slt", "%x", "%two") "%e = arith.andi %c, %d : " B16 "\n" KEEP("%e"),
		 1, 3, F},
		{"true only in a lane that a load's mask excludes",
		 LANES MASKED("%three") COMPARE("%c", "eq", "%y", "%two") KEEP("%c"), 1, 1, F},
		{"true in a lane that the mask keeps",
		 LANES MASKED("%three") COMPARE("%c", "eq", "%y", "%one") KEEP("%c"), 1, 1, BOTH},
		{"the same behind a conversion",
		 LANES MASKED("%three") "%z = arith.addi %y, %one : " I16
					"\n" COMPARE("%c", "eq", "%z", "%three") KEEP("%c"),
		 1, 1, F},
		{"carried by a loop", LOOP("%two", "%x"), 1, 1, BOTH},
		{"given to a loop", LOOP("%x", "%v"), 1, 1, BOTH},
		{"not carried by a loop", LOOP("%two", "%v"), 1, 0, 0},
		{"a sum of elements",
		 LANES REDUCE(
			 "%x") "%c2 = arith.constant 120 : i32\n%c = arith.cmpi eq, %s, %c2 : i32\n"
			       "%sc = tt.splat %c : i1 -> " B16 "\n" KEEP("%sc"),
		 1, 1, T},
		{"a sum of lane numbers",
		 LANES REDUCE(
			 "%i") "%c2 = arith.constant 120 : i32\n%c = arith.cmpi eq, %s, %c2 : i32\n"
			       "%sc = tt.splat %c : i1 -> " B16 "\n" KEEP("%sc"),
		 1, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++)
		check(&rows[i]);
}

/* The same place in two specialisations of a kernel is one condition; several at one place are told
 * apart. */
static void test_places(void **state)
{
	static const char tail[] =
		"#loc1 = loc(\"kernel.py\":7:12)\n#loc2 = loc(\"kernel.py\":7:20)\n"
		"#loc3 = loc(callsite(#loc1 at #loc2))\n";
	static const struct {
		const char *locations[2];
		bool same_place;
	} rows[] = {
		{{"#loc1", "#loc1"}, true},
		{{"#loc1", "\"kernel.py\":7:12"}, true},
		{{"#loc1", "#loc2"}, false},
		{{"#loc1", "#loc3"}, false},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		KGB_AUTO(free)
		char *body = kgb_xasprintf(
			"%s loc(%s)\n%s loc(%s)\n%s", LANES "%c = arith.cmpi eq, %x, %two : " I16,
			rows[i].locations[0], "%d = arith.cmpi eq, %x, %i : " I16,
			rows[i].locations[1], "%e = arith.xori %c, %d : " B16 "\n" KEEP("%e"));
		KGB_AUTO(free) char *module = module_text("%a: !tt.ptr<i32>", body);
		KGB_AUTO(free) char *text = kgb_xasprintf("%s%s", module, tail);
		struct kgb_machine_program *program = parse_module(text);
		const struct kgb_machine_condition *c = kgb_machine_program_conditions(program);
		assert_int_equal(kgb_machine_program_n_conditions(program), 3);
		assert_int_equal(c[0].place == c[1].place, rows[i].same_place);
		assert_int_equal(c[1].ordinal, rows[i].same_place);
		assert_int_equal(c[0].kernel_line, 7);
		assert_string_equal(c[0].kernel_file, "kernel.py");
		kgb_machine_program_free(program);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conditions_and_their_outcomes),
		cmocka_unit_test(test_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
