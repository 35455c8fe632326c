/* SPDX-License-Identifier: MIT */
#include "verify/static/scan.h"

#include "base/limits.h"
#include "base/str.h"
#include "tests/unit/base/support.h"

#define POLICY KGB_TEST_SOURCE_DIR "/verify/policy/l1.yaml"

/* ---- bytes ---- */

static const struct {
	const char *text;
	size_t len; /* 0: strlen */
	const char *code;
	int line;
} byte_cases[] = {
	{"import torch\n", 0, NULL, 0},
	{"# -*- coding: utf-8 -*-\nx = 1\n", 0, NULL, 0},
	{"#!/usr/bin/python\n# vim: set fileencoding=UTF8 :\nx = 1\n", 0, NULL, 0},
	{"x = 'gr\xc3\xbc\xc3\x9f'\n", 0, NULL, 0},
	{"x = 1\n\n# coding: latin-1\n", 0, NULL, 0}, /* line 3 is only a comment */
	{"x = 1 # encoding: later\n", 0, NULL, 0}, /* not a comment line */
	{"\ttab\fform\r\nfeed\n", 0, NULL, 0},
	{"", 0, "contract.empty", 0},
	{" \n\t\r\n\f", 0, "contract.empty", 0},
	{"\xef\xbb\xbfx = 1\n", 0, "contract.encoding", 1},
	{"# coding: utf-7\nx = 1\n", 0, "contract.encoding", 1},
	{"\n  # -*- coding=cp1252 -*-\n", 0, "contract.encoding", 2},
	{"#\r# coding: rot13\rx\n", 0, "contract.encoding", 2},
	{"#\r\n# coding: rot13\r\nx\n", 0, "contract.encoding", 2},
	{"# decoding : no, coding: hex\n", 0, "contract.encoding", 1},
	{"a = 1\nb = '\xff'\n", 0, "contract.encoding", 2},
	{"a\nb\n\xed\xa0\x80\n", 0, "contract.encoding", 3}, /* surrogate */
	{"a = 1\n\0b\n", 9, "contract.encoding", 2},
	{"a\n\x1b[2J\n", 0, "contract.encoding", 2},
	{"a\x7f\n", 0, "contract.encoding", 1},
	{"a\n# \xe2\x80\xae\n", 0, "contract.encoding", 2},
	{"a\n# \xe2\x81\xa9\n", 0, "contract.encoding", 2},
	{"a\n# \xe2\x80\xa2 \xe2\x81\xaa\n", 0, NULL,
	 0}, /* a bullet, and a neighbour of the refused range */
};

static void test_bytes_are_checked_before_any_parser_sees_them(KGB_UNUSED void **state)
{
	for (size_t i = 0; i < KGB_ARRAY_LEN(byte_cases); i++) {
		struct kgb_finding finding = {0};
		size_t len = byte_cases[i].len ? byte_cases[i].len : strlen(byte_cases[i].text);
		int rc = kgb_scan_bytes(byte_cases[i].text, len, &finding);
		if (rc != (byte_cases[i].code != NULL))
			fail_msg("case %zu: %d %s", i, rc, finding.message);
		if (!byte_cases[i].code)
			continue;
		assert_string_equal(kgb_code_name(finding.code), byte_cases[i].code);
		assert_string_equal(finding.stage, "contract");
		if (finding.line != byte_cases[i].line)
			fail_msg("case %zu: line %d", i, finding.line);
	}
}

static void
test_a_file_of_exactly_the_cap_is_taken_and_one_byte_more_is_not(KGB_UNUSED void **state)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	struct kgb_finding finding;

	while (text.len < KGB_LIMIT_KERNEL)
		kgb_buf_addc(&text, '#');
	assert_int_equal(kgb_scan_bytes(text.ptr, text.len, &finding), 0);
	kgb_buf_addc(&text, '#');
	assert_int_equal(kgb_scan_bytes(text.ptr, text.len, &finding), 1);
	assert_int_equal(finding.code, KGB_CODE_CONTRACT_TOO_LARGE);
}

/* ---- policies ---- */

#define HEAD "schema: kgb.l1/2\nrules:\n"
#define RULE "  - {code: l1.io, kind: [name], message: m, hint: h, reason: r"

static const struct {
	const char *text;
	const char *message;
} policy_cases[] = {
	{HEAD RULE "}\n", NULL},
	{"schema: kgb.l1/1\nrules:\n" RULE "}\n", "schema: 'kgb.l1/1' is not kgb.l1/2"},
	{"schema: kgb.l1/2\nrules: []\n", "rules: is empty"},
	{HEAD RULE ", mach: a}\n", "match"},
	{HEAD RULE ", match: '('}\n",
	 "rule 'l1.io': match: at character 1: missing closing parenthesis"},
	{HEAD RULE ", allow_match: '[z-a]'}\n", "allow_match: at character"},
	{HEAD RULE ", context: [kernal]}\n",
	 "context: 'kernal' is not known; did you mean 'kernel'?"},
	{HEAD "  - {code: l1.io, kind: [nam], message: m, hint: h, reason: r}\n",
	 "kind: 'nam' is not known"},
	{HEAD "  - {code: l1.io, kind: [], message: m, hint: h, reason: r}\n", "kind: is empty"},
	{HEAD "  - {code: verify.mismatch, kind: [name], message: m, hint: h, reason: r}\n",
	 "leads to 'refused' or decides nothing"},
	{HEAD "  - {code: cheat.ghost, kind: [name], message: m, hint: h, reason: r}\n",
	 "leads to 'refused' or decides nothing"},
	{HEAD "  - {code: l1.x, kind: [name], message: m, hint: h, reason: r}\n",
	 "leads to 'refused' or decides nothing"},
	{HEAD "  - {code: l1.io, kind: [name], hint: h, reason: r}\n", "message: is missing"},
	{HEAD "  - {code: l1.io, kind: [name], message: m, reason: r}\n", "hint: is missing"},
	{HEAD "  - {code: l1.patch, kind: [name], message: m, reason: r}\n", NULL},
	{HEAD "  - {code: l1.patch, kind: [name], reason: r}\n", "message: is missing"},
	{HEAD "  - {code: l1.io, kind: [name], message: '{{nam}}', hint: h, reason: r}\n", "nam"},
	{HEAD "  - {code: l1.io, kind: [name], message: m, hint: h}\n", "reason"},
	{HEAD "  - {code: ok.x, kind: [name], reason: r}\n", NULL},
};

