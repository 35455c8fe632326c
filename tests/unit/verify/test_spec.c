/* SPDX-License-Identifier: MIT */
#include "verify/spec/spec.h"

#include "tests/unit/verify/spec_files.h"
#include "verify/cases/cases.h"

static void test_a_whole_spec_is_decoded(KGB_UNUSED void **state)
{
	struct kgb_spec spec;
	load_toy((struct spec_change){0}, &spec);

	assert_string_equal(spec.name, "aten::toy");
	assert_string_equal(spec.safe_name, "aten__toy");
	assert_string_equal(spec.source, "aten");
	assert_string_equal(spec.category, "Math");
	assert_string_equal(spec.summary, "adds");
	assert_string_equal(spec.semantics, "out = self + alpha * other");
	assert_string_equal(spec.path, SPEC_PATH);
	assert_string_equal(spec.reference_dir, "kgb/aten/reference");
	assert_int_equal(spec.triton, KGB_TRITON_REQUIRED);
	assert_int_equal(spec.dtypes.n, 2);
	assert_string_equal(spec.dtypes.items[1], "float16");
	assert_int_equal(spec.excluded.n, 1);
	assert_string_equal(((const struct kgb_excluded *)spec.excluded.items)->overload, "toy.t");
	assert_string_equal(((const struct kgb_excluded *)spec.excluded.items)->reason,
			    "takes no tensor");
	assert_int_equal(strlen(spec.sha256), 64);
	kgb_spec_release(&spec);
}

static void test_interfaces_and_parameters_are_decoded(KGB_UNUSED void **state)
{
	struct kgb_spec spec;
	load_toy((struct spec_change){0}, &spec);

	assert_int_equal(spec.n_interfaces, 2);
	const struct kgb_interface *add = &spec.interfaces[0], *out = &spec.interfaces[1];
	assert_string_equal(add->entry, "toy_Tensor");
	assert_null(add->doc);
	assert_string_equal(add->target, "aten:toy.Tensor");
	assert_string_equal(add->magnitude, "abs");
	assert_int_equal(add->n_results, 1);
	assert_int_equal(add->n_returned, 1);
	assert_int_equal(add->n_params, 3);
	assert_int_equal(add->params[0].kind, KGB_PARAM_TENSOR);
	assert_int_equal(add->params[0].result, -1);
	assert_string_equal(add->params[0].layout, "$a_layout");
	assert_string_equal(add->params[0].dtype, "$dtype");
	assert_string_equal(add->params[0].fill, "normal");
	assert_string_equal(add->params[1].layout, "contiguous");
	assert_int_equal(add->params[2].kind, KGB_PARAM_VALUE);
	assert_true(add->params[2].keyword);
	assert_string_equal(out->target, "python:toy.py:toy");
	assert_string_equal(add->baseline, "aten:toy.Tensor");
	assert_string_equal(out->baseline, "python:toy.py:toy");
	assert_string_equal(kgb_spec_baseline(&spec), "torch, reference");
	assert_null(out->magnitude);
	assert_int_equal(out->n_returned, 0);
	assert_int_equal(out->params[0].result, 1);
	assert_int_equal(out->params[1].kind, KGB_PARAM_OUT);
	assert_int_equal(out->params[1].result, 0);
	kgb_spec_release(&spec);
}

static void test_tolerances_are_inherited_key_by_key(KGB_UNUSED void **state)
{
	struct kgb_spec spec;
	load_toy((struct spec_change){SPEC_PATH,
				      "interfaces:", "tolerance: {factor: 8}\ninterfaces:"},
		 &spec);

	assert_true(spec.interfaces[0].tolerance.factor == 8);
	assert_true(spec.interfaces[0].tolerance.ulps == 2);
	assert_int_equal(spec.interfaces[0].tolerance.accumulate, KGB_ACCUMULATE_RESULT);
	assert_int_equal(spec.interfaces[1].tolerance.accumulate, KGB_ACCUMULATE_FLOAT32);
	kgb_spec_release(&spec);
	load_toy((struct spec_change){SPEC_PATH, "{accumulate: result}",
				      "{exact: true, nan: bits, zeros: signed}"},
		 &spec);
	assert_true(spec.interfaces[0].tolerance.is_exact);
	assert_true(spec.interfaces[0].tolerance.has_nan_bits);
	assert_false(spec.interfaces[1].tolerance.has_nan_bits);
	assert_int_equal(spec.interfaces[0].tolerance.zeros, KGB_ZEROS_SIGNED);
	assert_false(spec.interfaces[1].tolerance.is_exact);
	assert_int_equal(spec.interfaces[1].tolerance.zeros, KGB_ZEROS_ANY);
	kgb_spec_release(&spec);
	load_toy((struct spec_change){0}, &spec);
	assert_true(spec.interfaces[0].tolerance.factor == 4);
	kgb_spec_release(&spec);
}

