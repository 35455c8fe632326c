/* SPDX-License-Identifier: MIT */
#include "verify/record/window_form.h"

#include "tests/unit/verify/recorded_calls.h"

/* Ops as letters: L a launch of the GPU, T one that replaces ops, M a memset, C a copy, D a
 * download, 0 to 9 a KGB_OP_REPLACES of so many ops; small letters: on another stream. */
static struct kgb_op op_of(char letter)
{
	const bool other = letter >= 'a';
	const int kind = other ? letter - 'a' + 'A' : letter;
	struct kgb_op op = {.kind = kind == 'M'   ? KGB_OP_MEMSET
				    : kind == 'C' ? KGB_OP_COPY
				    : kind == 'D' ? KGB_OP_DOWNLOAD
				    : kind <= '9' ? KGB_OP_REPLACES
						  : KGB_OP_LAUNCH,
			    .stream = other ? 7 : 0};

	if (op.kind == KGB_OP_REPLACES)
		op.n_replaced = (uint64_t)(kind - '0');
	else if (op.kind == KGB_OP_LAUNCH)
		op.launch.grid[0] = (uint32_t)kind;
	return op;
}

static void assert_form(const struct kgb_window *window, enum kgb_window_form form,
			const char *expected)
{
	struct kgb_arena arena = KGB_ARENA_INIT;
	const struct kgb_window made = kgb_window_in_form(&arena, window, form);

	assert_int_equal(made.number, window->number);
	assert_int_equal(made.n_ops, strlen(expected));
	for (size_t i = 0; i < made.n_ops; i++) {
		const struct kgb_op wanted = op_of(expected[i]);
		assert_int_equal(made.ops[i].kind, wanted.kind);
		assert_int_equal(made.ops[i].stream, wanted.stream);
		if (wanted.kind == KGB_OP_LAUNCH)
			assert_int_equal(made.ops[i].launch.grid[0], wanted.launch.grid[0]);
	}
	kgb_arena_release(&arena);
}

static const struct {
	const char *recorded, *gpu, *machine;
} windows[] = {
	{"", "", ""},
	{"LMC", "LMC", "LMC"},
	{"L1T", "L", "T"},
	{"LLMC3TL", "LLMCL", "LTL"},
	{"L1TMC2T", "LMC", "TT"},
	{"0T", "", "T"},
	/* Not well-formed: these stay. */
	{"L1", "L1", "L1"},
	{"L1M", "L1M", "L1M"},
	{"L2T", "L2T", "L2T"},
	{"D1T", "D1T", "D1T"},
	{"l1T", "l1T", "l1T"},
	{"L1t", "L1t", "L1t"},
	{"L1T1T", "L1T", "T1T"}, /* the first launch is replaced already */
	{"LM1T2T", "LM2T", "LT2T"},
};

static void test_a_window_has_two_forms(KGB_UNUSED void **state)
{
	for (size_t i = 0; i < KGB_ARRAY_LEN(windows); i++) {
		struct kgb_op ops[16];
		const struct kgb_window window = {
			.number = 3, .ops = ops, .n_ops = strlen(windows[i].recorded)};
		for (size_t k = 0; k < window.n_ops; k++)
			ops[k] = op_of(windows[i].recorded[k]);
		assert_form(&window, KGB_FORM_GPU, windows[i].gpu);
		assert_form(&window, KGB_FORM_MACHINE, windows[i].machine);
	}
}

/* A plan with one that stayed is refused. */
static void test_no_plan_repeats_an_op_of_two_forms(KGB_UNUSED void **state)
{
	const struct kgb_op op = op_of('1');
	struct kgb_err err = KGB_ERR_INIT;

	assert_int_equal(kgb_op_check(&op, &err), -1);
	assert_contains(err.msg, "two forms");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_window_has_two_forms),
		cmocka_unit_test(test_no_plan_repeats_an_op_of_two_forms),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