static int load_text(const char *text, struct kgb_l1 **out, struct kgb_err *err)
{
	char dir[32];

	enter_dir_of("p.yaml", text, dir);
	int rc = kgb_l1_load("p.yaml", out, err);
	leave_dir_of("p.yaml", dir);
	return rc;
}

static void test_a_policy_with_a_mistake_names_it(KGB_UNUSED void **state)
{
	for (size_t i = 0; i < KGB_ARRAY_LEN(policy_cases); i++) {
		struct kgb_l1 *l1 = NULL;
		struct kgb_err err = KGB_ERR_INIT;
		int rc = load_text(policy_cases[i].text, &l1, &err);
		if (rc != (policy_cases[i].message ? -1 : 0))
			fail_msg("case %zu: %d %s", i, rc, err.msg);
		if (policy_cases[i].message) {
			assert_contains(err.msg, policy_cases[i].message);
			assert_contains(err.msg, "p.yaml:");
		}
		kgb_l1_free(l1);
	}
}

/* ---- facts ---- */

static struct kgb_param params[] = {
	{.name = "self", .kind = KGB_PARAM_TENSOR, .result = -1},
	{.name = "dim", .kind = KGB_PARAM_VALUE, .result = -1},
	{.name = "dtype", .kind = KGB_PARAM_VALUE, .result = -1, .keyword = true},
	{.name = "out", .kind = KGB_PARAM_OUT, .result = 0, .keyword = true},
};
static struct kgb_interface interfaces[] = {
	{.entry = "toy",
	 .schema = "toy(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
	 .params = params,
	 .n_params = 3},
	{.entry = "toy_out", .schema = "toy.out(...)", .params = params, .n_params = 4},
};

#define P(name, kind, has_default) \
	"{\"name\":\"" name "\",\"kind\":\"" kind "\",\"default\":" has_default "}"
#define TOY_PARAMS                       \
	P("self", "positional", "false") \
	"," P("dim", "positional", "false") "," P("dtype", "keyword", "true")
#define B(name, kind, list, more, refs)                                                       \
	"{\"name\":\"" name "\",\"line\":7,\"kind\":\"" kind "\",\"params\":[" list "]," more \
	"\"refs\":[" refs "]}"
#define TOY B("toy", "function", TOY_PARAMS, "", "\"helper\"")
#define OUT B("toy_out", "function", TOY_PARAMS "," P("out", "keyword", "false"), "", "\"toy\"")
#define REST                                                                 \
	B("helper", "function", "", "", "\"TABLE\"")                         \
	"," B("TABLE", "value", "", "",                                      \
	      "\"kernel\"") "," B("kernel", "function", "", "\"jit\":true,", \
				  "") "," B("dead", "function", "", "",      \
					    "\"deader\"") "," B("deader", "function", "", "", "")
#define GOOD TOY "," OUT "," REST
#define KERNELS "{\"name\":\"kernel\",\"line\":3,\"owner\":\"kernel\"}"
#define FACT(line, kind, name, use, on, ctx, owner)                                     \
	"{\"kind\":\"" kind "\",\"name\":\"" name "\",\"line\":" line ",\"ctx\":\"" ctx \
	"\",\"use\":\"" use "\",\"on\":\"" on "\",\"owner\":\"" owner "\",\"fn\":\"" owner "\"}"
#define HOST(line, kind, name, use, on) FACT(line, kind, name, use, on, "host", "toy")

static struct kgb_notes notes; /* of the last scan */

static int scan_text(struct kgb_l1 *l1, enum kgb_triton_rule triton, const char *text,
		     struct kgb_finding *out, struct kgb_err *err)
{
	const struct kgb_spec spec = {.interfaces = interfaces,
				      .n_interfaces = KGB_ARRAY_LEN(interfaces),
				      .triton = triton};
	KGB_AUTO(json) cJSON *facts = NULL;
	struct kgb_err why = KGB_ERR_INIT;
	memset(out, 0, sizeof(*out));
	assert_ok(kgb_json_parse(text, strlen(text), &facts, &why), why);
	return kgb_scan_facts(l1, &spec, facts, &notes, out, err);
}

static int scan_parts(struct kgb_l1 *l1, const char *bindings, const char *module_refs,
		      const char *kernels, const char *facts, struct kgb_finding *out)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	struct kgb_err err = KGB_ERR_INIT;
	kgb_buf_addf(
		&text,
		"{\"schema\":\"kgb.ast_facts/1\",\"error\":null,\"bindings\":[%s],\"module_refs\":[%s],"
		"\"kernels\":[%s],\"facts\":[%s]}",
		bindings, module_refs, kernels, facts);
	int rc = scan_text(l1, KGB_TRITON_REQUIRED, text.ptr, out, &err);
	if (rc < 0)
		fail_msg("%s", err.msg);
	return rc;
}

/* The whole code, that of the first note when nothing is refused, "" for clean. */
static void expect(struct kgb_l1 *l1, const char *bindings, const char *facts, const char *code,
		   const char *part)
{
	struct kgb_finding finding;
	const enum kgb_code wanted = kgb_code_find(code);
	int rc = scan_parts(l1, bindings, "", KERNELS, facts, &finding);
	if (rc == 0 && notes.n > 0)
		finding = notes.items[0];
	if (finding.code != wanted || (rc == 1) != (kgb_code_status(wanted) == KGB_STATUS_REFUSED))
		fail_msg("%s: %s %s (expected '%s')", facts,
			 finding.code ? kgb_code_name(finding.code) : "clean", finding.message,
			 code);
	if (part)
		assert_contains(finding.message, part);
}

static int load_policy(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	assert_ok(kgb_l1_load(POLICY, (struct kgb_l1 **)state, &err), err);
	return 0;
}

static int free_policy(void **state)
{
	kgb_l1_free(*state);
	return 0;
}

