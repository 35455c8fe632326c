/* SPDX-License-Identifier: MIT */
/** \file
 * What prompts say agrees with the specs and with the judge: for every operator, on both platforms.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/codes.h"
#include "base/limits.h"
#include "methods/prompt.h"
#include "verify/cases/cases.h"

#define VERSIONS "Python 3.0, torch 2.0, Triton 3.0"

/** One prompt, and what it is checked against. */
struct subject {
	const struct kgb_spec *spec;
	const struct kgb_cases *cases;
	const char *platform, *text;
};

static void must_say(const struct subject *s, const char *words)
{
	if (!strstr(s->text, words))
		fail_msg("%s on %s does not say '%s'", s->spec->name, s->platform, words);
}

static void must_not_say(const struct subject *s, const char *words)
{
	if (strstr(s->text, words))
		fail_msg("%s on %s says '%s'", s->spec->name, s->platform, words);
}

static void must_agree(const struct subject *s, bool is_so, const char *words)
{
	if (is_so)
		must_say(s, words);
	else
		must_not_say(s, words);
}

static bool has_kernels(const struct subject *s)
{
	return s->spec->triton != KGB_TRITON_NONE;
}

/* ---- classes of contradictions ---- */

static void check_limits(const struct subject *s)
{
	must_say(s, VERSIONS);
	must_say(s, "A call may take 7s, all cases of one verification together 3m");
	must_say(s, "at most 256 KiB");
}

static void check_speed(const struct subject *s)
{
	static const char *const words[] = {"speed", "fast", "timed", "baseline", "measure"};
	const bool is_timed = s->cases->n_benchmarks > 0 && kgb_str_eq(s->platform, "cuda");
	const char *checked = strstr(s->text, "## What is checked");

	for (size_t i = 0; i < KGB_ARRAY_LEN(words) && !is_timed; i++)
		if (strstr(checked, words[i]))
			fail_msg("%s on %s speaks of '%s': %s", s->spec->name, s->platform,
				 words[i], strstr(checked, words[i]));
	must_agree(s, is_timed, "speedup");
	must_agree(s, is_timed, ", timed with `");
	must_not_say(s, "interpreter");
	must_not_say(s, "INTERPRET");
}

/* Each benchmark is shown: ", timed with `" for the first of a function, then ", with `". */
static void check_benchmarks(const struct subject *s)
{
	size_t n = 0;

	for (const char *at = s->text; (at = strstr(at, "with `")); at++)
		n += kgb_str_starts(at - strlen("timed "), "timed with `") ||
		     kgb_str_starts(at - strlen("`, "), "`, with `");
	if (n != (kgb_str_eq(s->platform, "cuda") ? s->cases->n_benchmarks : 0))
		fail_msg("%s on %s shows %zu of %zu benchmarks", s->spec->name, s->platform, n,
			 s->cases->n_benchmarks);
}

/* Is it written to, by the schema of some interface: "Tensor(a!) NAME"? */
static bool is_written(const struct kgb_spec *spec, const char *name)
{
	static const char *const types[] = {"!) ", "!)? ", "!)[] "};

	for (size_t i = 0; i < spec->n_interfaces; i++)
		for (size_t k = 0; k < KGB_ARRAY_LEN(types); k++) {
			KGB_AUTO(buf) struct kgb_buf words = KGB_BUF_INIT(0);
			kgb_buf_adds(&words, types[k]);
			kgb_buf_adds(&words, name);
			if (strstr(spec->interfaces[i].schema, words.ptr))
				return true;
		}
	return false;
}

static void check_effects(const struct subject *s)
{
	for (size_t i = 0; i < s->spec->n_interfaces; i++)
		for (size_t k = 0; k < s->spec->interfaces[i].n_params; k++) {
			const char *name = s->spec->interfaces[i].params[k].name;
			KGB_AUTO(free) char *says = kgb_xasprintf("modifies `%s` in place", name);
			if (!is_written(s->spec, name))
				must_not_say(s, says);
		}
}

static void check_dtype(const struct subject *s, enum kgb_dtype dtype)
{
	KGB_AUTO(free) char *quoted = kgb_xasprintf("`%s`", kgb_dtype_name(dtype));
	const char *types = strstr(s->text, "- Types: ");
	const char *named = types ? strstr(types, quoted) : NULL;

	if (!named || named > strchr(types, '\n'))
		fail_msg("%s on %s: %s is not among its types", s->spec->name, s->platform,
			 kgb_dtype_name(dtype));
}

/** What some case of the operator has. */
struct seen {
	bool dtypes[KGB_N_DTYPES], view, special;
	int rank; /* most dimensions; -1: no tensor */
};

