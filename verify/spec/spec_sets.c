/* SPDX-License-Identifier: MIT */
#include "base/formats/decode.h"
#include "base/formats/json.h"
#include "base/limits.h"
#include "verify/spec/spec_loader.h"

struct raw_case_set {
	const char *name, *doc;
	const cJSON *cases;
};

static const struct kgb_field case_set_table[] = {
	FIELD(STR, raw_case_set, name, "equal to the file's", .required = true),
	FIELD(STR, raw_case_set, doc, "what the set is for", .required = false),
	FIELD(NODE, raw_case_set, cases, "one mapping per case", .required = true),
	KGB_FIELD_END,
};

static const struct kgb_case_set *find_set(const struct kgb_spec *spec, const char *name)
{
	for (size_t i = 0; i < spec->n_case_sets; i++)
		if (kgb_str_eq(spec->case_sets[i].name, name))
			return &spec->case_sets[i];
	return NULL;
}

static int load_case_mode(struct kgb_spec_loader *l, const struct kgb_yaml *doc, const cJSON *node,
			  const char **out)
{
	static const char *const modes[] = {"standard", "outlier", "special", "benchmark"};

	*out = modes[0];
	if (!node)
		return 0;
	if (!cJSON_IsString(node))
		return kgb_yaml_fail(
			doc, node, l->err,
			"mode: expected one of: standard, outlier, special, benchmark");
	for (size_t i = 0; i < KGB_ARRAY_LEN(modes); i++) {
		if (kgb_str_eq(node->valuestring, modes[i])) {
			*out = modes[i];
			return 0;
		}
	}
	KGB_AUTO(buf) struct kgb_buf hint = KGB_BUF_INIT(256);
	kgb_suggest(&hint, node->valuestring, modes, KGB_ARRAY_LEN(modes));
	return kgb_yaml_fail(doc, node, l->err,
			     "mode: '%.40s' is none of: standard, outlier, special, benchmark%s",
			     node->valuestring, hint.ptr);
}

static int load_case_dtypes(struct kgb_spec_loader *l, const struct kgb_yaml *doc,
			    const cJSON *node, struct kgb_case_vars *out)
{
	struct kgb_strs dtypes = {0};
	const cJSON *item = NULL;

	if (!node)
		return 0;
	if (!cJSON_IsArray(node))
		return kgb_yaml_fail(doc, node, l->err, "dtypes: expected a list of dtype names");
	dtypes.items = kgb_arena_array(&l->spec->arena, (size_t)cJSON_GetArraySize(node) + 1,
				       sizeof(*dtypes.items));
	cJSON_ArrayForEach(item, node) {
		if (!cJSON_IsString(item))
			return kgb_yaml_fail(doc, item, l->err, "dtypes: expected a dtype name");
		dtypes.items[dtypes.n++] = item->valuestring;
	}
	out->dtypes = dtypes.items;
	out->n_dtypes = dtypes.n;
	return kgb_spec__check_dtypes(doc, node, &dtypes, l->err);
}

/* A line is free-form but for id, mode and dtypes: every other key is a variable. */
static int load_case(struct kgb_spec_loader *l, const struct kgb_yaml *doc, const cJSON *line,
		     struct kgb_case_vars *out)
{
	const cJSON *node = NULL;

	if (!cJSON_IsObject(line))
		return kgb_yaml_fail(doc, line, l->err,
				     "cases: expected a mapping with id and variables");
	cJSON_ArrayForEach(node, line) {
		if (!kgb_spec__is_identifier(node->string) || kgb_str_eq(node->string, "dtype"))
			return kgb_yaml_fail_key(doc, node, l->err,
						 "cases: '%.80s' cannot be the name of a variable",
						 node->string);
	}
	const cJSON *id = kgb_json_get(line, "id");
	if (!cJSON_IsString(id) || !kgb_spec__is_case_id(id->valuestring))
		return kgb_yaml_fail(
			doc, id ? id : line, l->err,
			"cases: id is required: text of letters, digits and any of _ = . , + -");
	out->id = id->valuestring;
	out->vars = line;
	if (load_case_mode(l, doc, kgb_json_get(line, "mode"), &out->mode) < 0 ||
	    load_case_dtypes(l, doc, kgb_json_get(line, "dtypes"), out) < 0)
		return kgb_ctx(l->err, "case '%s'", out->id);
	return 0;
}