static const struct {
	const char *fact;
	const char *code;
} fact_cases[] = {
	{HOST("1", "import", "torch", "import", ""), ""},
	{HOST("1", "import", "torch.nn.functional", "import", ""), ""},
	{HOST("1", "import", "torch.utils.cpp_extension", "import", ""), ""},
	{HOST("1", "import", "torch", "star", ""), ""},
	{HOST("1", "import", "ctypes", "import", ""), ""},
	{HOST("1", "import", "ctypes.util", "from", ""), ""},
	{HOST("1", "import", "ctypes", "unused", ""), ""},
	{HOST("1", "import", "ctypes.util", "unused", ""), ""},
	{HOST("1", "import", "numpy", "unused", ""), ""},
	{HOST("1", "import", "_ctypes", "unused", ""), ""},
	{HOST("1", "import", "flag_gems", "unused", ""), ""},
	{HOST("1", "import", "antigravity", "unused", ""), ""},
	{HOST("1", "import", "torch.utils.cpp_extension", "unused", ""), ""},
	{HOST("1", "import", "torch.library", "import", ""), ""},
	{HOST("1", "import", "torch._dynamo", "import", ""), ""},
	{HOST("1", "import", "torch._inductor", "import", ""), ""},
	{HOST("1", "import", "triton.experimental.gluon", "import", ""), ""},
	{HOST("1", "import", "logging", "import", ""), ""},
	{HOST("1", "import", "json", "import", ""), ""},
	{HOST("1", "import", "json", "unused", ""), ""},
	{HOST("1", "name", "os.environ", "unused", ""), ""},
	{HOST("1", "name", "torch.sum", "unused", ""), ""},
	{HOST("1", "name", "torch._inductor", "unused", ""), "l1.torch_compile"},
	{HOST("1", "name", "ctypes.memmove", "call", ""), "l1.system"},
	{HOST("1", "name", "sys", "load", ""), ""},
	{HOST("1", "name", "sys.modules[]", "load", ""), "l1.surroundings"},
	{HOST("1", "name", "sys.path.insert", "call", ""), "l1.surroundings"},
	{HOST("1", "name", "sys.stderr.write", "call", ""), ""},
	{HOST("1", "name", "inspect.stack", "call", ""), "l1.surroundings"},
	{HOST("1", "name", "inspect.signature", "call", ""), ""},
	{HOST("1", "name", "time.time", "call", ""), "l1.chance"},
	{HOST("1", "name", "time.time", "import", ""), ""},
	{HOST("1", "name", "time", "load", ""), "l1.chance"},
	{HOST("1", "name", "time.sleep", "call", ""), ""},
	{HOST("1", "name", "functools.time_of", "call", ""), ""},
	{HOST("1", "name", "datetime.datetime.now", "call", ""), "l1.chance"},
	{HOST("1", "name", "logging.makeLogRecord", "call", ""), "l1.chance"},
	{HOST("1", "name", "logging.getLogger", "call", ""), ""},
	{HOST("1", "attribute", "makeRecord", "call", "unknown"), "l1.chance"},
	{HOST("1", "name", "numpy.datetime64", "call", ""), "l1.chance"},
	{HOST("1", "name", "numpy.prod", "call", ""), ""},
	{HOST("1", "name", "torch.Generator", "call", ""), "l1.chance"},
	{HOST("1", "name", "torch.cuda.initial_seed", "call", ""), "l1.chance"},
	{HOST("1", "name", "gc.get_count", "call", ""), "l1.surroundings"},
	{HOST("1", "name", "dataclasses.dataclass", "decorator", ""), ""},
	{HOST("1", "name", "random.random", "call", ""), "l1.chance"},
	{HOST("1", "name", "threading.active_count", "call", ""), "l1.chance"},
	{HOST("1", "name", "threading.Lock", "call", ""), ""},
	{HOST("1", "name", "logging.time.time", "call", ""), "l1.chance"},
	{HOST("1", "name", "sys.maxsize", "load", ""), ""},
	{HOST("1", "name", "os.environ", "import", ""), "l1.environment"},
	{HOST("1", "name", "os._exit", "call", ""), "l1.system"},
	{HOST("1", "name", "osmium.environ", "call", ""), "l1.surroundings"},
	{HOST("1", "name", "logging.getLogger", "call", ""), ""},
	{HOST("1", "name", "logging.FileHandler", "call", ""), ""},
	{HOST("1", "name", "logging.sys.modules", "load", ""), "l1.surroundings"},
	{HOST("1", "name", "logging", "load", ""), ""},
	{HOST("1", "import", "osmium", "import", ""), ""}, /* begins like os, is not os */
	{HOST("1", "import", ".other", "relative", ""), ""},
	{HOST("1", "name", "torch", "import", ""), ""},
	{HOST("1", "name", "torch", "alias", ""), ""},
	{HOST("1", "name", "torch", "load", ""), "l1.dynamic_attribute"},
	{HOST("1", "name", "torch.sum", "load", ""), "l1.torch_compute"},
	{HOST("1", "name", "torch.sum", "import", ""), "l1.torch_compute"},
	{HOST("1", "name", "torch.sum", "has", ""), ""},
	{HOST("1", "name", "torch.nn.functional.silu", "call", ""), "l1.torch_compute"},
	{HOST("1", "name", "torch.Tensor", "load", ""), ""},
	{HOST("1", "name", "torch.Tensor.sum", "load", ""), "l1.torch_compute"},
	{HOST("1", "name", "torch.empty_like", "call", ""), ""},
	{HOST("1", "name", "torch.float32.itemsize", "load", ""), ""},
	{HOST("1", "name", "torch.__version__.split", "call", ""), ""},
	{HOST("1", "name", "torch.float32.__class__", "load", ""), "l1.torch_compute"},
	{HOST("1", "name", "torch._C._cuda_getDeviceCount", "call", ""), "l1.foreign_code"},
	{HOST("1", "name", "torch.cuda.Stream", "call", ""), "l1.stream"},
	{HOST("1", "name", "torch.cuda.device", "call", ""), ""},
	{HOST("1", "name", "torch.compile", "decorator", ""), "l1.torch_compile"},
	{HOST("1", "name", "torch.compiler.disable", "decorator", ""), ""},
	{HOST("1", "name", "torch._dynamo.disable", "decorator", ""), ""},
	{HOST("1", "name", "torch._dynamo.optimize", "decorator", ""), "l1.torch_compile"},
	{HOST("1", "name", "torch.jit.script", "decorator", ""), "l1.torch_compile"},
	{HOST("1", "name", "torch.library.custom_op", "call", ""), ""},
	{HOST("1", "name", "torch.library.Library", "call", ""), ""},
	{HOST("1", "name", "torch.nn.Parameter", "call", ""), ""},
	{HOST("1", "name", "torch._prims_common.elementwise_dtypes", "import", ""), ""},
	{HOST("1", "name", "torch._prims_common.sys", "load", ""), "l1.torch_compute"},
	{HOST("1", "import", "torch._prims_common", "import", ""), ""},
	{HOST("1", "name", "torch._prims_common", "import", ""), ""},
	{HOST("1", "name", "torch._prims_common", "load", ""), "l1.torch_compute"},
	{HOST("1", "name", "torch._prims_common.is_integer_dtype", "call", ""), ""},
	{HOST("1", "import", "triton.language.standard", "import", ""), ""},
	{HOST("1", "name", "triton.language.standard", "import", ""), ""},
	{HOST("1", "name", "triton.language.standard", "load", ""), ""},
	{HOST("1", "name", "triton.language.standard.zeros_like", "import", ""), ""},
	{FACT("1", "name", "triton.language.standard.zeros_like", "call", "", "kernel", "kernel"),
	 ""},
	{HOST("1", "name", "triton.language.standard.core", "load", ""), ""},
	{HOST("1", "name", "triton.language.standard.math", "load", ""), ""},
	{FACT("1", "name", "triton.language.standard.core", "load", "", "kernel", "kernel"), ""},
	{HOST("1", "name", "torch.amp.custom_fwd", "decorator", ""), ""},
	{HOST("1", "name", "torch.amp.autocast", "call", ""), "l1.torch_compute"},
	{HOST("1", "name", "torch.amp", "load", ""), "l1.torch_compute"},
	{HOST("1", "name", "torch.ops.aten._to_copy", "call", ""), ""},
	{HOST("1", "name", "torch.ops.aten._to_copy.default", "call", ""), ""},
	{HOST("1", "name", "torch.ops.aten._to_copy.default.decompose", "call", ""),
	 "l1.torch_compute"},
	{HOST("1", "name", "torch.ops.aten.sum", "call", ""), "l1.torch_compute"},
	{HOST("1", "name", "torch.ops.aten", "load", ""), "l1.dynamic_attribute"},
	{HOST("1", "name", "torch._to_copy", "call", ""), "l1.torch_compute"},
	{HOST("1", "name", "torch.set_num_threads", "call", ""), "l1.global_setting"},
	{HOST("1", "name", "torch.backends.cuda.matmul.allow_tf32", "store", ""), "l1.patch"},
	{HOST("1", "name", "torch.add", "store", ""), "l1.patch"},
	{HOST("1", "name", "triton.testing.do_bench", "store", ""), "l1.patch"},
	{HOST("1", "name", "sys.modules", "store_item", ""), "l1.patch"},
	{HOST("1", "builtin", "print", "store", ""), "l1.patch"},
	{HOST("1", "builtin", "print", "call", ""), ""},
	{HOST("1", "builtin", "exec", "alias", ""), "l1.dynamic_code"},
	{HOST("1", "builtin", "vars", "call", ""), "l1.introspection"},
	{HOST("1", "builtin", "open", "call", ""), "l1.io"},
	{HOST("1", "builtin", "getattr", "call", ""), ""},
	{HOST("1", "builtin", "getattr", "load", ""), ""},
	{HOST("1", "builtin", "id", "call", ""), ""},
	{HOST("1", "builtin", "SystemExit", "call", ""), ""},
	{HOST("1", "dynamic", "getattr", "call", "unknown"), "l1.dynamic_attribute"},
	{HOST("1", "dynamic", "getattr", "call", "module:torch"), "l1.computed_name"},
	{HOST("1", "dynamic", "getattr", "call", "module:torch.nn.functional"), "l1.computed_name"},
	{HOST("1", "dynamic", "getattr", "call", "module:torchlike"), "l1.dynamic_attribute"},
	{HOST("1", "dynamic", "getattr", "call", "param:self"), "l1.computed_name"},
	{HOST("1", "dynamic", "getattr", "call", "param:dim"), "l1.dynamic_attribute"},
	{HOST("1", "dynamic", "vars", "call", "type"), "l1.computed_name"},
	{HOST("1", "dynamic", "hasattr", "call", "tensor"), "l1.dynamic_attribute"},
	{HOST("1", "dynamic", "importlib.import_module", "call", "unknown"), "l1.computed_name"},
	{HOST("1", "dynamic", "getattr", "call", "module:triton.language"), "l1.dynamic_attribute"},
	{HOST("1", "dynamic", "setattr", "call", "module:triton.language"), "l1.dynamic_attribute"},
	{HOST("1", "dynamic", "functools.wraps", "call", "unknown"), "l1.dynamic_attribute"},
	{HOST("1", "name", "functools.wraps", "load", ""), ""},
	{HOST("1", "name", "functools.wraps", "call", ""), ""},
	{HOST("1", "dunder", "__name__", "load", ""), ""},
	{HOST("1", "dunder", "__builtins__", "load", ""), "l1.surroundings"},
	{HOST("1", "dunder", "__builtins__", "store", ""), "l1.dunder"},
	{HOST("1", "dunder", "__file__", "load", ""), "l1.surroundings"},
	{HOST("1", "dunder", "__file__", "alias", ""), "l1.surroundings"},
	{HOST("1", "dunder", "__file__", "store", ""), ""},
	{HOST("1", "attribute", "__init__", "call", "unknown"), ""},
	{HOST("1", "attribute", "__dict__", "load", "self"), "l1.dunder"},
	{HOST("1", "attribute", "__class__", "load", "unknown"), ""},
	{HOST("1", "attribute", "__class__", "store", "unknown"), ""},
	{HOST("1", "attribute", "gi_frame", "load", "unknown"), "l1.surroundings"},
	{HOST("1", "attribute", "gi_code", "load", "unknown"), "l1.introspection"},
	{HOST("1", "attribute", "__dict__", "load", "tensor"), "l1.computed_name"},
	{HOST("1", "attribute", "__dict__", "load", "type"), "l1.computed_name"},
	{HOST("1", "attribute", "data_ptr", "call", "unknown"), "l1.pointer"},
	{HOST("1", "attribute", "tolist", "call", "tensor"), "l1.host_data"},
	{HOST("1", "attribute", "item", "call", "unknown"), "l1.host_data"},
	{HOST("1", "attribute", "matmul", "call", "unknown"), "l1.torch_compute"},
	{HOST("1", "attribute", "matmul", "load", "unknown"), "l1.torch_compute"},
	{HOST("1", "attribute", "matmul", "call", "self"), ""},
	{HOST("1", "attribute", "max", "load", "info"), ""},
	{HOST("1", "attribute", "add", "call", "literal"), ""},
	{HOST("1", "attribute", "add", "call", "unknown"), "l1.torch_compute"},
	{HOST("1", "attribute", "sort", "call", "unknown"), ""},
	{HOST("1", "attribute", "sort", "call", "tensor"), "l1.torch_compute"},
	{HOST("1", "attribute", "contiguous", "call", "tensor"), ""},
	{HOST("1", "attribute", "copy_", "call", "tensor"), ""},
	{HOST("1", "attribute", "to", "store", "unknown"), ""},
	{HOST("1", "attribute", "anything", "store", "tensor"), "l1.patch"},
	{HOST("1", "attribute", "size", "store", "self"), ""},
	{HOST("1", "operator", "@", "", "unknown"), "l1.torch_compute"},
	{HOST("1", "operator", "+", "", "tensor"), "l1.torch_compute"},
	{HOST("1", "operator", "+", "", "param:self"), "l1.torch_compute"},
	{HOST("1", "operator", "+", "", "param:dim"), ""},
	{HOST("1", "operator", "+", "", "param:stranger"), ""},
	{FACT("1", "operator", "+", "", "param:self", "host", "helper"), ""},
	{HOST("1", "class", "A", "", "torch.autograd.Function"), ""},
	{HOST("1", "class", "A", "", "B,torch.Tensor"), "l1.hook"},
	{HOST("1", "class", "A", "keyword", "metaclass"), ""},
	{HOST("1", "def", "__torch_function__", "method", ""), "l1.hook"},
	{HOST("1", "def", "__call__", "method", ""), ""},
	{HOST("1", "jit_attr", "fn", "load", "kernel"), "l1.jit_internals"},
	{HOST("1", "jit_attr", "run", "store", "kernel"), "l1.patch"},
	{HOST("1", "jit_call", "kernel", "call", ""), ""},
	{HOST("1", "name", "os.environ.get", "call", ""), "l1.environment"},
	{HOST("1", "name", "operator.attrgetter", "call", ""), "l1.dynamic_attribute"},
	{HOST("1", "name", "operator.mul", "load", ""), ""},
	{HOST("1", "name", "contextlib.sys.modules", "load", ""), "l1.surroundings"},
	{HOST("1", "name", "functools.lru_cache", "call", ""), ""},
	{HOST("1", "name", "typing.get_type_hints", "call", ""), ""},
	{HOST("1", "name", "math.sqrt", "call", ""), ""},
	{HOST("1", "name", "triton.language.float32", "load", ""), ""},
	{HOST("1", "name", "triton.language.core.builtins", "load", ""), "l1.triton_internals"},
	{HOST("1", "name", "triton.runtime.driver.active.get_current_target", "call", ""), ""},
	{HOST("1", "name", "triton.compiler.compile", "call", ""), "l1.triton_internals"},
	{HOST("1", "name", "triton.experimental.gluon.jit", "decorator", ""),
	 "l1.triton_internals"},
	{HOST("1", "name", "triton.language.standard._log2", "import", ""), ""},
	{HOST("1", "name", "triton.language.standard.core.builtins", "load", ""), ""},
	{HOST("1", "name", "triton.testing.do_bench", "call", ""), ""},
	{HOST("1", "name", "triton.language.random.core.builtins.eval", "call", ""), ""},
	{HOST("1", "name", "triton.language.extra.pkgutil.sys", "load", ""), ""},
	{HOST("1", "name", "triton.language.extra.libdevice.core", "load", ""), ""},
	{HOST("1", "name", "triton.language.extra", "load", ""), ""},
	{HOST("1", "name", "triton.language", "alias", ""), ""},
	{HOST("1", "name", "triton.language.math", "import", ""), ""},
	{HOST("1", "name", "triton.language.math.exp2", "load", ""), ""},
	{HOST("1", "name", "triton.language.PropagateNan.ALL", "load", ""), ""},
	{HOST("1", "name", "triton.__version__", "load", ""), ""},
	{HOST("1", "name", "typing.ForwardRef", "call", ""), ""},
	{HOST("1", "name", "functools.singledispatch", "decorator", ""), ""},
	{HOST("1", "attribute", "_module", "load", "unknown"), ""},
	{HOST("1", "attribute", "sys", "load", "unknown"), ""},
	{HOST("1", "dunder", "__name__", "store", ""), ""},
	{HOST("1", "dunder", "__all__", "store", ""), ""},
	{HOST("1", "builtin", "license", "call", ""), "l1.io"},
	{FACT("1", "name", "triton.language.random.core", "load", "", "kernel", "kernel"), ""},
	{HOST("1", "state", "CACHE", "", ""), ""},
	{HOST("1", "string", "looks like code", "", ""), ""},
	{HOST("1", "try", "try", "", ""), ""},
	{FACT("1", "name", "torch.sum", "load", "", "annotation", "toy"), ""},
	{FACT("1", "name", "torch.float32", "load", "", "kernel", "kernel"), ""},
	{FACT("1", "name", "triton.language.load", "call", "", "kernel", "kernel"), ""},
	{FACT("1", "name", "triton.language.extra.cuda.libdevice.tanh", "call", "", "kernel",
	      "kernel"),
	 ""},
	{FACT("1", "name", "numpy.add", "call", "", "kernel", "kernel"), ""},
	{FACT("1", "attribute", "sum", "call", "unknown", "kernel", "kernel"), ""},
	{FACT("1", "attribute", "handle", "load", "unknown", "kernel", "kernel"), ""},
	{FACT("1", "kernel_syntax", "try", "", "", "kernel", "kernel"), ""},
	{FACT("1", "kernel_call", "helper", "call", "", "kernel", "kernel"), ""},
};