static void test_case_sets_are_read_once_with_their_variables(KGB_UNUSED void **state)
{
	struct kgb_spec spec;
	load_toy((struct spec_change){0}, &spec);

	assert_null(spec.case_sets->next);
	assert_int_equal(spec.case_sets->n_cases, 3);
	const struct kgb_case_vars *last = &spec.case_sets->cases[2];
	assert_string_equal(last->id, "outlier");
	assert_int_equal(last->mode, KGB_MODE_OUTLIER);
	assert_int_equal(last->dtypes.n, 1);
	assert_string_equal(last->dtypes.items[0], "int64");
	assert_non_null(cJSON_GetObjectItem(last->vars, "a_layout"));
	assert_int_equal(spec.case_sets->cases[0].mode, KGB_MODE_STANDARD);
	assert_int_equal(spec.case_sets->cases[0].dtypes.n, 0);
	kgb_spec_release(&spec);
}

static void test_a_baseline_may_be_another_function_than_the_reference(KGB_UNUSED void **state)
{
	const struct spec_change change = {SPEC_PATH, "magnitude: abs",
					   "magnitude: abs\n    baseline: {python: 'toy.py:fast'}"};
	struct kgb_spec spec;

	load_toy(change, &spec);
	assert_string_equal(spec.interfaces[0].target, "aten:toy.Tensor");
	assert_string_equal(spec.interfaces[0].baseline, "python:toy.py:fast");
	assert_string_equal(kgb_spec_baseline(&spec), "reference");
	kgb_spec_release(&spec);
}

static void test_the_hash_covers_spec_cases_and_reference(KGB_UNUSED void **state)
{
	static const struct spec_change changes[] = {
		{0},
		{SPEC_PATH, "adds", "ads"},
		{SET_PATH, "two tensors", "two"},
		{REFERENCE_PATH, "self, self", "self, out"},
	};
	char digests[KGB_ARRAY_LEN(changes)][KGB_SHA256_HEX_LEN];

	for (size_t i = 0; i < KGB_ARRAY_LEN(changes); i++) {
		struct kgb_spec spec, again;
		load_toy(changes[i], &spec);
		load_toy(changes[i], &again);
		assert_string_equal(spec.sha256, again.sha256);
		memcpy(digests[i], spec.sha256, sizeof(digests[i]));
		kgb_spec_release(&spec);
		kgb_spec_release(&again);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(digests[i], digests[j]);
	}
}

