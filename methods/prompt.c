/* SPDX-License-Identifier: MIT */
#include "methods/prompt.h"

#include <fcntl.h>
#include <stdio.h>

#include "base/limits.h"
#include "base/system/fs.h"

struct prompt_values {
	const struct kgb_prompt_operator *op;
	const struct kgb_prompt_vars *vars;
	const char *conventions, *platform, *instructions; /* rendered or to be rendered */
	char rank[32], factor[32], ulps[32], bulk[32], terms[32], calls[32], kernel[32];
	struct kgb_buf call_time, check_time;
};

/** Values that depend only on the operator. */
static const char *lookup_text(const char *name, const struct prompt_values *v)
{
	const struct kgb_prompt_operator *op = v->op;
	const struct {
		const char *name, *value;
	} table[] = {
		{"operator", op->spec->name},
		{"category", op->spec->category},
		{"summary", op->spec->summary},
		{"semantics", op->spec->semantics},
		{"interfaces", op->interfaces.ptr},
		{"checked", op->checked.ptr},
		{"timed_with", op->timed.ptr},
		{"baseline", kgb_spec_baseline(op->spec)},
		{"dtypes", op->dtypes.ptr},
		{"exact", op->exact.ptr},
		{"spacings", op->spacings.ptr},
		{"rank", v->rank},
		{"factor", v->factor},
		{"ulps", v->ulps},
		{"bulk", v->bulk},
		{"terms", v->terms},
		{"rounded", op->rounded.ptr},
		{"conventions", v->conventions},
		{"platform", v->platform},
		{"instructions", v->instructions},
		{"max_verify_calls", v->calls},
		{"call_time", v->call_time.ptr},
		{"check_time", v->check_time.ptr},
		{"max_kernel", v->kernel},
		{"versions", v->vars->versions ? v->vars->versions : ""},
		{"target", v->vars->target ? v->vars->target : ""},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(table); i++)
		if (kgb_str_eq(name, table[i].name))
			return table[i].value;
	return NULL;
}

/** Whether kernels of the platform are timed. */
static bool has_timing(const char *platform)
{
	return !kgb_str_eq(platform, "cpu");
}

/** The conditions of the templates' sections. */
static const char *lookup_fact(const char *name, const struct prompt_values *v)
{
	const struct kgb_prompt_operator *op = v->op;
	const enum kgb_triton_rule triton = op->spec->triton;
	const bool has_floats = op->has_narrow_floats || op->has_wide_floats;
	const struct {
		const char *name;
		bool value;
	} table[] = {
		{"kernels", triton != KGB_TRITON_NONE},
		{"moves", triton == KGB_TRITON_MOVES},
		{"alone", triton == KGB_TRITON_ALONE},
		{"reads_data", op->spec->launches == KGB_LAUNCHES_BY_DATA},
		{"timed", op->is_timed && has_timing(v->vars->platform)},
		{"empty", op->has_empty},
		{"single", op->has_single},
		{"sizes", op->has_sizes},
		{"views", op->has_views},
		{"outliers", op->has_outliers},
		{"specials", op->has_specials},
		{"floats", op->allows_errors && has_floats && triton != KGB_TRITON_NONE},
		{"narrow", op->has_narrow_floats},
		{"wide", op->has_wide_floats},
		{"float_types", has_floats},
		{"such", op->rounds_terms || !op->has_narrow_floats},
		{"tf32", op->adds_up && op->dtypes_seen[KGB_DTYPE_FLOAT32]},
		{"float_values", op->has_float_values},
		{"signed_zeros", op->has_signed_zeros},
		{"nan_bits", op->has_nan_bits},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(table); i++)
		if (kgb_str_eq(name, table[i].name))
			return table[i].value ? "yes" : "";
	return NULL;
}

