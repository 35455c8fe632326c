/* SPDX-License-Identifier: MIT */
#include "verify/spec/spec.h"

#include <fcntl.h>

#include "base/formats/decode.h"
#include "base/formats/json.h"
#include "base/limits.h"
#include "base/system/fs.h"
#include "verify/spec/spec_loader.h"
#include "verify/tensor/dtype.h"

/* The spec as the decoder fills it. */
struct raw_spec {
	struct kgb_spec spec;
	int source;
	const cJSON *tolerance, *interfaces;
};

static const char *const source_names[] = {"aten", "vllm", "cublas", NULL};
static const char *const triton_names[] = {"required", "moves", "alone", "none", NULL};
static const char *const launches_names[] = {"fixed", "by_data", NULL};

static const struct kgb_field excluded_table[] = {
	KGB_FIELD_ROW(STR, kgb_excluded, overload, "what is left out", .required = true),
	KGB_FIELD_ROW(STR, kgb_excluded, reason, "why", .required = true),
	KGB_FIELD_END,
};

#define ROW(type, member, ...) KGB_FIELD_ROW_AS(type, raw_spec, #member, spec.member, __VA_ARGS__)
static const struct kgb_field spec_table[] = {
	KGB_FIELD_ROW_AS(STR, raw_spec, "operator", spec.name, "name: aten::add", .required = true),
	KGB_FIELD_ROW(ENUM, raw_spec, source, "where the operator comes from", .required = true,
		      .names = source_names),
	ROW(STR, category, "group in reports", .required = true),
	ROW(STR, summary, "one line", .required = true),
	ROW(STR, semantics, "complete enough to implement from", .required = true),
	ROW(ENUM, triton, "whether the result must come from Triton kernels",
	    .names = triton_names),
	ROW(ENUM, launches, "whether launches may depend on data", .names = launches_names),
	ROW(STRS, dtypes, "element types to test", .required = true),
	KGB_FIELD_ROW(NODE, raw_spec, tolerance, "see docs/tolerance.md"),
	KGB_FIELD_ROW(NODE, raw_spec, interfaces, "overloads or API variants", .required = true),
	ROW(OBJECTS, excluded, "overloads that are left out", .sub = excluded_table,
	    .sub_size = sizeof(struct kgb_excluded)),
	KGB_FIELD_END,
};
#undef ROW

int kgb_spec__read(struct kgb_spec_loader *l, const char *kind, const char *name, const char *path,
		   struct kgb_buf *text)
{
	char digest[KGB_SHA256_HEX_LEN];
	if (l->reader(l->payload, path, text, l->err) < 0)
		return -1;
	kgb_sha256_hex(text->ptr, text->len, digest);
	kgb_buf_addf(&l->evidence, "%s %s %s\n", kind, name, digest);
	return 0;
}

int kgb_spec__check_texts(struct kgb_spec_loader *l, const cJSON *node, const char *const *keys)
{
	for (; *keys; keys++) {
		const cJSON *text = kgb_json_get(node, *keys);
		if (cJSON_IsString(text) &&
		    text->valuestring[strspn(text->valuestring, " \t\r\n")] == '\0')
			return fail_at(l, text, "%s: is empty", *keys);
	}
	return 0;
}

int kgb_spec__check_dtypes(const struct kgb_yaml *doc, const cJSON *list,
			   const struct kgb_strs *dtypes, struct kgb_err *err)
{
	for (size_t i = 0; i < dtypes->n; i++) {
		enum kgb_dtype dtype;
		struct kgb_err why = KGB_ERR_INIT;
		if (kgb_dtype_parse(dtypes->items[i], &dtype, &why) < 0)
			return kgb_yaml_fail(doc, cJSON_GetArrayItem(list, (int)i), err,
					     "dtypes: %s", why.msg);
		for (size_t j = 0; j < i; j++)
			if (kgb_str_eq(dtypes->items[i], dtypes->items[j]))
				return kgb_yaml_fail(doc, cJSON_GetArrayItem(list, (int)i), err,
						     "dtypes: '%s' is listed twice",
						     dtypes->items[i]);
	}
	if (list && dtypes->n == 0)
		return kgb_yaml_fail(doc, list, err, "dtypes: is empty");
	return 0;
}

/* The file must have the operator's name and lie in the folder of its source, so that operators are
 * found without reading their specs. */