static const struct {
	struct spec_change change;
	const char *message;
} faults[] = {
	/* places and names */
	{{SPEC_PATH, "aten::toy", "aten::toys"},
	 SPEC_PATH ":1:11: operator: 'aten::toys' must be in a file named aten__toys.yaml"},
	{{SPEC_PATH, "aten::toy", "toy"},
	 SPEC_PATH ":1:11: operator: 'toy' is not a name like aten::add"},
	{{SPEC_PATH, "aten::toy", "at__en::toy"},
	 SPEC_PATH ":1:11: operator: 'at__en::toy' is not a name like aten::add"},
	{{SPEC_PATH, "aten::toy", "aten_::toy"},
	 SPEC_PATH ":1:11: operator: 'aten_::toy' is not a name like aten::add"},
	{{SPEC_PATH, "aten::toy", "'::toy'"},
	 SPEC_PATH ":1:11: operator: '::toy' is not a name like aten::add"},
	{{SPEC_PATH, "aten::toy", "aten::../x"},
	 SPEC_PATH ":1:11: operator: 'aten::../x' is not a name like aten::add"},
	{{SPEC_PATH, "source: aten", "source: vllm"},
	 SPEC_PATH ":2:9: source: 'vllm', but the folder is 'aten'"},
	{{SPEC_PATH, "entry: toy_Tensor", "entry: toy.Tensor"},
	 SPEC_PATH ":8:12: entry: 'toy.Tensor' is not a Python name"},
	{{SPEC_PATH, "entry: toy_out", "entry: toy_Tensor"},
	 SPEC_PATH ":18:5: interface 'toy_Tensor' is there twice, with other names of parameters"},
	/* texts */
	{{SPEC_PATH, "summary: adds", "summary: ''"}, SPEC_PATH ":4:10: summary: is empty"},
	{{SPEC_PATH, "summary: adds", "summary: \"a\\nb\""},
	 SPEC_PATH ":4:10: summary: must be one line"},
	{{SPEC_PATH, "schema: toy.out(", "schema: ' ' # "},
	 "interface 'toy_out': " SPEC_PATH ":19:13: schema: is empty"},
	/* dtypes */
	{{SPEC_PATH, "[float32, float16]", "[float32, float61]"},
	 SPEC_PATH
	 ":6:19: dtypes: unknown dtype 'float61'; did you mean 'float16', 'float64' or 'bfloat16'?"},
	{{SPEC_PATH, "[float32, float16]", "[float32, float32]"},
	 SPEC_PATH ":6:19: dtypes: 'float32' is listed twice"},
	{{SPEC_PATH, "[float32, float16]", "[]"}, SPEC_PATH ":6:9: dtypes: is empty"},
	/* tolerance */
	{{SPEC_PATH, "{accumulate: result}", "{factor: 0}"},
	 "interface 'toy_Tensor': " SPEC_PATH
	 ":12:16: tolerance: factor and ulps must be greater than 0"},
	{{SPEC_PATH, "{accumulate: result}", "{ulps: -1}"},
	 "interface 'toy_Tensor': tolerance: " SPEC_PATH ":12:23: "},
	{{SPEC_PATH, "{accumulate: result}", "{ulp: 1}"},
	 "interface 'toy_Tensor': tolerance: " SPEC_PATH
	 ":12:17: unknown key 'ulp'; did you mean 'ulps'?"},
	/* references */
	{{SPEC_PATH, "{aten: toy.Tensor}", "{}"},
	 "interface 'toy_Tensor': " SPEC_PATH ":10:16: reference: give one of aten and python"},
	{{SPEC_PATH, "{aten: toy.Tensor}", "{aten: toy.Tensor, python: 'toy.py:toy'}"},
	 "interface 'toy_Tensor': " SPEC_PATH ":10:16: reference: give one of aten and python"},
	{{SPEC_PATH, "{aten: toy.Tensor}", "{aten: toy.Ten-sor}"},
	 "interface 'toy_Tensor': " SPEC_PATH
	 ":10:16: reference: 'toy.Ten-sor' is not an overload like add.Tensor"},
	{{SPEC_PATH, "'toy.py:toy'", "'../toy.py:toy'"},
	 "interface 'toy_out': " SPEC_PATH
	 ":20:16: '../toy.py:toy' is not FILE.py:FUNCTION, with a file in aten/reference"},
	{{SPEC_PATH, "'toy.py:toy'", "'toys.py:toy'"},
	 "interface 'toy_out': " SPEC_PATH
	 ":20:16: reference 'toys.py:toy': open 'kgb/aten/reference/toys.py': No such file or directory"},
	{{SPEC_PATH, "magnitude: abs", "magnitude: abs\n    baseline: {}"},
	 "interface 'toy_Tensor': " SPEC_PATH ":12:15: baseline: give one of aten and python"},
	{{SPEC_PATH, "magnitude: abs", "magnitude: abs\n    baseline: {python: 'no.py:f'}"},
	 "interface 'toy_Tensor': " SPEC_PATH
	 ":12:15: reference 'no.py:f': open 'kgb/aten/reference/no.py': No such file or directory"},
	{{SPEC_PATH, "magnitude: abs", "magnitude: absolute"},
	 "interface 'toy_Tensor': " SPEC_PATH
	 ":11:16: magnitude: 'absolute' is none of: none, abs, FILE.py:FUNCTION"},
	{{SPEC_PATH, "magnitude: abs", "magnitude: 'toy:x'"},
	 "interface 'toy_Tensor': " SPEC_PATH
	 ":11:16: 'toy:x' is not FILE.py:FUNCTION, with a file in aten/reference"},
	/* lists */
	{{SPEC_PATH, "layout: $a_layout}", "layout: $a_layout, list: 2x}"},
	 "list: '2x' is not a Python name"},
	{{SPEC_PATH, "dtype: $b_dtype|$dtype", "list: self"},
	 "list 'self' has the name of a parameter"},
	{{SPEC_PATH, "layout: $a_layout}", "layout: $a_layout, list: alpha}"},
	 "parameter 'alpha' has the name of a list"},
	{{SPEC_PATH, "value: $alpha|1", "value: $alpha|1, list: pair"},
	 "parameter 'alpha': 'list' does not go with 'value'"},
	{{SPEC_PATH, "layout: $out_layout", "layout: $out_layout, list: pair"},
	 "parameter 'out': 'list' does not go with 'out'"},
	/* what nobody returns may be in a list */
	{{SPEC_PATH, "tensor: $a, result: 1", "tensor: $a, result: 1, list: pair"}, NULL},
	{{SPEC_PATH, "tensor: $a, layout: $a_layout}", "tensor: $a, result: 0, list: pair}"},
	 "parameter 'self': a result that is returned cannot be in a 'list'"},
	{{SPEC_PATH, "layout: $a_layout}\n",
	  "layout: $a_layout, list: pair}\n"
	  "      - {name: gap, value: 1}\n"
	  "      - {name: late, tensor: $a, list: pair}\n"},
	 "list 'pair': its parameters must stand side by side and be passed alike"},
	/* costs */
	{{SPEC_PATH, "magnitude: abs", "bytes: bytes(self) + bytes(result) + alpha * $n"}, NULL},
	{{SPEC_PATH, "magnitude: abs", "bytes: numel(selff)"},
	 "interface 'toy_Tensor': " SPEC_PATH
	 ":11:12: bytes: column 1: numel: no tensor, output or result is named 'selff'"},
	{{SPEC_PATH, "magnitude: abs", "bytes: 1 + dim(alpha, 0)"},
	 "interface 'toy_Tensor': " SPEC_PATH
	 ":11:12: bytes: column 5: dim: no tensor, output or result is named 'alpha'"},
	{{SPEC_PATH, "magnitude: abs", "flops: numel(result1)"},
	 ":11:12: flops: column 1: numel: no tensor, output or result is named 'result1'"},
	{{SPEC_PATH, "returns: false", "returns: false\n    flops: numel(result1) + size(out)"},
	 NULL},
	{{SPEC_PATH, "magnitude: abs", "flops: 2 * self"},
	 ":11:12: flops: column 5: no value parameter is named 'self'"},
	{{SPEC_PATH, "magnitude: abs", "flops: 2 *"},
	 ":11:12: flops: column 4: expected a number, a name or '('"},
	/* parameters */
	{{SPEC_PATH, "name: self, tensor: $a, layout", "name: 2self, tensor: $a, layout"},
	 "interface 'toy_Tensor': " SPEC_PATH ":14:16: name: '2self' is not a Python name"},
	{{SPEC_PATH, "name: other", "name: self"},
	 "interface 'toy_Tensor': " SPEC_PATH ":15:9: parameter 'self' is there twice"},
	{{SPEC_PATH, "tensor: $b", "tensor: b"},
	 "interface 'toy_Tensor': " SPEC_PATH
	 ":15:31: parameter 'other': tensor must be $variable or a list of sizes"},
	{{SPEC_PATH, "tensor: $b,", "tensor: $b, as: dtype,"},
	 "interface 'toy_Tensor': " SPEC_PATH
	 ":15:39: parameter 'other': 'as' does not go with 'tensor'"},
	{{SPEC_PATH, "value: $alpha|1", "value: 1, fill: ones"},
	 "interface 'toy_Tensor': " SPEC_PATH
	 ":16:39: parameter 'alpha': 'fill' does not go with 'value'"},
	{{SPEC_PATH, "value: $alpha|1", "value: 1, read: 'vector(1,2)'"},
	 "parameter 'alpha': 'read' does not go with 'value'"},
	{{SPEC_PATH, "layout: $out_layout", "read: 'vector(1,2)'"},
	 "parameter 'out': 'read' does not go with 'out'"},
	{{SPEC_PATH, "value: $alpha|1, ", ""},
	 "interface 'toy_Tensor': " SPEC_PATH
	 ":16:9: parameter 'alpha': give one of tensor, out and value"},
	{{SPEC_PATH, "layout: $out_layout", "dtype: float32"},
	 "interface 'toy_out': " SPEC_PATH
	 ":24:36: parameter 'out': 'dtype' does not go with 'out'"},
	{{SPEC_PATH, "$b_dtype|$dtype, ", "$b_dtype|$dtype, keyword: true, "}, NULL},
	{{SPEC_PATH, "layout: $a_layout", "layout: null, dtype: null, fill: null"}, NULL},
	{{SPEC_PATH, "magnitude: abs", "magnitude: null"}, NULL},
	{{SPEC_PATH, "value: $alpha|1, keyword: true}",
	  "value: 1}\n      - {name: x, value: 1, keyword: true}\n      - {name: y, value: 2}"},
	 "interface 'toy_Tensor': " SPEC_PATH
	 ":18:9: parameter 'y': positional after keyword parameter 'x'"},
	{{SPEC_PATH, "result: 1", "result: 2"},
	 "interface 'toy_out': " SPEC_PATH
	 ":23:9: parameter 'self': result 2, but the interface has 2"},
	{{SPEC_PATH, "result: 1", "result: 0"},
	 "interface 'toy_out': " SPEC_PATH
	 ":24:9: parameter 'out': result 0 is already held by 'self'"},
	{{SPEC_PATH, "results: 2", "results: 3"},
	 "interface 'toy_out': " SPEC_PATH
	 ":18:5: no parameter holds result 2, which is not returned"},
	{{SPEC_PATH, "magnitude: abs", "results: 2\n    returned: 1"},
	 "interface 'toy_Tensor': " SPEC_PATH
	 ":8:5: no parameter holds result 1, which is not returned"},
	{{SPEC_PATH, "magnitude: abs", "returned: 2"},
	 SPEC_PATH ":11:15: returned: there are not so many results to return"},
	{{SPEC_PATH, "returns: false", "returns: false\n    returned: 1"},
	 "returned: there are not so many results to return"},
	{{SPEC_PATH, "returns: false", "returns: false\n    nones: 1"},
	 "nones: nothing is returned before them"},
	{{SPEC_PATH, "magnitude: abs", "rounded: 0"},
	 SPEC_PATH ":11:14: rounded: expected a list of results' numbers"},
	{{SPEC_PATH, "magnitude: abs", "rounded: [1]"},
	 SPEC_PATH ":11:15: rounded: there is no such result"},
	{{SPEC_PATH, "magnitude: abs", "rounded: [0]\n    nones: 2"}, NULL},
	{{SPEC_PATH, "magnitude: abs", "laid_out: [-1]"},
	 SPEC_PATH ":11:16: laid_out: there is no such result"},
	{{SPEC_PATH, "magnitude: abs", "laid_out: [0]"}, NULL},
	/* kinds of results */
	{{SPEC_PATH, "magnitude: abs", "number: true"},
	 "number, unwritten: one of them, with one result that no parameter holds, and with 'triton: none'"},
	{{SPEC_PATH, "magnitude: abs", "unwritten: true"}, "number, unwritten: one of them"},
	{{SPEC_PATH, "magnitude: abs", "number: 1"}, "number: '1' must be true or false"},
	{{SPEC_PATH, "magnitude: abs", "laws: bernoulli(self)"},
	 SPEC_PATH ":11:11: laws: expected a list with one law for each result"},
	{{SPEC_PATH, "magnitude: abs", "laws: [none, none]"},
	 "laws: expected a list with one law for each result"},
	{{SPEC_PATH, "magnitude: abs", "laws: [gauss(self)]"},
	 SPEC_PATH ":11:12: laws: 'gauss(self)' is none of: none, bernoulli(p), "},
	{{SPEC_PATH, "magnitude: abs", "laws: [bernoulli(out)]"},
	 "laws: 'bernoulli(out)' must read bernoulli(p), with names of parameters"},
	{{SPEC_PATH, "magnitude: abs", "laws: [bernoulli]"}, "must read bernoulli(p)"},
	{{SPEC_PATH, "magnitude: abs", "laws: ['poisson(self, other)']"},
	 "must read poisson(rate)"},
	{{SPEC_PATH, "magnitude: abs", "laws: ['rrelu(self, other, alpha)']"}, "must read rrelu(x"},
	{{SPEC_PATH, "magnitude: abs", "laws: ['product(self, other)']"}, "must read product(x"},
	{{SPEC_PATH, "magnitude: abs", "laws: ['rrelu(self, alpha, alpha)']"}, NULL},
	{{SPEC_PATH, "returns: false", "returns: false\n    laws: ['product(self, self)', none]"},
	 NULL},
	{{SPEC_PATH, "returns: false", "returns: false\n    laws: [none, 'product(self, self)']"},
	 "must read product(x, draws)"},
	/* case sets */
	{{SPEC_PATH, "cases: [toy]", "cases: []"},
	 "interface 'toy_Tensor': " SPEC_PATH ":17:12: cases: is empty"},
	{{SPEC_PATH, "cases: [toy]", "cases: [toy, toy]"},
	 "interface 'toy_Tensor': " SPEC_PATH ":17:18: cases: 'toy' is listed twice"},
	{{SPEC_PATH, "cases: [toy]", "cases: [../toy]"},
	 "interface 'toy_Tensor': " SPEC_PATH
	 ":17:13: cases: '../toy' is not the name of a case set"},
	{{SPEC_PATH, "cases: [toy]", "cases: [toys]"},
	 SPEC_PATH
	 ": interface 'toy_Tensor': cases 'toys': open 'kgb/cases/toys.yaml': No such file or directory"},
	{{SET_PATH, "name: toy", "name: tou"},
	 SPEC_PATH ": interface 'toy_Tensor': cases 'toy': " SET_PATH
		   ":1:7: name: 'tou', but the file is toy.yaml"},
	{{SET_PATH, "id: scalar", "id: a/b"},
	 SET_PATH ":4:10: cases: id is required: text of letters, digits and any of _ = . , + -"},
	{{SET_PATH, "id: scalar, ", ""},
	 SET_PATH ":4:5: cases: id is required: text of letters, digits and any of _ = . , + -"},
	{{SET_PATH, "mode: outlier", "mode: outlyer"},
	 "case 'outlier': " SET_PATH
	 ":6:25: mode: 'outlyer' is none of: standard, outlier, special, benchmark; did you mean 'outlier'?"},
	{{SET_PATH, "mode: outlier", "mode: 3"},
	 "case 'outlier': " SET_PATH
	 ":6:25: mode: expected one of: standard, outlier, special, benchmark"},
	{{SET_PATH, "[int64]", "int64"},
	 "case 'outlier': " SET_PATH ":6:83: dtypes: expected a list of dtype names"},
	{{SET_PATH, "[int64]", "[64]"},
	 "case 'outlier': " SET_PATH ":6:84: dtypes: expected a dtype name"},
	{{SET_PATH, "[int64]", "[int46]"},
	 "case 'outlier': " SET_PATH ":6:84: dtypes: unknown dtype 'int46'"},
	{{SET_PATH, "[int64]", "[]"}, "case 'outlier': " SET_PATH ":6:83: dtypes: is empty"},
	{{SET_PATH, "mode: outlier", "mode: outlier, specials: []"},
	 "case 'outlier': " SET_PATH ":6:44: specials: only a template may have an empty list"},
	{{SET_PATH, "cases:\n", "drawn:\n  - {id: t, a: [1], b: [1], specials: []}\ncases:\n"},
	 SET_PATH ":4:39: specials: an empty list needs a mode that is never special"},
	{{SET_PATH, "alpha: -0.5", "dtype: int8"},
	 SET_PATH ":5:46: cases: 'dtype' cannot be the name of a variable"},
	{{SET_PATH, "alpha: -0.5", "al-pha: 2"},
	 SET_PATH ":5:46: cases: 'al-pha' cannot be the name of a variable"},
	{{SET_PATH, "{id: scalar, a: [], b: [1]}", "scalar"},
	 SET_PATH ":4:5: cases: expected a mapping with id and variables"},
	/* what the decoder itself sees, once each to show that it is asked */
	{{SPEC_PATH, "category: Math", "categori: Math"},
	 SPEC_PATH ":3:1: unknown key 'categori'; did you mean 'category'?"},
	{{SPEC_PATH, "category: Math\n", ""}, "missing key 'category'"},
	{{SPEC_PATH, "layout: $a_layout", "lay: x"}, "unknown key 'lay'"},
	{{SPEC_PATH, "dtypes: [", "triton: maybe\ndtypes: ["}, "'maybe'"},
	{{SET_PATH, "doc: two tensors", "docs: two"}, "unknown key 'docs'"},
	{{SPEC_PATH, "source: aten", "source: aten\nsource: aten"}, "duplicate key 'source'"},
	/* files */
	{{SPEC_PATH, "", NULL}, "open '" SPEC_PATH "': No such file or directory"},
	{{REFERENCE_PATH, "", NULL}, "open '" REFERENCE_PATH "': No such file or directory"},
};

