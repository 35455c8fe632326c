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

/* Returns the lanes that were counted of the last condition. */
static int check(const struct row *row)
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
	if (n > 0 && (outcomes[n - 1] & BOTH) != row->outcomes)
		fail_msg("%s: outcomes %u", row->what, outcomes[n - 1]);
	kgb_machine_program_free(program);
	return n > 0 ? outcomes[n - 1] >> KGB_OUTCOME_BITS : 0;
}

#define LOOP(first, carried)                                                            \
	LANES "%c0 = arith.constant 0 : i32\n%c1 = arith.constant 1 : i32\n"            \
	      "%r = scf.for %k = %c0 to %n step %c1 iter_args(%v = " first ") -> (" I16 \
	      ")  : i32 {\n"                                                            \
	      "scf.yield " carried " : " I16 "\n}\n" COMPARE("%c", "eq", "%r", "%two") KEEP("%c")
#define REDUCE(of)                                                                    \
	"%s = \"tt.reduce\"(" of ") <{axis = 0 : i32}> ({\n^bb0(%u: i32, %w: i32):\n" \
	"%t = arith.addi %u, %w : i32\ntt.reduce.return %t : i32\n}) : (" I16 ") -> i32\n"

static void check_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		(void)check(&rows[i]);
}

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
	check_rows(rows, KGB_ARRAY_LEN(rows));
}

/* %first: the lane's number is below 2; %c: the element is 2, as it is in lane 2 alone, if the step
 * is 1, and in lane 1, if it is 2 */
#define FIRST LANES COMPARE("%first", "slt", "%i", "%two") COMPARE("%c", "eq", "%x", "%two")
#define STORE(value, mask) "tt.store %pa, " value ", " mask " : " P16 "\n"
#define CHOOSE(name, condition, a, b) \
	name " = arith.select " condition ", " a ", " b " : " B16 ", " I16 "\n"
#define BOTH_OF(name, a, b) name " = arith.andi " a ", " b " : " B16 "\n"
/* %y: the body's %v, if 3 is in this relation to 1, else %i */
#define BRANCH(predicate, body)                                                                \
	FIRST "%one = arith.constant 1 : i32\n%b = arith.cmpi " predicate ", %n, %one : i32\n" \
	      "%y = scf.if %b -> (" I16 ") {\n" body "scf.yield %v : " I16 "\n} else {\n"      \
	      "scf.yield %i : " I16 "\n}\n"
/* 4 rows of 4 lanes; %rows: of the first two rows */
#define T4 "tensor<4x4xi32>"
#define SQUARE                                                                                \
	LANES "%sx = tt.reshape %x : " I16 " -> " T4 "\n%pa4 = tt.reshape %pa : " P16         \
	      " -> tensor<4x4x!tt.ptr<i32>>\n"                                                \
	      "%r = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>\n"         \
	      "%r1 = tt.expand_dims %r {axis = 1 : i32} : tensor<4xi32> -> tensor<4x1xi32>\n" \
	      "%two4 = arith.constant dense<2> : tensor<4x1xi32>\n"                           \
	      "%below = arith.cmpi slt, %r1, %two4 : tensor<4x1xi32>\n"                       \
	      "%rows = tt.broadcast %below : tensor<4x1xi1> -> tensor<4x4xi1>\n"
#define SUMS                                                                          \
	"%s = \"tt.reduce\"(%sx) <{axis = 1 : i32}> ({\n^bb0(%u: i32, %w: i32):\n"    \
	"%t = arith.addi %u, %w : i32\ntt.reduce.return %t : i32\n}) : (" T4 ") -> "  \
	"tensor<4xi32>\n%limit = arith.constant dense<30> : tensor<4xi32>\n"          \
	"%c = arith.cmpi sgt, %s, %limit : tensor<4xi32>\n"                           \
	"%c1 = tt.expand_dims %c {axis = 1 : i32} : tensor<4xi1> -> tensor<4x1xi1>\n" \
	"%cs = tt.broadcast %c1 : tensor<4x1xi1> -> tensor<4x4xi1>\n"