static void test_every_rule_catches_its_cheat_and_spares_its_neighbour(void **state)
{
	for (size_t i = 0; i < KGB_ARRAY_LEN(fact_cases); i++)
		expect(*state, GOOD, fact_cases[i].fact, fact_cases[i].code, NULL);
}

#define AT_IMPORT(name, into)                                                                    \
	"{\"kind\":\"name\",\"name\":\"" name "\",\"line\":1,\"ctx\":\"host\",\"use\":\"call\"," \
	"\"on\":\"\",\"owner\":\"\",\"fn\":\"\",\"into\":[" into "]}"

static void test_some_rules_are_only_for_what_a_call_reaches(void **state)
{
	const char *in_dead = FACT("1", "name", "time.time", "call", "", "host", "dead");
	struct kgb_finding finding;

	expect(*state, GOOD, FACT("1", "name", "time.time", "call", "", "host", "helper"),
	       "l1.chance", NULL);
	/* at import: only where it makes what a call reads */
	expect(*state, GOOD, AT_IMPORT("time.time", ""), "", NULL);
	expect(*state, GOOD, AT_IMPORT("time.time", "\"dead\",\"nobody\",1"), "", NULL);
	expect(*state, GOOD, AT_IMPORT("time.time", "\"dead\",\"TABLE\""), "l1.chance", NULL);
	expect(*state, GOOD, AT_IMPORT("torch.sum", ""), "l1.torch_compute", NULL);
	/* a function that runs at import may have made a value that it mentions */
	assert_int_equal(scan_parts(*state, GOOD, "\"dead\"", KERNELS, in_dead, &finding), 0);
	const char *maker = TOY "," OUT "," B("helper", "function", "", "", "\"TABLE\"") "," B(
		"TABLE", "value", "", "",
		"\"kernel\"") "," B("kernel", "function", "", "\"jit\":true,",
				    "") "," B("dead", "function", "", "", "\"TABLE\"");
	assert_int_equal(scan_parts(*state, maker, "\"dead\"", KERNELS, in_dead, &finding), 1);
	assert_int_equal(finding.code, KGB_CODE_L1_CHANCE);
	assert_int_equal(scan_parts(*state, maker, "", KERNELS, in_dead, &finding), 0);
}

