/* SPDX-License-Identifier: MIT */
#include "verify/spec/spec.h"

#include <fcntl.h>

#include "base/formats/decode.h"
#include "base/formats/json.h"
#include "base/limits.h"
#include "base/system/fs.h"
#include "verify/spec/spec_loader.h"
#include "verify/tensor/dtype.h"

/* What the YAML says, before it is checked. */
struct raw_spec {
	const char *operator, * category, *summary, *semantics;
	int source, triton, launches;
	struct kgb_strs dtypes, timing;
	const cJSON *tolerance, *interfaces;
	struct kgb_objects excluded;
};

static const char *const source_names[] = {"aten", "vllm", "cublas", NULL};
static const char *const triton_names[] = {"required", "moves", "alone", "none", NULL};
static const char *const launches_names[] = {"fixed", "by_data", NULL};

static const struct kgb_field excluded_table[] = {
	FIELD(STR, kgb_excluded, overload, "what is left out", .required = true),
	FIELD(STR, kgb_excluded, reason, "why", .required = true),
	KGB_FIELD_END,
};

static const struct kgb_field spec_table[] = {
	FIELD(STR, raw_spec, operator, "name: aten::add", .required = true),
	FIELD(ENUM, raw_spec, source, "where the operator comes from", .required = true,
	      .names = source_names),
	FIELD(STR, raw_spec, category, "group in reports", .required = true),
	FIELD(STR, raw_spec, summary, "one line", .required = true),
	FIELD(STR, raw_spec, semantics, "complete enough to implement from", .required = true),
	FIELD(ENUM, raw_spec, triton, "whether the result must come from Triton kernels",
	      .names = triton_names),
	FIELD(ENUM, raw_spec, launches, "whether what is launched may depend on data",
	      .names = launches_names),
	FIELD(STRS, raw_spec, dtypes, "element types to test", .required = true),
	FIELD(NODE, raw_spec, tolerance, "see docs/tolerance.md", .required = false),
	FIELD(NODE, raw_spec, interfaces, "overloads or API variants", .required = true),
	FIELD(OBJECTS, raw_spec, excluded, "overloads that are left out", .sub = excluded_table,
	      .sub_size = sizeof(struct kgb_excluded)),
	FIELD(STRS, raw_spec, timing, "case names that the timing stage runs", .required = false),
	KGB_FIELD_END,
};

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

/* The operator's name decides the file's name and its source the folder, so that neither needs the
 * other to be read. */
static int check_place(struct kgb_spec_loader *l, const struct raw_spec *raw)
{
	const struct kgb_spec *spec = l->spec;
	const cJSON *node = kgb_json_get(spec->doc.root, "operator");

	if (!kgb_spec__is_operator_name(raw->operator))
		return fail_at(l, node, "operator: '%.80s' is not a name like aten::add",
			       raw->operator);
	KGB_AUTO(free) char *safe = kgb_safe_name(raw->operator);
	KGB_AUTO(free) char *file = kgb_xasprintf("%s.yaml", safe);
	const char *slash = strrchr(spec->path, '/');
	if (!kgb_str_eq(slash ? slash + 1 : spec->path, file))
		return fail_at(l, node, "operator: '%s' must be in a file named %s", raw->operator,
			       file);
	const char *folder = strrchr(l->dir, '/');
	folder = folder ? folder + 1 : l->dir;
	if (!kgb_str_eq(folder, ".") && !kgb_str_eq(folder, source_names[raw->source]))
		return fail_at(l, kgb_json_get(spec->doc.root, "source"),
			       "source: '%s', but the folder is '%s'", source_names[raw->source],
			       folder);
	return 0;
}

static int take_over(struct kgb_spec_loader *l, const struct raw_spec *raw)
{
	static const char *const texts[] = {"category", "summary", "semantics", NULL};
	struct kgb_spec *spec = l->spec;
	const cJSON *root = spec->doc.root;
	KGB_AUTO(free) char *safe = kgb_safe_name(raw->operator);

	spec->name = raw->operator;
	spec->safe_name = kgb_arena_strdup(&spec->arena, safe);
	spec->source = source_names[raw->source];
	spec->category = raw->category;
	spec->summary = raw->summary;
	spec->semantics = raw->semantics;
	spec->triton = (enum kgb_triton_rule)raw->triton;
	spec->launches = (enum kgb_launches_rule)raw->launches;
	spec->reference_dir = kgb_arena_printf(&spec->arena, "%s/reference", l->dir);
	spec->dtypes = raw->dtypes.items;
	spec->n_dtypes = raw->dtypes.n;
	spec->excluded = raw->excluded.items;
	spec->n_excluded = raw->excluded.n;
	spec->timing_cases = raw->timing.items;
	spec->n_timing_cases = raw->timing.n;
	if (kgb_spec__check_texts(l, root, texts) < 0)
		return -1;
	if (strchr(spec->summary, '\n'))
		return fail_at(l, kgb_json_get(root, "summary"), "summary: must be one line");
	return kgb_spec__check_dtypes(&spec->doc, kgb_json_get(root, "dtypes"), &raw->dtypes,
				      l->err);
}

static int load(struct kgb_spec_loader *l)
{
	struct kgb_spec *spec = l->spec;
	struct raw_spec raw = {0};
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_YAML);

	if (kgb_spec__read(l, "spec",
			   strrchr(spec->path, '/') ? strrchr(spec->path, '/') + 1 : spec->path,
			   spec->path, &text) < 0)
		return -1;
	if (kgb_yaml_parse(spec->path, text.ptr, text.len, &spec->doc, l->err) < 0 ||
	    kgb_decode(spec_table, &spec->doc, spec->doc.root, &raw, &spec->arena, l->err) < 0)
		return -1;
	if (check_place(l, &raw) < 0 || take_over(l, &raw) < 0 ||
	    kgb_spec__load_interfaces(l, raw.interfaces, raw.tolerance) < 0 ||
	    kgb_spec__load_sets(l) < 0)
		return -1;
	kgb_sha256_hex(l->evidence.ptr, l->evidence.len, spec->sha256);
	return 0;
}

int kgb_spec_load_with(const char *path, kgb_spec_read_fn reader, void *payload,
		       struct kgb_spec *out, struct kgb_err *err)
{
	struct kgb_spec spec = {.arena = KGB_ARENA_INIT};
	const char *slash = strrchr(path, '/');
	struct kgb_spec_loader l = {
		.spec = &spec,
		.reader = reader,
		.payload = payload,
		.dir = slash ? kgb_xstrndup(path, (size_t)(slash - path)) : kgb_xstrdup("."),
		.evidence = KGB_BUF_INIT(0),
		.err = err,
	};

	spec.path = kgb_arena_strdup(&spec.arena, path);
	int rc = load(&l);
	kgb_free(l.dir);
	kgb_buf_release(&l.evidence);
	kgb_strv_release(&l.seen);
	if (rc < 0) {
		kgb_spec_release(&spec);
		return -1;
	}
	*out = spec;
	return 0;
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
		n_torch += spec->interfaces[i].baseline == KGB_REFERENCE_ATEN;
	return n_torch == spec->n_interfaces ? "torch" : n_torch ? "torch, reference" : "reference";
}

void kgb_spec_release(struct kgb_spec *spec)
{
	kgb_yaml_release(&spec->doc);
	for (size_t i = 0; i < spec->n_set_docs; i++)
		kgb_yaml_release(&spec->set_docs[i]);
	kgb_free(spec->set_docs);
	kgb_arena_release(&spec->arena);
	*spec = (struct kgb_spec){.arena = KGB_ARENA_INIT};
}