static void test_every_fault_is_named_with_its_place(KGB_UNUSED void **state)
{
	for (size_t i = 0; i < KGB_ARRAY_LEN(faults); i++) {
		struct kgb_spec spec = {.name = "untouched"};
		struct kgb_err err = KGB_ERR_INIT;
		struct spec_change change = faults[i].change;
		int rc = kgb_spec_load_with(SPEC_PATH, read_spec_file, &change, &spec, &err);
		if (!faults[i].message) {
			assert_ok(rc, err);
			kgb_spec_release(&spec);
			continue;
		}
		if (rc == 0)
			fail_msg("'%s' for '%s' is accepted", change.fresh, change.old);
		assert_contains(err.msg, faults[i].message);
		assert_string_equal(spec.name, "untouched");
	}
}

static void test_tensors_of_a_list_are_one_parameter_to_the_caller(KGB_UNUSED void **state)
{
	struct kgb_spec spec;
	struct kgb_param called[KGB_MAX_ARGS];

	load_toy((struct spec_change){SPEC_PATH, "layout: $a_layout}\n",
				      "layout: $a_layout, list: pair}\n"
				      "      - {name: second, tensor: $a, list: pair}\n"
				      "      - {name: third, tensor: $a, list: more}\n"},
		 &spec);
	assert_int_equal(spec.interfaces[0].n_params, 5);
	assert_int_equal(kgb_interface_called_params(&spec.interfaces[0], called), 4);
	assert_string_equal(called[0].name, "pair");
	assert_string_equal(called[1].name, "more");
	assert_string_equal(called[2].name, "other");
	assert_string_equal(called[3].name, "alpha");
	assert_int_equal(kgb_interface_called_params(&spec.interfaces[1], called), 2);
	assert_string_equal(called[0].name, "self");
	kgb_spec_release(&spec);
}