static void test_outcomes_in_lanes_that_reach_memory(void **state)
{
	static const struct row rows[] = {
		{"stored where the mask is true",
		 FIRST CHOOSE("%v", "%c", "%x", "%i") STORE("%v", "%first"), 2, 1, BOTH},
		{"stored elsewhere", FIRST CHOOSE("%v", "%c", "%x", "%i") STORE("%v", "%first"), 1,
		 1, F},
		{"the mask of a store", FIRST STORE("%x", "%c"), 1, 1, BOTH},
		{"joined with a mask", FIRST BOTH_OF("%m", "%first", "%c") STORE("%x", "%m"), 1, 2,
		 F},
		{"a value below such a mask counts where the store may be",
		 FIRST BOTH_OF("%m", "%first", "%c") COMPARE("%d", "sgt", "%x", "%i")
			 CHOOSE("%v", "%d", "%x", "%i") STORE("%v", "%m"),
		 2, 3, BOTH},
		{"chosen where a mask is true",
		 FIRST CHOOSE("%v", "%c", "%x", "%i")
			 CHOOSE("%w", "%first", "%v", "%i") "tt.store %pa, %w : " P16 "\n",
		 2, 1, BOTH},
		{"chosen elsewhere",
		 FIRST CHOOSE("%v", "%c", "%x", "%i")
			 CHOOSE("%w", "%first", "%v", "%i") "tt.store %pa, %w : " P16 "\n",
		 1, 1, F},
		{"chosen where a mask is false",
		 FIRST CHOOSE("%v", "%c", "%x", "%i")
			 CHOOSE("%w", "%first", "%i", "%v") "tt.store %pa, %w : " P16 "\n",
		 1, 1, BOTH},
		{"chosen by the condition itself",
		 FIRST CHOOSE("%v", "%c", "%x", "%i")
			 CHOOSE("%w", "%c", "%i", "%v") "tt.store %pa, %w : " P16 "\n",
		 1, 1, BOTH},
		{"joined with a mask by or",
		 FIRST "%m = arith.ori %first, %c : " B16 "\n" STORE("%x", "%m"), 2, 2, BOTH},
		{"no store follows", FIRST CHOOSE("%v", "%c", "%x", "%i") REDUCE("%v"), 1, 1, 0},
		{"a place in memory",
		 FIRST CHOOSE("%v", "%c", "%i", "%two") "%p = tt.addptr %sa, %v : " P16 ", " I16
							"\n%y = tt.load %p, %first : " P16
							"\n" STORE("%y", "%first"),
		 1, 1, F},
		{"an atomic",
		 FIRST CHOOSE("%v", "%c", "%x", "%i") "%o = tt.atomic_rmw add, relaxed, gpu, %pa, "
						      "%v, %first : (" P16 ", " I16 ", " B16
						      ") -> " I16 " loc(\"kernel.py\":9:9)\n",
		 1, 1, F},
		{"a store in a branch",
		 FIRST "%y = arith.extui %c : " B16 " to " I16
		       "\n%one = arith.constant 1 : i32\n%b = arith.cmpi sgt, %n, %one : i32\n"
		       "scf.if %b {\ntt.store %pa, %y : " P16 "\n}\n",
		 1, 1, BOTH},
		{"no store in this branch",
		 FIRST "%y = arith.extui %c : " B16 " to " I16
		       "\n%one = arith.constant 1 : i32\n%b = arith.cmpi slt, %n, %one : i32\n"
		       "scf.if %b {\ntt.store %pa, %y : " P16 "\n}\n",
		 1, 1, 0},
		{"chosen in a branch, stored elsewhere",
		 BRANCH("sgt", CHOOSE("%v", "%c", "%x", "%i")) STORE("%y", "%first"), 1, 1, F},
		{"chosen in a branch, stored there",
		 BRANCH("sgt", CHOOSE("%v", "%c", "%x", "%i")) STORE("%y", "%first"), 2, 1, BOTH},
		{"chosen in the branch that does not run",
		 BRANCH("slt", CHOOSE("%v", "%c", "%x", "%i")) STORE("%y", "%first"), 2, 1, 0},
		{"a condition in a branch, stored elsewhere",
		 BRANCH("sgt", COMPARE("%d", "eq", "%x", "%two") CHOOSE("%v", "%d", "%x", "%i"))
			 STORE("%y", "%first"),
		 1, 1, F},
		{"a condition in a branch, stored there",
		 BRANCH("sgt", COMPARE("%d", "eq", "%x", "%two") CHOOSE("%v", "%d", "%x", "%i"))
			 STORE("%y", "%first"),
		 2, 1, BOTH},
		{"an early return",
		 FIRST "%y = arith.extui %c : " B16 " to " I16
		       "\n%one = arith.constant 1 : i32\n%b = arith.cmpi sgt, %n, %one : i32\n"
		       "cf.cond_br %b, ^bb1, ^bb2\n^bb1:\ntt.return\n^bb2:\ntt.store %pa, %y : " P16
		       "\n",
		 1, 1, 0},
		{"stored in a loop",
		 FIRST CHOOSE(
			 "%v", "%c", "%x",
			 "%i") "%c0 = arith.constant 0 : i32\n"
			       "%c1 = arith.constant 1 : i32\nscf.for %k = %c0 to %n step %c1  : i32 {\n" STORE(
				       "%v", "%first") "}\n",
		 1, 1, F},
		{"carried by a loop",
		 FIRST CHOOSE(
			 "%v", "%c", "%x",
			 "%i") "%c0 = arith.constant 0 : i32\n"
			       "%c1 = arith.constant 1 : i32\n%r = scf.for %k = %c0 to %n step %c1 "
			       "iter_args(%a0 = %v) -> (" I16 ")  : i32 {\nscf.yield %a0 : " I16
			       "\n}\n" STORE("%r", "%first"),
		 1, 1, BOTH},
		{"rows whose sums are stored",
		 SQUARE SUMS "%v = arith.extui %cs : tensor<4x4xi1> to " T4
			     "\ntt.store %pa4, %v : tensor<4x4x!tt.ptr<i32>>\n",
		 1, 1, BOTH},
		{"rows beyond the mask",
		 SQUARE SUMS "%v = arith.extui %cs : tensor<4x4xi1> to " T4
			     "\ntt.store %pa4, %v, %rows : tensor<4x4x!tt.ptr<i32>>\n",
		 1, 1, F},
		{"lanes that a sum of rows beyond the mask follows from",
		 SQUARE "%seven = arith.constant dense<7> : " T4 "\n%c = arith.cmpi sgt, %sx, "
			"%seven : " T4 "\n%ci = arith.extui %c : tensor<4x4xi1> to " T4
			"\n%s = \"tt.reduce\"(%ci) <{axis = 1 : i32}> ({\n^bb0(%u: i32, %w: "
			"i32):\n%t = arith.addi %u, %w : i32\ntt.reduce.return %t : i32\n}) : "
			"(" T4 ") -> tensor<4xi32>\n%s1 = tt.expand_dims %s {axis = 1 : i32} : "
			"tensor<4xi32> -> tensor<4x1xi32>\n%v = tt.broadcast %s1 : "
			"tensor<4x1xi32> -> " T4
			"\ntt.store %pa4, %v, %rows : tensor<4x4x!tt.ptr<i32>>\n",
		 1, 1, F},
		{"columns beyond the mask of a transposed block",
		 SQUARE "%three = arith.constant dense<3> : " T4
			"\n%c = arith.cmpi eq, %sx, %three : " T4
			"\n%ci = arith.extui %c : tensor<4x4xi1> to " T4
			"\n%v = tt.trans %ci {order = array<i32: 1, 0>} : " T4 " -> " T4
			"\ntt.store %pa4, %v, %rows : tensor<4x4x!tt.ptr<i32>>\n",
		 1, 1, F},
	};

	(void)state;
	check_rows(rows, KGB_ARRAY_LEN(rows));
}

/* The same place in two specialisations of a kernel is one condition; several at one place are told
 * apart. */
static void test_lanes_that_had_an_outcome_are_counted(void **state)
{
	static const struct row few = {"two lanes are stored",
				       FIRST CHOOSE("%v", "%c", "%x", "%i") STORE("%v", "%first"),
				       1, 1, F};
	static const struct row none = {"no store follows",
					FIRST CHOOSE("%v", "%c", "%x", "%i") REDUCE("%v"), 1, 1, 0};
	static const struct row all = {
		"all lanes are stored",
		FIRST COMPARE("%d", "eq", "%x", "%i")
			CHOOSE("%v", "%d", "%x", "%i") "tt.store %pa, %v : " P16 "\n",
		1, 1, T};

	(void)state;
	assert_int_equal(check(&few), 2);
	assert_int_equal(check(&none), 0);
	assert_int_equal(check(&all), N);
}

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
		cmocka_unit_test(test_outcomes_in_lanes_that_reach_memory),
		cmocka_unit_test(test_lanes_that_had_an_outcome_are_counted),
		cmocka_unit_test(test_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