static int load_set_lines(struct kgb_spec_loader *l, const struct kgb_yaml *doc,
			  const struct raw_case_set *raw, struct kgb_case_set *out)
{
	const cJSON *line = NULL;
	size_t n = 0;

	if (!cJSON_IsArray(raw->cases) || cJSON_GetArraySize(raw->cases) == 0)
		return kgb_yaml_fail(doc, raw->cases, l->err,
				     "cases: expected a list with at least one case");
	out->n_cases = (size_t)cJSON_GetArraySize(raw->cases);
	out->cases = kgb_arena_array(&l->spec->arena, out->n_cases, sizeof(*out->cases));
	cJSON_ArrayForEach(line, raw->cases) {
		if (load_case(l, doc, line, &out->cases[n++]) < 0)
			return -1;
	}
	return 0;
}

/* The folder "cases" beside the source's. */
static char *case_set_path(const char *dir, const char *name)
{
	const char *slash = strrchr(dir, '/');
	if (slash)
		return kgb_xasprintf("%.*s/cases/%s.yaml", (int)(slash - dir), dir, name);
	return kgb_xasprintf("%scases/%s.yaml", kgb_str_eq(dir, ".") ? "../" : "", name);
}

static int load_set(struct kgb_spec_loader *l, const char *name, struct kgb_yaml *doc,
		    struct kgb_case_set *out)
{
	KGB_AUTO(free) char *path = case_set_path(l->dir, name);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_YAML);
	struct raw_case_set raw = {0};

	if (kgb_spec__read(l, "cases", name, path, &text) < 0 ||
	    kgb_yaml_parse(path, text.ptr, text.len, doc, l->err) < 0)
		return -1;
	if (kgb_decode(case_set_table, doc, doc->root, &raw, &l->spec->arena, l->err) < 0)
		return -1;
	if (!kgb_str_eq(raw.name, name))
		return kgb_yaml_fail(doc, kgb_json_get(doc->root, "name"), l->err,
				     "name: '%.80s', but the file is %s.yaml", raw.name, name);
	out->name = raw.name;
	out->doc = doc;
	return load_set_lines(l, doc, &raw, out);
}

/* Every case set that an interface names, once. The arrays have their final size before any pointer
 * into them is kept. */
int kgb_spec__load_sets(struct kgb_spec_loader *l)
{
	struct kgb_spec *spec = l->spec;
	size_t most = 0;

	for (size_t i = 0; i < spec->n_interfaces; i++)
		most += spec->interfaces[i].n_case_sets;
	spec->case_sets = kgb_arena_array(&spec->arena, most, sizeof(*spec->case_sets));
	spec->set_docs = kgb_xcalloc(most, sizeof(*spec->set_docs));
	for (size_t i = 0; i < spec->n_interfaces; i++) {
		const struct kgb_interface *interface = &spec->interfaces[i];
		for (size_t k = 0; k < interface->n_case_sets; k++) {
			const char *name = interface->case_sets[k];
			if (find_set(spec, name))
				continue;
			struct kgb_yaml *doc = &spec->set_docs[spec->n_set_docs++];
			if (load_set(l, name, doc, &spec->case_sets[spec->n_case_sets]) < 0)
				return kgb_ctx(l->err, "%s: interface '%s': cases '%s'", spec->path,
					       interface->entry, name);
			spec->n_case_sets++;
		}
	}
	return 0;
}