#define ALPHA_AND_CASES                                           \
	"      - {name: alpha, value: $alpha|1, keyword: true}\n" \
	"    cases: [toy]\n"

static void test_memory_behind_addresses_is_not_passed(KGB_UNUSED void **state)
{
	static const char places[] = "      - {name: at, tensor: [2], dtype: int64, "
				     "fill: 'distinct(0,2)', into: %s}\n";
	static const struct {
		const char *into, *rest, *message;
	} rows[] = {
		{"rows", "      - {name: rows, tensor: [3, 5]}\n", NULL},
		{"rowz", "      - {name: rows, tensor: [3, 5]}\n",
		 "parameter 'at': into: 'rowz' is no plain tensor behind it"},
		{"self", "", "parameter 'at': into: 'self' is no plain tensor behind it"},
		{"rows", "      - {name: rows, value: 3}\n",
		 "parameter 'at': into: 'rows' is no plain tensor behind it"},
		{"rows", "      - {name: rows, tensor: [3, 5]}\n      - {name: n, value: 3}\n",
		 "parameter 'n' comes after 'rows', which is not passed"},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		struct kgb_param called[KGB_MAX_ARGS];
		struct kgb_err err = KGB_ERR_INIT;
		struct kgb_spec spec;
		kgb_buf_addf(&text, places, rows[i].into);
		kgb_buf_addf(&text, "%s    cases: [toy]\n", rows[i].rest);
		struct spec_change change = {SPEC_PATH, ALPHA_AND_CASES, text.ptr};
		int rc = kgb_spec_load_with(SPEC_PATH, read_spec_file, &change, &spec, &err);
		if (rows[i].message) {
			assert_int_equal(rc, -1);
			assert_contains(err.msg, rows[i].message);
			continue;
		}
		assert_ok(rc, err);
		assert_int_equal(spec.interfaces[0].n_params, 4);
		assert_int_equal(kgb_interface_called_params(&spec.interfaces[0], called), 3);
		assert_string_equal(called[2].name, "at");
		kgb_spec_release(&spec);
	}
}

