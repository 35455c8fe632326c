/* SPDX-License-Identifier: MIT */
#include "methods/prompt.h"

#include <fcntl.h>

#include "base/limits.h"
#include "base/system/fs.h"
#include "verify/cases/cases.h"

struct prompt_values {
	const struct kgb_prompt_operator *op;
	const char *conventions;
	const char *platform;
	const char *instructions;
	const char *max_verify_calls;
};

static const char *where_the_work_is(const struct kgb_spec *spec)
{
	return spec->triton == KGB_TRITON_NONE
		       ? ""
		       : ", whose computation runs in your own Triton\nkernels";
}

/** The first of the rules. */
static const char *what_makes_results(const struct kgb_spec *spec)
{
	if (spec->triton == KGB_TRITON_NONE)
		return spec->launches == KGB_LAUNCHES_BY_DATA
			       ? "No kernel is needed, and the value of a tensor may be read on the "
				 "host."
			       : "No kernel is needed.";
	if (spec->triton == KGB_TRITON_MOVES)
		return "The result must come from `@triton.jit` kernels defined in your file: they "
		       "move the elements to their places.\n  PyTorch may copy a tensor as it is, but "
		       "must not put the result together, before or after a kernel.";
	if (spec->triton == KGB_TRITON_ALONE)
		return "The result must come from `@triton.jit` kernels defined in your file alone: "
		       "PyTorch's fills and copies, such as\n  `torch.zeros`, `copy_` and "
		       "`contiguous` below, must not write it, nor put it together for a kernel "
		       "that only copies it on.";
	return "The result must come from `@triton.jit` kernels defined in your file.";
}

static const char *lookup_value(const char *name, const void *payload)
{
	const struct prompt_values *v = payload;
	const struct kgb_spec *spec = v->op->spec;
	const struct {
		const char *name;
		const char *value;
	} table[] = {
		{"operator", spec->name},
		{"category", spec->category},
		{"summary", spec->summary},
		{"semantics", spec->semantics},
		{"interfaces", v->op->interfaces.ptr},
		{"dtypes", v->op->dtypes.ptr},
		{"tf32", v->op->tf32},
		{"where", where_the_work_is(spec)},
		{"results", what_makes_results(spec)},
		{"examples", v->op->examples.ptr},
		{"conventions", v->conventions},
		{"platform", v->platform},
		{"instructions", v->instructions},
		{"max_verify_calls", v->max_verify_calls},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(table); i++)
		if (kgb_str_eq(name, table[i].name))
			return table[i].value;
	return NULL;
}

/** "def add_Tensor(self, other, *, alpha)": names and order as the judge will call them. */
static void add_signature(const struct kgb_interface *interface, struct kgb_buf *out)
{
	kgb_buf_addf(out, "def %s(", interface->entry);
	bool keyword = false;
	struct kgb_param params[KGB_MAX_ARGS];
	size_t n_params = kgb_interface_called_params(interface, params);
	for (size_t i = 0; i < n_params; i++) {
		const struct kgb_param *param = &params[i];
		if (i > 0)
			kgb_buf_adds(out, ", ");
		if (param->keyword && !keyword) {
			kgb_buf_adds(out, "*, ");
			keyword = true;
		}
		kgb_buf_adds(out, param->name);
	}
	kgb_buf_addc(out, ')');
}

static bool leads_to_result(const struct kgb_interface *interface, const struct kgb_param *array)
{
	for (size_t i = 0; i < interface->n_params; i++)
		if (kgb_str_eq(interface->params[i].name, array->into))
			return interface->params[i].result >= 0;
	return false;
}

static void add_interface(const struct kgb_interface *interface, struct kgb_buf *out)
{
	kgb_buf_adds(out, "- `");
	add_signature(interface, out);
	kgb_buf_addf(out, "` for `%s`", interface->schema);
	for (size_t i = 0; i < interface->n_params; i++) {
		const struct kgb_param *param = &interface->params[i];
		if (param->kind == KGB_PARAM_OUT)
			kgb_buf_addf(out, "; writes its result into `%s`", param->name);
		else if (param->into && leads_to_result(interface, param))
			kgb_buf_addf(out, "; modifies the memory that `%s` has the addresses of",
				     param->name);
		else if (param->is_behind)
			continue;
		else if (param->result >= 0 && !param->list)
			kgb_buf_addf(out, "; modifies `%s` in place", param->name);
		else if (param->result >= 0 && !(i > 0 && kgb_str_eq(param[-1].list, param->list)))
			kgb_buf_addf(out, "; modifies the tensors in `%s` in place", param->list);
	}
	kgb_buf_adds(out, interface->n_returned > 1 ? "; returns a tuple of the results"
			  : interface->n_returned   ? "; returns the result"
						    : "; returns `None`");
	if (interface->doc)
		kgb_buf_addf(out, ". %s", interface->doc);
	kgb_buf_addc(out, '\n');
}

/** What the function is called with, for instance: the case in the middle, which is neither empty
 * nor special, and the last benchmark of those that are not small. */