static void test_the_first_refusal_decides_behind_the_contract(void **state)
{
	expect(*state, GOOD,
	       HOST("9", "name", "torch.sum", "call", "") "," HOST("5", "builtin", "exec", "call",
								   "") "," HOST("5", "builtin",
										"open", "call", ""),
	       "l1.dynamic_code", "'exec'");
	expect(*state, TOY "," REST, HOST("9", "name", "torch.sum", "call", ""),
	       "contract.missing_entry", "toy_out");
}

static void test_what_decides_nothing_is_noted_beside_a_refusal_too(void **state)
{
	KGB_AUTO(buf) struct kgb_buf facts = KGB_BUF_INIT(0);
	struct kgb_finding finding;

	kgb_buf_addf(&facts, "%s", HOST("3", "builtin", "open", "call", ""));
	for (int i = 0; i < KGB_NOTES_MAX + 4; i++)
		kgb_buf_addf(&facts, ",%s", HOST("4", "name", "torch.add", "store", ""));
	assert_int_equal(scan_parts(*state, GOOD, "", KERNELS, facts.ptr, &finding), 1);
	assert_int_equal(finding.code, KGB_CODE_L1_IO);
	assert_int_equal(notes.n, KGB_NOTES_MAX);
	assert_int_equal(notes.n_seen, KGB_NOTES_MAX + 4);
	assert_int_equal(notes.items[0].code, KGB_CODE_L1_PATCH);
	assert_int_equal(notes.items[0].line, 4);
	assert_int_equal(scan_parts(*state, GOOD, "", KERNELS, "", &finding), 0);
	assert_int_equal(notes.n_seen, 0);
}