static void test_too_many_parameters_are_refused(KGB_UNUSED void **state)
{
	KGB_AUTO(buf) struct kgb_buf many = KGB_BUF_INIT(0);
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_spec spec;

	for (int i = 0; i < KGB_MAX_ARGS; i++)
		kgb_buf_addf(&many, "      - {name: p%d, value: 1}\n", i);
	kgb_buf_adds(&many, "      - {name: out, out: 0");
	struct spec_change change = {SPEC_PATH, "      - {name: out, out: 0", many.ptr};
	assert_int_equal(kgb_spec_load_with(SPEC_PATH, read_spec_file, &change, &spec, &err), -1);
	assert_contains(err.msg, "params: 26 parameters, 1 to 24 are possible");
}

/* ---- documentation ---- */

/* The n-th block of YAML in docs/operator-spec.md. */
static char *doc_block(const char *doc, int n)
{
	static const char fence[] = "```yaml\n";
	const char *at = doc;

	for (int i = 0; i <= n; i++) {
		at = strstr(at, fence);
		assert_non_null(at);
		at += strlen(fence);
	}
	const char *end = strstr(at, "```");
	assert_non_null(end);
	return kgb_xstrndup(at, (size_t)(end - at));
}

static int read_doc_block(void *payload, const char *path, struct kgb_buf *out,
			  KGB_UNUSED struct kgb_err *err)
{
	KGB_AUTO(free) char *text = doc_block(payload, kgb_str_starts(path, "x/cases/") ? 1 : 0);
	return kgb_buf_adds(out, text);
}