static void see_arg(const struct kgb_arg *arg, struct seen *seen)
{
	if (arg->param->kind == KGB_PARAM_OUT)
		seen->view |= !kgb_str_eq(arg->layout, "contiguous");
	else if (arg->param->kind == KGB_PARAM_VALUE && arg->value.kind == KGB_CASE_VALUE_DTYPE)
		seen->dtypes[arg->value.dtype] = true;
	if (arg->param->kind != KGB_PARAM_TENSOR || arg->is_absent)
		return;
	seen->view |= !kgb_tensor_view_is_contiguous(&arg->view);
	seen->rank = arg->view.ndim > seen->rank ? arg->view.ndim : seen->rank;
	seen->dtypes[arg->view.dtype] = true;
}

/* Both sentences name the dimensions, and no argument has more. */
static void check_rank(const struct subject *s, int rank)
{
	static const char *const words[] = {"arguments of at most ", "no argument has more than "};

	for (size_t i = 0; i < KGB_ARRAY_LEN(words); i++) {
		const char *at = strstr(s->text, words[i]);
		const int named = at ? at[strlen(words[i])] - '0' : -1;
		if (rank > named)
			fail_msg("%s on %s names %d dimensions, a case has %d", s->spec->name,
				 s->platform, named, rank);
	}
}

static void check_cases(const struct subject *s)
{
	struct seen seen = {.rank = -1};
	bool any_narrow = false;

	for (size_t i = 0; i < s->cases->n; i++) {
		const struct kgb_case *c = &s->cases->items[i];
		seen.dtypes[c->dtype] = true;
		seen.special |= c->mode == KGB_MODE_SPECIAL;
		for (size_t k = 0; k < c->n_args; k++)
			see_arg(&c->args[k], &seen);
	}
	for (enum kgb_dtype d = 0; d < KGB_N_DTYPES; d++) {
		if (!seen.dtypes[d])
			continue;
		check_dtype(s, d);
		any_narrow |= kgb_dtype_eps(d) > kgb_dtype_eps(KGB_DTYPE_FLOAT64);
	}
	check_rank(s, seen.rank);
	must_agree(s, seen.view, "non-contiguous views");
	must_agree(s, !seen.view, "All tensors are contiguous");
	must_agree(s, seen.special, "the largest and the smallest numbers");
	if (!any_narrow)
		must_not_say(s, "accumulate in float32");
}

static void check_kernels(const struct subject *s)
{
	static const char *const words[] = {"@triton.jit", "tl.float64", "tl.dot",      "tl.load",
					    "sm_90",       "launched",   "your kernels"};

	must_agree(s, !has_kernels(s), "no kernel is needed");
	for (size_t i = 0; i < KGB_ARRAY_LEN(words) && !has_kernels(s); i++)
		must_not_say(s, words[i]);
	if (has_kernels(s)) {
		must_say(s, "No value of a tensor is read on the host");
		must_say(s, "repeats them on other data");
	}
	must_agree(s, s->spec->launches == KGB_LAUNCHES_BY_DATA,
		   "The value of a tensor may be read on the host");
}

/* ---- rules ---- */

/** The sentence of a prompt that each code which accuses or refuses a file comes from. */
static const struct rule {
	const char *code; /* or the beginning of codes */
	const char *words;
	bool of_kernels; /* of operators that need one */
	bool of_times;
} rules[] = {
	{"contract.not_a_file", "`kernel.py`", false, false},
	{"contract.too_large", "at most 256 KiB", false, false},
	{"contract.empty", "`kernel.py` defines these functions", false, false},
	{"contract.encoding", "Plain UTF-8", false, false},
	{"contract.syntax", "Plain UTF-8 Python", false, false},
	{"contract.too_complex", "Plain UTF-8 Python of at most", false, false},
	{"contract.unparsable", "Plain UTF-8 Python of at most", false, false},
	{"contract.missing_entry", "defines these functions", false, false},
	{"contract.entry_kind", "plain `def`s", false, false},
	{"contract.signature", "with these parameters in this order", false, false},
	{"contract.no_kernel", "`@triton.jit` functions of this file", true, false},
	{"contract.kernel_unreachable", "Results come from `@triton.jit` functions", true, false},
	{"l1.dynamic_code", "`eval`", false, false},
	{"l1.chance", "no clocks", false, false},
	{"l1.computed_name", "computed name", false, false},
	{"l1.surroundings", "no look at the process", false, false},
	{"l1.io", "No files", false, false},
	{"l1.torch_compile", "`torch.compile`", false, false},
	{"l1.foreign_code", "extensions", false, false},
	{"l1.system", "processes or network", false, false},
	{"l1.torch_compute", "no `torch.add`", false, false},
	{"l1.library_compute", "NumPy or other library", false, false},
	{"coverage.condition", "Each condition on elements in a kernel", true, false},
	{"cheat.torch_compute", "Nothing else computes there", false, false},
	{"cheat.torch_copies", "a result that your kernels did not make is cheating", true, false},
	{"cheat.no_launch", "a result that your kernels did not make is cheating", true, false},
	{"cheat.ghost", "a result that your kernels did not make is cheating", true, false},
	{"cheat.library_compute", "NumPy or other library", false, false},
	{"cheat.timing.other_result", "gives another result than a judged one", true, true},
	{"cheat.timing.below_floor", "faster than the hardware allows", true, true},
	{"cheat.timing.ruler_", "time depends on being\n  watched", true, true},
	{"cheat.timing.checked", "time depends on being\n  watched", true, true},
	{"cheat.timing.reuse", "inputs seen before", true, true},
	{"cheat.timing.trend", "time depends on being\n  watched", true, true},
};