static void add_examples(const struct kgb_interface *interface, const struct kgb_cases *cases,
			 struct kgb_buf *out)
{
	const struct kgb_case *small = NULL, *large = NULL;
	size_t n = 0, k = 0;
	for (size_t i = 0; i < cases->n; i++)
		n += cases->items[i].interface == interface;
	for (size_t i = 0; i < cases->n + cases->n_benchmarks; i++) {
		const struct kgb_case *c = &cases->items[i];
		if (c->interface != interface)
			continue;
		if (c->mode == KGB_MODE_STANDARD && (!small || k <= n / 2))
			small = c;
		if (c->mode == KGB_MODE_BENCHMARK &&
		    (!large || kgb_case_elements(c) > kgb_case_elements(large)))
			large = c;
		k++;
	}
	if (small) {
		kgb_buf_addf(out, "- `%s`, checked for instance with `", interface->entry);
		kgb_case_describe(small, out);
		kgb_buf_adds(out, "`\n");
	}
	if (large) {
		kgb_buf_addf(out, "- `%s`, timed for instance with `", interface->entry);
		kgb_case_describe(large, out);
		kgb_buf_adds(out, "`\n");
	}
}

static bool names_dtype(const struct kgb_spec *spec, const char *name)
{
	for (size_t i = 0; i < spec->dtypes.n; i++)
		if (kgb_str_eq(spec->dtypes.items[i], name))
			return true;
	return false;
}

/** Those of the spec, then what other tensors have in some cases. */
static void add_dtypes(const struct kgb_spec *spec, const struct kgb_cases *cases,
		       struct kgb_buf *out)
{
	bool told[KGB_N_DTYPES] = {false};
	const char *before = "";
	for (size_t i = 0; i < spec->dtypes.n; i++, before = ", ")
		kgb_buf_addf(out, "%s`%s`", before, spec->dtypes.items[i]);
	for (enum kgb_dtype d = 0; d < KGB_N_DTYPES; d++)
		told[d] = names_dtype(spec, kgb_dtype_name(d));
	before = "; of some tensors also ";
	for (size_t i = 0; i < cases->n; i++)
		for (size_t k = 0; k < cases->items[i].n_args; k++) {
			const struct kgb_arg *arg = &cases->items[i].args[k];
			if (arg->param->kind != KGB_PARAM_TENSOR || arg->is_absent ||
			    told[arg->view.dtype])
				continue;
			told[arg->view.dtype] = true;
			kgb_buf_addf(out, "%s`%s`", before, kgb_dtype_name(arg->view.dtype));
			before = ", ";
		}
}

static int read_text(const char *path, struct kgb_buf *out, struct kgb_err *err)
{
	return kgb_fs_read(AT_FDCWD, path, KGB_LIMIT_PROMPT, out, err);
}