static void test_code_that_cannot_run_is_not_judged(void **state)
{
	struct kgb_finding finding;
	const char *fact = FACT("1", "name", "torch.sum", "call", "", "host", "deader");

	expect(*state, GOOD, fact, "", NULL);
	assert_int_equal(scan_parts(*state, GOOD, "\"dead\"", KERNELS, fact, &finding), 1);
	assert_int_equal(finding.code, KGB_CODE_L1_TORCH_COMPUTE);
	/* through a table that an entry uses, and at import */
	expect(*state,
	       TOY "," OUT "," B("helper", "function", "", "", "\"TABLE\"") "," B(
		       "TABLE", "value", "", "",
		       "\"kernel\",\"deader\"") "," B("kernel", "function", "", "\"jit\":true,",
						      "") "," B("deader", "function", "", "", ""),
	       fact, "l1.torch_compute", NULL);
	expect(*state, GOOD, FACT("1", "name", "torch.sum", "call", "", "host", ""),
	       "l1.torch_compute", NULL);
	/* an owner that is no binding is nothing we know to be dead */
	expect(*state, GOOD, FACT("1", "name", "torch.sum", "call", "", "host", "nobody"),
	       "l1.torch_compute", NULL);
}

static const struct {
	const char *params;
	const char *code;
	const char *part;
} signature_cases[] = {
	{TOY_PARAMS, "", NULL},
	{P("x", "positional_only", "false") "," P("d", "positional",
						  "false") "," P("dtype", "positional", "true"),
	 "", NULL},
	{P("args", "var_positional", "true") "," P("kwargs", "var_keyword", "true"), "", NULL},
	{TOY_PARAMS "," P("debug", "keyword", "true"), "", NULL},
	{P("self", "positional", "false") "," P("dtype", "keyword", "true"), "contract.signature",
	 "takes 1 positional parameters but is called with 2"},
	{P("dim", "positional", "false") "," P("self", "positional",
					       "false") "," P("dtype", "keyword", "true"),
	 "contract.signature", "parameter 1 is 'dim' but must be 'self'"},
	{P("self", "positional", "false") "," P("dim", "positional", "false"), "contract.signature",
	 "does not take 'dtype' as a keyword"},
	{P("self", "positional", "false") "," P("dim", "positional",
						"false") "," P("dtype", "positional_only", "true"),
	 "contract.signature", "does not take 'dtype' as a keyword"},
	{TOY_PARAMS "," P("extra", "keyword", "false"), "contract.signature",
	 "parameter 'extra' has no default"},
	{P("self", "positional", "false") "," P("dim", "positional", "false") "," P(
		 "block", "positional", "false") "," P("dtype", "keyword", "true"),
	 "contract.signature", "parameter 'block' has no default"},
};

static void test_signatures_are_checked_as_the_call_will_bind_them(void **state)
{
	for (size_t i = 0; i < KGB_ARRAY_LEN(signature_cases); i++) {
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		kgb_buf_addf(
			&text,
			"{\"name\":\"toy\",\"line\":7,\"kind\":\"function\",\"params\":[%s],\"refs\":[\"kernel\"]},%s",
			signature_cases[i].params, OUT "," REST);
		expect(*state, text.ptr, "", signature_cases[i].code, signature_cases[i].part);
	}
}