static const struct rule *find_rule(const char *code)
{
	for (size_t i = 0; i < KGB_ARRAY_LEN(rules); i++)
		if (kgb_str_starts(code, rules[i].code))
			return &rules[i];
	fail_msg("no sentence of a prompt is known for %s", code);
	return NULL;
}

static void check_rules(const struct subject *s)
{
	const bool is_timed = s->cases->n_benchmarks > 0 && kgb_str_eq(s->platform, "cuda");

	for (enum kgb_code code = KGB_CODE_NONE + 1; code < KGB_N_CODES; code++) {
		const enum kgb_status status = kgb_code_status(code);
		if (status != KGB_STATUS_REFUSED && status != KGB_STATUS_CHEATED)
			continue;
		const struct rule *rule = find_rule(kgb_code_name(code));
		if ((has_kernels(s) || !rule->of_kernels) && (is_timed || !rule->of_times))
			must_say(s, rule->words);
	}
}

/* ---- all prompts ---- */

static void check_prompt(const struct kgb_prompt_operator *op, const struct kgb_cases *cases,
			 const struct kgb_method *method, const char *platform)
{
	const struct kgb_prompt_vars vars = {.platform = platform,
					     .versions = VERSIONS,
					     .target = "A GPU, sm_90",
					     .max_verify_calls = 7,
					     .call_timeout_ms = 7000,
					     .verify_timeout_ms = 180000};
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	struct kgb_err err = KGB_ERR_INIT;

	if (kgb_prompt_operator_render(KGB_TEST_SOURCE_DIR, method, op, &vars, &text, &err) < 0)
		fail_msg("%s: %s", op->spec->name, err.msg);
	const struct subject s = {op->spec, cases, platform, text.ptr};
	must_agree(&s, kgb_str_eq(platform, "cuda") && has_kernels(&s), "A GPU, sm_90");
	check_limits(&s);
	check_speed(&s);
	check_benchmarks(&s);
	check_effects(&s);
	check_cases(&s);
	check_kernels(&s);
	check_rules(&s);
}

static void test_prompts_agree_with_specs_and_rules(void **state)
{
	static const struct kgb_seed seed = {{200, 1}};
	static const char *const platforms[] = {"cpu", "cuda"};
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_spec_index index = {0};
	struct kgb_method method;

	(void)state;
	if (kgb_method_load(KGB_TEST_SOURCE_DIR, "normal_cc", &method, &err) < 0 ||
	    kgb_spec_index_load(KGB_TEST_SOURCE_DIR, "KernelGenBench", &index, &err) < 0)
		fail_msg("%s", err.msg);
	for (size_t i = 0; i < index.names.n; i++) {
		struct kgb_spec spec;
		struct kgb_cases cases;
		struct kgb_prompt_operator op;
		if (kgb_spec_load(index.paths.items[i], &spec, &err) < 0 ||
		    kgb_cases_expand(&spec, &seed, &cases, &err) < 0 ||
		    kgb_prompt_operator_init(&op, &spec, &err) < 0)
			fail_msg("%s", err.msg);
		for (size_t p = 0; p < KGB_ARRAY_LEN(platforms); p++)
			check_prompt(&op, &cases, &method, platforms[p]);
		kgb_prompt_operator_release(&op);
		kgb_cases_release(&cases);
		kgb_spec_release(&spec);
	}
	kgb_spec_index_release(&index);
	kgb_method_release(&method);
}

/* Methods whose work goes in rounds do not speak of it in their rounds, either. */
static void test_rounds_without_times_do_not_speak_of_speed(void **state)
{
	static const char *const names[] = {"autokernel", "ako4all", "cuda_optimized_skill"};
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(names); i++) {
		struct kgb_method method;
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
		const struct kgb_prompt_round round = {.platform = "cpu",
						       .round = 1,
						       .rounds = 2,
						       .state = "",
						       .log = "",
						       .memory = ""};
		if (kgb_method_load(KGB_TEST_SOURCE_DIR, names[i], &method, &err) < 0 ||
		    kgb_prompt_round_render(&method, &round, &text, &err) < 0)
			fail_msg("%s", err.msg);
		if (strstr(text.ptr, "fast") || strstr(text.ptr, "speed"))
			fail_msg("%s: %s", names[i], text.ptr);
		kgb_method_release(&method);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prompts_agree_with_specs_and_rules),
		cmocka_unit_test(test_rounds_without_times_do_not_speak_of_speed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