static void test_the_example_of_the_documentation_loads(KGB_UNUSED void **state)
{
	KGB_AUTO(buf) struct kgb_buf doc = KGB_BUF_INIT(0);
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_spec spec;
	struct kgb_cases cases;

	assert_ok(kgb_fs_read(AT_FDCWD, KGB_TEST_SOURCE_DIR "/docs/operator-spec.md", 1 << 20, &doc,
			      &err),
		  err);
	assert_ok(kgb_spec_load_with("x/aten/aten__add.yaml", read_doc_block, doc.ptr, &spec, &err),
		  err);
	assert_ok(kgb_cases_expand(&spec, NULL, &cases, &err), err);
	assert_int_equal(cases.n, 2 * (4 + 2 + 1 + 4));
	kgb_cases_release(&cases);
	kgb_spec_release(&spec);
}

/* ---- index ---- */

struct index_dir {
	struct tmpdir tmp;
	struct kgb_spec_index index;
};

static void write_text(const struct index_dir *dir, const char *path, const char *text)
{
	KGB_AUTO(free) char *full = kgb_path_join(dir->tmp.path, path);
	struct kgb_err err = KGB_ERR_INIT;
	assert_ok(kgb_fs_write_atomic(AT_FDCWD, full, text, strlen(text), 0644, false, &err), err);
}

static void make_index_dir(struct index_dir *dir)
{
	static const char *const folders[] = {"aten", "vllm", "cases"};
	static const char *const files[] = {
		"aten/aten__add.yaml",     "aten/aten___softmax.yaml", "aten/aten__topk.yaml",
		"vllm/vllm13__topk.yaml",  "aten/notes.yaml",          "aten/aten__mm.yaml.orig",
		"aten/__x.yaml",           "aten/aten__.yaml",         "cases/pointwise__x.yaml",
		"aten/.aten__hidden.yaml",
	};
	struct kgb_err err = KGB_ERR_INIT;
	for (size_t i = 0; i < KGB_ARRAY_LEN(folders); i++) {
		KGB_AUTO(free)
		char *path =
			kgb_xasprintf("%s/datasets/kernelgenbench/%s", dir->tmp.path, folders[i]);
		assert_ok(kgb_fs_mkdirs(AT_FDCWD, path, 0755, &err), err);
	}
	for (size_t i = 0; i < KGB_ARRAY_LEN(files); i++) {
		KGB_AUTO(free) char *path = kgb_path_join("datasets/kernelgenbench", files[i]);
		write_text(dir, path, "");
	}
	write_text(dir, "datasets/kernelgenbench/operators.yaml",
		   "name: KernelGenBench\naten: [aten::add]\nvllm: []\ncublas: []\n");
}

static int index_setup(void **state)
{
	struct index_dir *dir = kgb_xcalloc(1, sizeof(*dir));
	memcpy(dir->tmp.path, "/tmp/kgb-test-XXXXXX", sizeof("/tmp/kgb-test-XXXXXX"));
	if (!mkdtemp(dir->tmp.path))
		return -1;
	make_index_dir(dir);
	struct kgb_err err = KGB_ERR_INIT;
	*state = dir;
	return kgb_spec_index_load(dir->tmp.path, "KernelGenBench", &dir->index, &err);
}

static int index_teardown(void **state)
{
	struct index_dir *dir = *state;
	struct kgb_err err = KGB_ERR_INIT;
	int rc = kgb_fs_remove_tree(AT_FDCWD, dir->tmp.path, &err);
	kgb_spec_index_release(&dir->index);
	kgb_free(dir);
	return rc;
}

static void test_the_index_lists_specs_sorted_and_nothing_else(void **state)
{
	const struct index_dir *dir = *state;
	static const char *const names[] = {"aten::_softmax", "aten::add", "aten::topk",
					    "vllm13::topk"};

	assert_int_equal(dir->index.names.n, KGB_ARRAY_LEN(names));
	assert_int_equal(dir->index.paths.n, KGB_ARRAY_LEN(names));
	for (size_t i = 0; i < KGB_ARRAY_LEN(names); i++)
		assert_string_equal(dir->index.names.items[i], names[i]);
	assert_true(kgb_str_ends(dir->index.paths.items[0],
				 "/datasets/kernelgenbench/aten/aten___softmax.yaml"));
}

static void test_a_dataset_of_one_source_has_its_operators_only(void **state)
{
	const struct index_dir *dir = *state;
	struct kgb_spec_index vllm;
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(kgb_spec_index_load(dir->tmp.path, "KernelGenBench-vllm", &vllm, &err), err);
	assert_int_equal(vllm.names.n, 1);
	assert_string_equal(vllm.names.items[0], "vllm13::topk");
	kgb_spec_index_release(&vllm);
}