static const struct {
	const char *toy;
	const char *code;
} entry_cases[] = {
	{B("toy", "class", "", "", "\"kernel\""), "contract.entry_kind"},
	{B("toy", "import", "", "", "\"kernel\""), "contract.entry_kind"},
	{B("toy", "function", TOY_PARAMS, "\"jit\":true,", "\"kernel\""), "contract.entry_kind"},
	{B("toy", "function", TOY_PARAMS, "\"is_async\":true,", "\"kernel\""),
	 "contract.entry_kind"},
	{B("toy", "function", TOY_PARAMS, "\"is_generator\":true,", "\"kernel\""),
	 "contract.entry_kind"},
	{B("toy", "function", "", "", "\"kernel\""), "contract.signature"},
	{B("toy", "function", "", "\"decorators\":[\"?\"],", "\"kernel\""), ""},
	{B("toy", "function", "", "\"decorators\":[\"torch.no_grad\"],", "\"kernel\""),
	 "contract.signature"},
	{B("toy", "function", "", "\"settled\":false,", "\"kernel\""), ""},
	{B("toy", "function", TOY_PARAMS, "\"settled\":false,\"jit\":true,", "\"kernel\""),
	 "contract.entry_kind"},
	{"{\"name\":\"toy\",\"kind\":\"value\",\"params\":null,\"refs\":[\"kernel\"]}", ""},
	{B("toy", "function", TOY_PARAMS, "", ""), "contract.kernel_unreachable"},
	{B("toy", "function", TOY_PARAMS, "", "\"dead\""), "contract.kernel_unreachable"},
};

static void test_an_entry_must_be_a_function_that_reaches_a_kernel(void **state)
{
	for (size_t i = 0; i < KGB_ARRAY_LEN(entry_cases); i++) {
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		kgb_buf_addf(&text, "%s,%s", entry_cases[i].toy,
			     B("toy_out", "function", TOY_PARAMS "," P("out", "keyword", "false"),
			       "", "\"helper\"") "," REST);
		expect(*state, text.ptr, "", entry_cases[i].code, NULL);
	}
}

static void test_a_file_without_kernels_is_refused_unless_the_operator_needs_none(void **state)
{
	struct kgb_finding finding;
	struct kgb_err err = KGB_ERR_INIT;
	const char *bindings = TOY "," OUT;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);

	assert_int_equal(scan_parts(*state, bindings, "", "", "", &finding), 1);
	assert_int_equal(finding.code, KGB_CODE_CONTRACT_NO_KERNEL);
	kgb_buf_addf(
		&text,
		"{\"schema\":\"kgb.ast_facts/1\",\"error\":null,\"bindings\":[%s],\"module_refs\":[],\"kernels\":[],"
		"\"facts\":[]}",
		bindings);
	assert_int_equal(scan_text(*state, KGB_TRITON_NONE, text.ptr, &finding, &err), 0);
}

static void test_a_jit_function_inside_an_entry_counts_as_reached(void **state)
{
	struct kgb_finding finding;
	assert_int_equal(scan_parts(*state, B("toy", "function", TOY_PARAMS, "", "") "," OUT, "",
				    "{\"name\":\"toy.kernel\",\"line\":3,\"owner\":\"toy\"}", "",
				    &finding),
			 0);
}

static void test_what_the_parser_could_not_read_is_a_broken_contract(void **state)
{
	static const char *const cases[][2] = {{"syntax", "contract.syntax"},
					       {"encoding", "contract.encoding"},
					       {"limit", "contract.too_complex"}};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_finding finding;
		struct kgb_err err = KGB_ERR_INIT;
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		kgb_buf_addf(
			&text,
			"{\"schema\":\"kgb.ast_facts/1\",\"error\":{\"kind\":\"%s\",\"line\":4,\"message\":\"a\\u001bb\"}}",
			cases[i][0]);
		assert_int_equal(scan_text(*state, KGB_TRITON_REQUIRED, text.ptr, &finding, &err),
				 1);
		assert_string_equal(kgb_code_name(finding.code), cases[i][1]);
		assert_int_equal(finding.line, 4);
		assert_contains(finding.message, "a\\x1bb");
	}
}

static void test_malformed_facts_are_our_trouble_and_never_clean(void **state)
{
#define DOC(error, bindings, refs, kernels, facts)                                                 \
	"{\"schema\":\"kgb.ast_facts/1\"," error "\"bindings\":" bindings ",\"module_refs\":" refs \
	",\"kernels\":" kernels ",\"facts\":" facts "}"
#define NO_ERROR "\"error\":null,"
	static const char *const cases[] = {
		"[]",
		"{}",
		"{\"schema\":\"kgb.ast_facts/2\",\"error\":null,\"bindings\":[" GOOD
		"],\"module_refs\":[],\"kernels\":[" KERNELS "],\"facts\":[]}",
		DOC("", "[]", "[]", "[]", "[]"),
		DOC("\"error\":{\"kind\":\"new\"},", "[]", "[]", "[]", "[]"),
		DOC(NO_ERROR, "{}", "[]", "[]", "[]"),
		DOC(NO_ERROR, "[{}]", "[]", "[]", "[]"),
		DOC(NO_ERROR, "[" B("toy", "function", "", "", "1") "]", "[]", "[]", "[]"),
		DOC(NO_ERROR, "[" GOOD "]", "[2]", "[]", "[]"),
		DOC(NO_ERROR, "[" GOOD "]", "null", "[]", "[]"),
		DOC(NO_ERROR, "[" GOOD "]", "[]", "[{}]", "[]"),
		DOC(NO_ERROR, "[" GOOD "]", "[]", "3", "[]"),
		DOC(NO_ERROR, "[" GOOD "]", "[]", "[]", "\"x\""),
		DOC(NO_ERROR, "[" GOOD "]", "[]", "[]", "[{}]"),
		DOC(NO_ERROR, "[" GOOD "]", "[]", "[]",
		    "[" FACT("1", "novel", "x", "", "", "host", "") "]"),
		DOC(NO_ERROR, "[" GOOD "]", "[]", "[]",
		    "[" FACT("1", "name", "x", "", "", "elsewhere", "") "]"),
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_finding finding;
		struct kgb_err err = KGB_ERR_INIT;
		if (scan_text(*state, KGB_TRITON_REQUIRED, cases[i], &finding, &err) != -1)
			fail_msg("case %zu was taken", i);
		assert_contains(err.msg, "facts about the kernel");
	}
}