int kgb_prompt_platforms(const char *data_dir, struct kgb_strv *out, struct kgb_err *err)
{
	KGB_AUTO(free) char *path = kgb_path_join(data_dir, "methods/data/platform");
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;
	if (kgb_fs_list(path, &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names.n; i++)
		if (kgb_str_ends(names.items[i], ".md"))
			kgb_strv_addf(out, "%.*s", (int)(strlen(names.items[i]) - strlen(".md")),
				      names.items[i]);
	return 0;
}

int kgb_prompt_operator_init(struct kgb_prompt_operator *op, const struct kgb_spec *spec,
			     struct kgb_err *err)
{
	struct kgb_prompt_operator made = {
		.spec = spec,
		.interfaces = KGB_BUF_INIT(KGB_LIMIT_PROMPT),
		.dtypes = KGB_BUF_INIT(KGB_LIMIT_PROMPT),
		.tf32 = "",
		.examples = KGB_BUF_INIT(KGB_LIMIT_PROMPT),
	};
	struct kgb_cases cases;
	if (kgb_cases_expand(spec, &cases, err) < 0)
		return -1;
	for (size_t i = 0; i < spec->n_interfaces; i++) {
		add_interface(&spec->interfaces[i], &made.interfaces);
		add_examples(&spec->interfaces[i], &cases, &made.examples);
	}
	add_dtypes(spec, &cases, &made.dtypes);
	kgb_cases_release(&cases);
	if (names_dtype(spec, "float32"))
		made.tf32 = " (for `tl.dot` on float32 that means `input_precision=\"ieee\"`)";
	*op = made;
	return 0;
}

void kgb_prompt_operator_release(struct kgb_prompt_operator *op)
{
	kgb_buf_release(&op->interfaces);
	kgb_buf_release(&op->dtypes);
	kgb_buf_release(&op->examples);
}

int kgb_prompt_operator_render(const char *data_dir, const struct kgb_method *method,
			       const struct kgb_prompt_operator *op,
			       const struct kgb_prompt_vars *vars, struct kgb_buf *out,
			       struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf conventions = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	KGB_AUTO(buf) struct kgb_buf template = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	KGB_AUTO(buf) struct kgb_buf platform = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	KGB_AUTO(buf) struct kgb_buf own = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	KGB_AUTO(buf) struct kgb_buf instructions = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	KGB_AUTO(free) char *template_path = kgb_xasprintf("%s/methods/data/prompt.md", data_dir);
	KGB_AUTO(free)
	char *platform_path =
		kgb_xasprintf("%s/methods/data/platform/%s.md", data_dir, vars->platform);
	KGB_AUTO(free)
	char *source_path =
		kgb_xasprintf("%s/methods/data/source/%s.md", data_dir, op->spec->source);
	KGB_AUTO(free) char *own_path = kgb_xasprintf("%s/%s", method->dir, method->instructions);
	if (read_text(template_path, &template, err) < 0 ||
	    read_text(source_path, &conventions, err) < 0 ||
	    read_text(platform_path, &platform, err) < 0 || read_text(own_path, &own, err) < 0)
		return -1;

	KGB_AUTO(free) char *calls = kgb_xasprintf("%lld", (long long)vars->max_verify_calls);
	struct prompt_values values = {
		.op = op,
		.conventions = conventions.ptr,
		.platform = platform.ptr,
		.max_verify_calls = calls,
	};
	if (kgb_template_render(&instructions, own.ptr, lookup_value, &values, err) < 0)
		return kgb_ctx(err, "%s", own_path);
	if (vars->sees_gpu && method->verify_tool) { /* the others have no tools to use it */
		KGB_AUTO(free)
		char *gpu_path = kgb_path_join(data_dir, "methods/data/shown_gpu.md");
		if (read_text(gpu_path, &own, err) < 0)
			return -1;
		kgb_buf_adds(&instructions, own.ptr);
	}
	values.instructions = instructions.ptr;
	if (kgb_template_render(out, template.ptr, lookup_value, &values, err) < 0)
		return kgb_ctx(err, "%s", template_path);
	return 0;
}

int kgb_prompt_render(const char *data_dir, const struct kgb_method *method,
		      const struct kgb_spec *spec, const struct kgb_prompt_vars *vars,
		      struct kgb_buf *out, struct kgb_err *err)
{
	struct kgb_prompt_operator op;
	if (kgb_prompt_operator_init(&op, spec, err) < 0)
		return -1;
	int rc = kgb_prompt_operator_render(data_dir, method, &op, vars, out, err);
	kgb_prompt_operator_release(&op);
	return rc;
}

struct round_values {
	const struct kgb_prompt_round *round;
	const char *number, *of;
	const char *hints;
};

static const char *lookup_round(const char *name, const void *payload)
{
	const struct round_values *v = payload;
	const struct {
		const char *name;
		const char *value;
	} table[] = {
		{"round", v->number},   {"rounds", v->of},   {"state", v->round->state},
		{"log", v->round->log}, {"hints", v->hints}, {"memory", v->round->memory},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(table); i++)
		if (kgb_str_eq(name, table[i].name))
			return table[i].value;
	return NULL;
}

int kgb_prompt_round_render(const struct kgb_method *method, const struct kgb_prompt_round *round,
			    struct kgb_buf *out, struct kgb_err *err)
{
	const struct kgb_field_map *files = &method->loop.hints;
	KGB_AUTO(buf) struct kgb_buf template = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	KGB_AUTO(buf) struct kgb_buf hints = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	KGB_AUTO(free) char *path = kgb_path_join(method->dir, method->loop.prompt);
	if (read_text(path, &template, err) < 0)
		return -1;
	for (size_t i = 0; i < files->n; i++) {
		KGB_AUTO(free) char *hints_path = kgb_path_join(method->dir, files->values[i]);
		if (kgb_str_eq(files->keys[i], round->platform) &&
		    read_text(hints_path, &hints, err) < 0)
			return -1;
	}
	while (kgb_str_ends(hints.ptr, "\n")) /* the template has its own */
		kgb_buf_truncate(&hints, hints.len - 1);
	KGB_AUTO(free) char *number = kgb_xasprintf("%lld", (long long)round->round);
	KGB_AUTO(free) char *of = kgb_xasprintf("%lld", (long long)round->rounds);
	const struct round_values values = {
		.round = round, .number = number, .of = of, .hints = hints.ptr};
	if (kgb_template_render(out, template.ptr, lookup_round, &values, err) < 0)
		return kgb_ctx(err, "%s", path);
	return 0;
}

void kgb_prompt_stub(const struct kgb_spec *spec, struct kgb_buf *out)
{
	kgb_buf_addf(out,
		     "# %s: nothing is written yet. TASK.md tells what each function must do.\n",
		     spec->name);
	kgb_buf_adds(out, "import torch\nimport triton\nimport triton.language as tl\n");
	for (size_t i = 0; i < spec->n_interfaces; i++) {
		kgb_buf_adds(out, "\n\n");
		add_signature(&spec->interfaces[i], out);
		kgb_buf_adds(out, ":\n    raise NotImplementedError\n");
	}
}