static void test_unknown_and_empty_datasets_are_named(void **state)
{
	const struct index_dir *dir = *state;
	struct kgb_spec_index out;
	struct kgb_err err = KGB_ERR_INIT;

	assert_int_equal(kgb_spec_index_load(dir->tmp.path, "KernelGenBench-atn", &out, &err), -1);
	assert_int_equal(err.kind, KGB_ERR_NOT_FOUND);
	assert_contains(err.msg, "unknown dataset 'KernelGenBench-atn'");
	assert_contains(err.msg, "'KernelGenBench-aten'");
	assert_int_equal(kgb_spec_index_load(dir->tmp.path, "KernelGenBench-cublas", &out, &err),
			 -1);
	assert_contains(err.msg, "dataset 'KernelGenBench-cublas' has no operators in");
	assert_int_equal(kgb_spec_index_load("/nowhere", "KernelGenBench", &out, &err), -1);
	assert_contains(err.msg, "no datasets in '/nowhere/datasets': set KGB_DATA_DIR");
}

static void test_what_is_wrong_with_the_list_of_operators_is_named(void **state)
{
	const struct index_dir *dir = *state;
	static const struct {
		const char *text, *message;
	} rows[] = {
		{"aten: []\n", "operators.yaml:1:1: add the set's name: `name: ...`"},
		{"name: [x]\naten: []\n", "operators.yaml:1:1: add the set's name: `name: ...`"},
		{"name: X\naten: add\n", "operators.yaml:2:7: a source is a list of operators"},
		{"name: X\nname: Y\n", "operators.yaml:2:1: duplicate key 'name'"},
	};
	struct kgb_spec_index out;
	struct kgb_err err = KGB_ERR_INIT;

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		write_text(dir, "datasets/kernelgenbench/operators.yaml", rows[i].text);
		assert_int_equal(kgb_spec_index_load(dir->tmp.path, "KernelGenBench", &out, &err),
				 -1);
		assert_int_equal(err.kind, KGB_ERR_INVALID);
		assert_contains(err.msg, rows[i].message);
	}
}

static void test_an_operator_answers_to_three_names(void **state)
{
	const struct index_dir *dir = *state;
	static const struct {
		const char *typed, *name;
	} rows[] = {
		{"add", "aten::add"},
		{"aten::add", "aten::add"},
		{"aten__add", "aten::add"},
		{"_softmax", "aten::_softmax"},
		{"aten___softmax", "aten::_softmax"},
		{"vllm13::topk", "vllm13::topk"},
		{"aten__topk", "aten::topk"},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct kgb_err err = KGB_ERR_INIT;
		const char *name = NULL, *path = NULL;
		assert_ok(kgb_spec_index_find(&dir->index, rows[i].typed, &name, &path, &err), err);
		assert_string_equal(name, rows[i].name);
		KGB_AUTO(free) char *safe = kgb_safe_name(name);
		assert_contains(path, safe);
	}
}

static void test_ambiguous_and_unknown_operators_are_named(void **state)
{
	const struct index_dir *dir = *state;
	const char *name = NULL, *path = NULL;
	struct kgb_err err;

	assert_fails(kgb_spec_index_find(&dir->index, "topk", &name, &path, &err), err,
		     "operator 'topk' is ambiguous: name one of aten::topk, vllm13::topk");
	assert_int_equal(err.kind, KGB_ERR_INVALID);
	assert_fails(kgb_spec_index_find(&dir->index, "softmaxx", &name, &path, &err), err,
		     "unknown operator 'softmaxx'; did you mean '_softmax'?");
	assert_fails(kgb_spec_index_find(&dir->index, "aten::ad", &name, &path, &err), err,
		     "unknown operator 'aten::ad'; did you mean 'aten::add'?");
	assert_null(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_whole_spec_is_decoded),
		cmocka_unit_test(test_interfaces_and_parameters_are_decoded),
		cmocka_unit_test(test_tolerances_are_inherited_key_by_key),
		cmocka_unit_test(test_case_sets_are_read_once_with_their_variables),
		cmocka_unit_test(test_a_baseline_may_be_another_function_than_the_reference),
		cmocka_unit_test(test_the_hash_covers_spec_cases_and_reference),
		cmocka_unit_test(test_every_fault_is_named_with_its_place),
		cmocka_unit_test(test_tensors_of_a_list_are_one_parameter_to_the_caller),
		cmocka_unit_test(test_memory_behind_addresses_is_not_passed),
		cmocka_unit_test(test_too_many_parameters_are_refused),
		cmocka_unit_test(test_the_example_of_the_documentation_loads),
		cmocka_unit_test_setup_teardown(test_the_index_lists_specs_sorted_and_nothing_else,
						index_setup, index_teardown),
		cmocka_unit_test_setup_teardown(test_a_dataset_of_one_source_has_its_operators_only,
						index_setup, index_teardown),
		cmocka_unit_test_setup_teardown(
			test_what_is_wrong_with_the_list_of_operators_is_named, index_setup,
			index_teardown),
		cmocka_unit_test_setup_teardown(test_unknown_and_empty_datasets_are_named,
						index_setup, index_teardown),
		cmocka_unit_test_setup_teardown(test_an_operator_answers_to_three_names,
						index_setup, index_teardown),
		cmocka_unit_test_setup_teardown(test_ambiguous_and_unknown_operators_are_named,
						index_setup, index_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
