/* SPDX-License-Identifier: MIT */
#include "methods/prompt.h"

#include <fcntl.h>

#include "base/fs.h"
#include "base/limits.h"

struct prompt_values {
	const struct kgb_spec *spec;
	const char *interfaces;
	const char *dtypes;
	const char *tf32;
	const char *platform;
	const char *instructions;
	const char *max_verify_calls;
};

static const char *lookup_value(const char *name, const void *payload)
{
	const struct prompt_values *v = payload;
	const struct {
		const char *name;
		const char *value;
	} table[] = {
		{"operator", v->spec->name},
		{"category", v->spec->category},
		{"summary", v->spec->summary},
		{"semantics", v->spec->semantics},
		{"interfaces", v->interfaces},
		{"dtypes", v->dtypes},
		{"tf32", v->tf32},
		{"platform", v->platform},
		{"instructions", v->instructions},
		{"max_verify_calls", v->max_verify_calls},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(table); i++)
		if (kgb_str_eq(name, table[i].name))
			return table[i].value;
	return NULL;
}

/** "def add_Tensor(self, other, *, alpha=...)": names and order as the judge will call them. */
static void add_signature(const struct kgb_interface *interface, struct kgb_buf *out)
{
	kgb_buf_addf(out, "- `def %s(", interface->entry);
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
	kgb_buf_addf(out, ")` for `%s`", interface->schema);
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
	add_signature(interface, out);
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

static int read_text(const char *path, struct kgb_buf *out, struct kgb_err *err)
{
	return kgb_fs_read(AT_FDCWD, path, KGB_LIMIT_PROMPT, out, err);
}

int kgb_prompt_render(const char *data_dir, const struct kgb_method *method,
		      const struct kgb_spec *spec, const struct kgb_prompt_vars *vars,
		      struct kgb_buf *out, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf interfaces = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	KGB_AUTO(buf) struct kgb_buf dtypes = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	KGB_AUTO(buf) struct kgb_buf template = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	KGB_AUTO(buf) struct kgb_buf platform = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	KGB_AUTO(buf) struct kgb_buf own = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	KGB_AUTO(buf) struct kgb_buf instructions = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	KGB_AUTO(free) char *template_path = kgb_xasprintf("%s/methods/prompt.md", data_dir);
	KGB_AUTO(free)
	char *platform_path = kgb_xasprintf("%s/methods/platform/%s.md", data_dir, vars->platform);
	KGB_AUTO(free) char *own_path = kgb_xasprintf("%s/%s", method->dir, method->instructions);
	if (read_text(template_path, &template, err) < 0 ||
	    read_text(platform_path, &platform, err) < 0 || read_text(own_path, &own, err) < 0)
		return -1;

	bool has_float32 = false;
	for (size_t i = 0; i < spec->n_dtypes; i++) {
		kgb_buf_addf(&dtypes, "%s`%s`", i ? ", " : "", spec->dtypes[i]);
		has_float32 = has_float32 || kgb_str_eq(spec->dtypes[i], "float32");
	}
	for (size_t i = 0; i < spec->n_interfaces; i++)
		add_interface(&spec->interfaces[i], &interfaces);
	KGB_AUTO(free) char *calls = kgb_xasprintf("%lld", (long long)vars->max_verify_calls);
	struct prompt_values values = {
		.spec = spec,
		.interfaces = interfaces.ptr,
		.dtypes = dtypes.ptr,
		.tf32 = has_float32
				? " (for `tl.dot` on float32 that means `input_precision=\"ieee\"`)"
				: "",
		.platform = platform.ptr,
		.max_verify_calls = calls,
	};
	if (kgb_template_render(&instructions, own.ptr, lookup_value, &values, err) < 0)
		return kgb_ctx(err, "%s", own_path);
	values.instructions = instructions.ptr;
	if (kgb_template_render(out, template.ptr, lookup_value, &values, err) < 0)
		return kgb_ctx(err, "%s", template_path);
	return 0;
}