static void test_names_from_the_candidate_are_printable_in_messages(void **state)
{
	struct kgb_finding finding;
	assert_int_equal(scan_parts(*state, GOOD, "", KERNELS,
				    HOST("1", "name", "torch.\\u001b[2J\\n", "call", ""), &finding),
			 1);
	assert_null(strchr(finding.message, '\x1b'));
	assert_null(strchr(finding.message, '\n'));
	assert_contains(finding.message, "torch.\\x1b[2J\\n");
}

static void test_a_refused_idiom_is_told_what_to_write(void **state)
{
	static const struct {
		const char *fact, *code, *remedy;
	} idioms[] = {
		{HOST("1", "name", "numpy.matmul", "call", ""), "l1.library_compute",
		 "math.prod(x.shape)"},
		{HOST("1", "name", "torch.nn.functional.silu", "alias", ""), "l1.torch_compute",
		 "Remove references that nothing uses"},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(idioms); i++) {
		struct kgb_finding finding;
		assert_int_equal(scan_parts(*state, GOOD, "", KERNELS, idioms[i].fact, &finding),
				 1);
		assert_string_equal(kgb_code_name(finding.code), idioms[i].code);
		assert_int_equal(kgb_code_status(finding.code), KGB_STATUS_REFUSED);
		assert_contains(finding.hint, idioms[i].remedy);
	}
}

static void test_an_exception_that_explodes_is_none(KGB_UNUSED void **state)
{
	static const char policy[] =
		"schema: kgb.l1/2\nlimits: {match: 1000}\nrules:\n"
		"  - {code: l1.io, kind: [name], match: '^a', allow_match: '^(a+)+$', message: m, hint: h,\n"
		"     reason: r}\n";
	struct kgb_l1 *l1 = NULL;
	struct kgb_finding finding;
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(load_text(policy, &l1, &err), err);
	expect(l1, GOOD, HOST("1", "name", "aaa", "call", ""), "", NULL);
	assert_int_equal(
		scan_parts(l1, GOOD, "", KERNELS,
			   HOST("1", "name", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!",
				"call", ""),
			   &finding),
		1);
	kgb_l1_free(l1);
}

static void test_what_is_allowed_hides_nothing_behind_it(KGB_UNUSED void **state)
{
	static const char policy[] =
		"schema: kgb.l1/2\nlimits: {match: 1000}\nrules:\n"
		"  - {code: ok.x, kind: [name], match: '^a', reason: r}\n"
		"  - {code: l1.io, kind: [name], match: '[bc]$', message: m, hint: h, reason: r}\n";
	struct kgb_l1 *l1 = NULL;
	struct kgb_finding finding;
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(load_text(policy, &l1, &err), err);
	assert_int_equal(
		scan_parts(l1, GOOD, "", KERNELS, HOST("1", "name", "ab", "call", ""), &finding),
		0);
	assert_int_equal(scan_parts(l1, GOOD, "", KERNELS,
				    HOST("1", "name", "ab", "call", "") "," HOST("2", "name", "c",
										 "call", ""),
				    &finding),
			 1);
	assert_int_equal(finding.code, KGB_CODE_L1_IO);
	kgb_l1_free(l1);
}

static void test_a_pattern_that_explodes_counts_as_a_hit(KGB_UNUSED void **state)
{
	static const char policy[] =
		"schema: kgb.l1/2\nlimits: {match: 1000}\nrules:\n"
		"  - {code: ok.x, kind: [name], match: '^(a+)+$', reason: r}\n"
		"  - {code: l1.io, kind: [name], match: '^(a|aa)+$', message: m, hint: h, reason: r}\n";
	struct kgb_l1 *l1 = NULL;
	struct kgb_finding finding;
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(load_text(policy, &l1, &err), err);
	assert_int_equal(
		scan_parts(l1, GOOD, "", KERNELS,
			   HOST("1", "name", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!",
				"call", ""),
			   &finding),
		1);
	assert_int_equal(finding.code, KGB_CODE_L1_IO);
	assert_int_equal(
		scan_parts(l1, GOOD, "", KERNELS, HOST("1", "name", "b!", "call", ""), &finding),
		0);
	kgb_l1_free(l1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes_are_checked_before_any_parser_sees_them),
		cmocka_unit_test(test_a_file_of_exactly_the_cap_is_taken_and_one_byte_more_is_not),
		cmocka_unit_test(test_a_policy_with_a_mistake_names_it),
		cmocka_unit_test_setup_teardown(
			test_every_rule_catches_its_cheat_and_spares_its_neighbour, load_policy,
			free_policy),
		cmocka_unit_test_setup_teardown(test_the_first_refusal_decides_behind_the_contract,
						load_policy, free_policy),
		cmocka_unit_test_setup_teardown(
			test_what_decides_nothing_is_noted_beside_a_refusal_too, load_policy,
			free_policy),
		cmocka_unit_test_setup_teardown(test_some_rules_are_only_for_what_a_call_reaches,
						load_policy, free_policy),
		cmocka_unit_test_setup_teardown(test_code_that_cannot_run_is_not_judged,
						load_policy, free_policy),
		cmocka_unit_test_setup_teardown(
			test_signatures_are_checked_as_the_call_will_bind_them, load_policy,
			free_policy),
		cmocka_unit_test_setup_teardown(
			test_an_entry_must_be_a_function_that_reaches_a_kernel, load_policy,
			free_policy),
		cmocka_unit_test_setup_teardown(
			test_a_file_without_kernels_is_refused_unless_the_operator_needs_none,
			load_policy, free_policy),
		cmocka_unit_test_setup_teardown(
			test_a_jit_function_inside_an_entry_counts_as_reached, load_policy,
			free_policy),
		cmocka_unit_test_setup_teardown(
			test_what_the_parser_could_not_read_is_a_broken_contract, load_policy,
			free_policy),
		cmocka_unit_test_setup_teardown(
			test_malformed_facts_are_our_trouble_and_never_clean, load_policy,
			free_policy),
		cmocka_unit_test_setup_teardown(test_a_refused_idiom_is_told_what_to_write,
						load_policy, free_policy),
		cmocka_unit_test_setup_teardown(
			test_names_from_the_candidate_are_printable_in_messages, load_policy,
			free_policy),
		cmocka_unit_test(test_a_pattern_that_explodes_counts_as_a_hit),
		cmocka_unit_test(test_an_exception_that_explodes_is_none),
		cmocka_unit_test(test_what_is_allowed_hides_nothing_behind_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