static int check_place(struct kgb_spec_loader *l)
{
	const struct kgb_spec *spec = l->spec;
	const cJSON *node = kgb_json_get(spec->doc.root, "operator");

	if (!kgb_spec__is_operator_name(spec->name))
		return fail_at(l, node, "operator: '%.80s' is not a name like aten::add",
			       spec->name);
	KGB_AUTO(free) char *safe = kgb_safe_name(spec->name);
	KGB_AUTO(free) char *file = kgb_xasprintf("%s.yaml", safe);
	if (!kgb_str_eq(l->file, file))
		return fail_at(l, node, "operator: '%s' must be in a file named %s", spec->name,
			       file);
	const char *slash = strrchr(l->dir, '/'), *folder = slash ? slash + 1 : l->dir;
	if (!kgb_str_eq(folder, ".") && !kgb_str_eq(folder, spec->source))
		return fail_at(l, kgb_json_get(spec->doc.root, "source"),
			       "source: '%s', but the folder is '%s'", spec->source, folder);
	l->spec->safe_name = kgb_arena_strdup(&l->spec->arena, safe);
	return 0;
}

static int check_texts_and_types(struct kgb_spec_loader *l)
{
	static const char *const texts[] = {"category", "summary", "semantics", NULL};
	const struct kgb_spec *spec = l->spec;
	const cJSON *root = spec->doc.root;

	if (kgb_spec__check_texts(l, root, texts) < 0)
		return -1;
	if (strchr(spec->summary, '\n'))
		return fail_at(l, kgb_json_get(root, "summary"), "summary: must be one line");
	return kgb_spec__check_dtypes(&spec->doc, kgb_json_get(root, "dtypes"), &spec->dtypes,
				      l->err);
}

static int load(struct kgb_spec_loader *l, struct raw_spec *raw)
{
	struct kgb_spec *spec = l->spec;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_YAML);

	if (kgb_spec__read(l, "spec", l->file, spec->path, &text) < 0 ||
	    kgb_yaml_parse(spec->path, text.ptr, text.len, &spec->doc, l->err) < 0 ||
	    kgb_decode(spec_table, &spec->doc, spec->doc.root, raw, &spec->arena, l->err) < 0)
		return -1;
	spec->source = source_names[raw->source];
	spec->reference_dir = kgb_arena_printf(&spec->arena, "%s/reference", l->dir);
	if (check_place(l) < 0 || check_texts_and_types(l) < 0 ||
	    kgb_spec__load_interfaces(l, raw->interfaces, raw->tolerance) < 0 ||
	    kgb_spec__load_sets(l) < 0)
		return -1;
	kgb_sha256_hex(l->evidence.ptr, l->evidence.len, spec->sha256);
	return 0;
}

int kgb_spec_load_with(const char *path, kgb_spec_read_fn reader, void *payload,
		       struct kgb_spec *out, struct kgb_err *err)
{
	struct raw_spec raw = {.spec = {.arena = KGB_ARENA_INIT, .reference_files = KGB_STRV_INIT}};
	const char *slash = strrchr(path, '/');
	struct kgb_spec_loader l = {
		.spec = &raw.spec,
		.reader = reader,
		.payload = payload,
		.file = slash ? slash + 1 : path,
		.dir = slash ? kgb_xstrndup(path, (size_t)(slash - path)) : kgb_xstrdup("."),
		.evidence = KGB_BUF_INIT(0),
		.err = err,
	};

	raw.spec.path = kgb_arena_strdup(&raw.spec.arena, path);
	int rc = load(&l, &raw);
	kgb_free(l.dir);
	kgb_buf_release(&l.evidence);
	if (rc < 0)
		kgb_spec_release(&raw.spec);
	else
		*out = raw.spec;
	return rc;
}

static int read_file(KGB_UNUSED void *payload, const char *path, struct kgb_buf *out,
		     struct kgb_err *err)
{
	return kgb_fs_read(AT_FDCWD, path, KGB_LIMIT_YAML, out, err);
}

int kgb_spec_load(const char *path, struct kgb_spec *out, struct kgb_err *err)
{
	return kgb_spec_load_with(path, read_file, NULL, out, err);
}

const char *kgb_spec_baseline(const struct kgb_spec *spec)
{
	size_t n_torch = 0;
	if (kgb_str_eq(spec->source, "cublas"))
		return "cuBLAS";
	for (size_t i = 0; i < spec->n_interfaces; i++)
		n_torch += kgb_str_starts(spec->interfaces[i].baseline, "aten:");
	return n_torch == spec->n_interfaces ? "torch" : n_torch ? "torch, reference" : "reference";
}

void kgb_spec_release(struct kgb_spec *spec)
{
	for (struct kgb_case_set *set = spec->case_sets; set; set = set->next)
		kgb_yaml_release(&set->doc);
	kgb_yaml_release(&spec->doc);
	kgb_strv_release(&spec->reference_files);
	kgb_arena_release(&spec->arena);
	*spec = (struct kgb_spec){.arena = KGB_ARENA_INIT};
}