static const char *lookup_value(const char *name, const void *payload)
{
	const char *text = lookup_text(name, payload);

	return text ? text : lookup_fact(name, payload);
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

static void fill_values(struct prompt_values *out, const struct kgb_prompt_operator *op,
			const struct kgb_prompt_vars *vars)
{
	*out = (struct prompt_values){.op = op,
				      .vars = vars,
				      .call_time = KGB_BUF_INIT(0),
				      .check_time = KGB_BUF_INIT(0)};
	if (op->rank >= 0)
		snprintf(out->rank, sizeof(out->rank), "%d dimension%s", op->rank,
			 op->rank == 1 ? "" : "s");
	snprintf(out->factor, sizeof(out->factor), "%g", op->factor);
	snprintf(out->ulps, sizeof(out->ulps), "%g", op->ulps);
	/* docs/tolerance.md: the bulk line, and eps_S. */
	snprintf(out->bulk, sizeof(out->bulk), "%g", op->ulps / 4);
	snprintf(out->terms, sizeof(out->terms), "%g", op->ulps * (op->rounds_terms ? 0.5 : 4));
	snprintf(out->calls, sizeof(out->calls), "%lld", (long long)vars->max_verify_calls);
	snprintf(out->kernel, sizeof(out->kernel), "%u KiB", KGB_LIMIT_KERNEL >> 10);
	kgb_duration_print(&out->call_time, vars->call_timeout_ms);
	kgb_duration_print(&out->check_time, vars->verify_timeout_ms);
}

/** Append a file of templates. */
static int render_file(const char *dir, const char *name, const struct prompt_values *values,
		       struct kgb_buf *out, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf template = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	KGB_AUTO(free) char *path = kgb_path_join(dir, name);

	if (read_text(path, &template, err) < 0)
		return -1;
	return kgb_template_render(out, template.ptr, lookup_value, values, err) < 0
		       ? kgb_ctx(err, "%s", path)
		       : 0;
}

int kgb_prompt_operator_render(const char *data_dir, const struct kgb_method *method,
			       const struct kgb_prompt_operator *op,
			       const struct kgb_prompt_vars *vars, struct kgb_buf *out,
			       struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf conventions = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	KGB_AUTO(buf) struct kgb_buf platform = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	KGB_AUTO(buf) struct kgb_buf instructions = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	KGB_AUTO(free) char *data = kgb_path_join(data_dir, "methods/data");
	KGB_AUTO(free) char *source_name = kgb_xasprintf("source/%s.md", op->spec->source);
	KGB_AUTO(free) char *platform_name = kgb_xasprintf("platform/%s.md", vars->platform);
	struct prompt_values values;
	int rc = 0;

	fill_values(&values, op, vars);
	if (render_file(data, source_name, &values, &conventions, err) < 0 ||
	    render_file(data, platform_name, &values, &platform, err) < 0 ||
	    render_file(method->dir, method->instructions, &values, &instructions, err) < 0)
		rc = -1;
	/* Only agents with tools can use it. */
	if (rc == 0 && vars->sees_gpu && method->verify_tool)
		rc = render_file(data, "shown_gpu.md", &values, &instructions, err);
	values.conventions = conventions.ptr;
	values.platform = platform.ptr;
	values.instructions = instructions.ptr;
	if (rc == 0)
		rc = render_file(data, "prompt.md", &values, out, err);
	kgb_buf_release(&values.call_time);
	kgb_buf_release(&values.check_time);
	return rc;
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
		{"round", v->number},
		{"rounds", v->of},
		{"state", v->round->state},
		{"log", v->round->log},
		{"hints", v->hints},
		{"memory", v->round->memory},
		{"timed", has_timing(v->round->platform) ? "yes" : ""},
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
	while (kgb_str_ends(hints.ptr, "\n")) /* the template has a line end */
		kgb_buf_truncate(&hints, hints.len - 1);
	KGB_AUTO(free) char *number = kgb_xasprintf("%lld", (long long)round->round);
	KGB_AUTO(free) char *of = kgb_xasprintf("%lld", (long long)round->rounds);
	const struct round_values values = {
		.round = round, .number = number, .of = of, .hints = hints.ptr};
	if (kgb_template_render(out, template.ptr, lookup_round, &values, err) < 0)
		return kgb_ctx(err, "%s", path);
	return 0;
}
