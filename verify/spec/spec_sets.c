/* SPDX-License-Identifier: MIT */
#include "base/formats/decode.h"
#include "base/formats/json.h"
#include "base/limits.h"
#include "verify/spec/spec_loader.h"

/* A case set as the decoder fills it. */
struct raw_case_set {
	const char *name, *doc;
	const cJSON *cases, *drawn;
};

static const struct kgb_field case_set_table[] = {
	KGB_FIELD_ROW(STR, raw_case_set, name, "equal to the file's", .required = true),
	KGB_FIELD_ROW(STR, raw_case_set, doc, "what the set is for"),
	KGB_FIELD_ROW(NODE, raw_case_set, cases, "one mapping per case", .required = true),
	KGB_FIELD_ROW(NODE, raw_case_set, drawn, "one mapping per template of drawn cases"),
	KGB_FIELD_END,
};

static const char *const mode_names[] = {"standard", "outlier", "special", "benchmark"};
static const char *const tier_names[] = {"core", "edge"};
static const char *const special_names[] = {
	[KGB_SPECIAL_NAN] = "nan",
	[KGB_SPECIAL_INFINITY] = "infinity",
	[KGB_SPECIAL_NEGATIVE_INFINITY] = "negative_infinity",
	[KGB_SPECIAL_ZEROS] = "zeros",
	[KGB_SPECIAL_LARGEST] = "largest",
	[KGB_SPECIAL_SMALLEST] = "smallest",
	[KGB_SPECIAL_WIDE] = "wide",
};

const char *kgb_mode_name(enum kgb_mode mode)
{
	KGB_ASSERT((size_t)mode < KGB_ARRAY_LEN(mode_names));
	return mode_names[mode];
}

const char *kgb_tier_name(enum kgb_tier tier)
{
	KGB_ASSERT((size_t)tier < KGB_ARRAY_LEN(tier_names));
	return tier_names[tier];
}

const char *kgb_special_name(enum kgb_special special)
{
	KGB_ASSERT((size_t)special < KGB_ARRAY_LEN(special_names));
	return special_names[special];
}

/* Load a word that must be one of `names`; *out stays if there is no node. */
static int load_case_word(struct kgb_spec_loader *l, const struct kgb_yaml *doc, const cJSON *node,
			  const char *key, const char *const *names, size_t n, size_t *out)
{
	KGB_AUTO(buf) struct kgb_buf list = KGB_BUF_INIT(256);
	KGB_AUTO(buf) struct kgb_buf hint = KGB_BUF_INIT(256);

	if (!node)
		return 0;
	for (size_t i = 0; i < n; i++) {
		if (cJSON_IsString(node) && kgb_str_eq(node->valuestring, names[i])) {
			*out = i;
			return 0;
		}
		kgb_buf_addf(&list, "%s%s", i > 0 ? ", " : "", names[i]);
	}
	if (!cJSON_IsString(node))
		return kgb_yaml_fail(doc, node, l->err, "%s: expected one of: %s", key, list.ptr);
	kgb_suggest(&hint, node->valuestring, names, n);
	return kgb_yaml_fail(doc, node, l->err, "%s: '%.40s' is none of: %s%s", key,
			     node->valuestring, list.ptr, hint.ptr);
}

static int load_case_dtypes(struct kgb_spec_loader *l, const struct kgb_yaml *doc,
			    const cJSON *node, struct kgb_strs *dtypes)
{
	const cJSON *item = NULL;

	if (!node)
		return 0;
	if (!cJSON_IsArray(node))
		return kgb_yaml_fail(doc, node, l->err, "dtypes: expected a list of dtype names");
	dtypes->items = kgb_arena_array(&l->spec->arena, (size_t)cJSON_GetArraySize(node) + 1,
					sizeof(*dtypes->items));
	cJSON_ArrayForEach(item, node) {
		if (!cJSON_IsString(item))
			return kgb_yaml_fail(doc, item, l->err, "dtypes: expected a dtype name");
		dtypes->items[dtypes->n++] = item->valuestring;
	}
	return kgb_spec__check_dtypes(doc, node, dtypes, l->err);
}

static int load_specials(struct kgb_spec_loader *l, const struct kgb_yaml *doc, const cJSON *list,
			 kgb_specials *out)
{
	const cJSON *item = NULL;

	if (!list)
		return 0;
	if (!cJSON_IsArray(list))
		return kgb_yaml_fail(doc, list, l->err, "specials: expected a list of classes");
	*out = 0;
	cJSON_ArrayForEach(item, list) {
		size_t special = 0;
		if (load_case_word(l, doc, item, "specials", special_names, KGB_N_SPECIALS,
				   &special) < 0)
			return -1;
		*out |= (kgb_specials)(1U << special);
	}
	return 0;
}

/* A line is free-form but for id, mode, tier, dtypes and specials: every other key is a variable.
 */
static int load_line(struct kgb_spec_loader *l, const struct kgb_yaml *doc, const char *key,
		     const cJSON *line, struct kgb_case_vars *out)
{
	const cJSON *node = NULL;
	size_t tier = KGB_TIER_BY_RULE;

	if (!cJSON_IsObject(line))
		return kgb_yaml_fail(doc, line, l->err,
				     "%s: expected a mapping with id and variables", key);
	cJSON_ArrayForEach(node, line) {
		if (!kgb_spec__is_identifier(node->string) || kgb_str_eq(node->string, "dtype"))
			return kgb_yaml_fail_key(doc, node, l->err,
						 "%s: '%.80s' cannot be the name of a variable",
						 key, node->string);
	}
	const cJSON *id = kgb_json_get(line, "id");
	if (!cJSON_IsString(id) || !kgb_spec__is_case_id(id->valuestring))
		return kgb_yaml_fail(
			doc, id ? id : line, l->err,
			"%s: id is required: text of letters, digits and any of _ = . , + -", key);
	out->id = id->valuestring;
	out->vars = out->node = line;
	if (load_case_word(l, doc, kgb_json_get(line, "tier"), "tier", tier_names,
			   KGB_ARRAY_LEN(tier_names), &tier) < 0 ||
	    load_case_dtypes(l, doc, kgb_json_get(line, "dtypes"), &out->dtypes) < 0 ||
	    load_specials(l, doc, kgb_json_get(line, "specials"), &out->specials) < 0)
		return kgb_ctx(l->err, "case '%s'", out->id);
	out->tier = (enum kgb_tier)tier;
	return 0;
}

static int load_case(struct kgb_spec_loader *l, const struct kgb_yaml *doc, const cJSON *line,
		     struct kgb_case_vars *out)
{
	size_t mode = KGB_MODE_STANDARD;

	out->specials = KGB_SPECIALS_LISTED;
	if (load_line(l, doc, "cases", line, out) < 0)
		return -1;
	if (load_case_word(l, doc, kgb_json_get(line, "mode"), "mode", mode_names,
			   KGB_ARRAY_LEN(mode_names), &mode) < 0)
		return kgb_ctx(l->err, "case '%s'", out->id);
	out->mode = (enum kgb_mode)mode;
	if (out->specials == 0) {
		(void)kgb_yaml_fail(doc, kgb_json_get(line, "specials"), l->err,
				    "specials: only a template may have an empty list");
		return kgb_ctx(l->err, "case '%s'", out->id);
	}
	return 0;
}

bool kgb_template_may_be_special(const struct kgb_case_vars *from)
{
	const cJSON *mode = kgb_json_get(from->node, "mode");
	KGB_AUTO(free) char *text = mode ? cJSON_PrintUnformatted(mode) : NULL;

	return !text || strstr(text, kgb_mode_name(KGB_MODE_SPECIAL));
}

/* The forms of a template are checked when they are drawn. */
static int load_drawn(struct kgb_spec_loader *l, const struct kgb_yaml *doc, const cJSON *list,
		      struct kgb_case_set *out)
{
	const cJSON *node = NULL;

	if (!list)
		return 0;
	if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) == 0)
		return kgb_yaml_fail(doc, list, l->err,
				     "drawn: expected a list with at least one template");
	out->drawn = kgb_arena_array(&l->spec->arena, (size_t)cJSON_GetArraySize(list),
				     sizeof(*out->drawn));
	cJSON_ArrayForEach(node, list) {
		struct kgb_case_vars *template = &out->drawn[out->n_drawn++];
		template->specials = (1U << KGB_N_SPECIALS) - 1;
		if (load_line(l, doc, "drawn", node, template) < 0)
			return -1;
		if (template->specials == 0 && kgb_template_may_be_special(template))
			return kgb_yaml_fail(doc, kgb_json_get(node, "specials"), l->err,
					     "specials: an empty list needs a mode that is never "
					     "special");
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

static int load_set(struct kgb_spec_loader *l, const char *name, struct kgb_case_set *out)
{
	KGB_AUTO(free) char *path = case_set_path(l->dir, name);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_YAML);
	const struct kgb_yaml *doc = &out->doc;
	struct raw_case_set raw = {0};
	const cJSON *line = NULL;

	if (kgb_spec__read(l, "cases", name, path, &text) < 0 ||
	    kgb_yaml_parse(path, text.ptr, text.len, &out->doc, l->err) < 0 ||
	    kgb_decode(case_set_table, doc, doc->root, &raw, &l->spec->arena, l->err) < 0)
		return -1;
	if (!kgb_str_eq(raw.name, name))
		return kgb_yaml_fail(doc, kgb_json_get(doc->root, "name"), l->err,
				     "name: '%.80s', but the file is %s.yaml", raw.name, name);
	if (!cJSON_IsArray(raw.cases) || cJSON_GetArraySize(raw.cases) == 0)
		return kgb_yaml_fail(doc, raw.cases, l->err,
				     "cases: expected a list with at least one case");
	out->name = raw.name;
	out->cases = kgb_arena_array(&l->spec->arena, (size_t)cJSON_GetArraySize(raw.cases),
				     sizeof(*out->cases));
	cJSON_ArrayForEach(line, raw.cases) {
		if (load_case(l, doc, line, &out->cases[out->n_cases++]) < 0)
			return -1;
	}
	return load_drawn(l, doc, raw.drawn, out);
}

static int find_set(struct kgb_spec_loader *l, const char *name, const struct kgb_case_set **out)
{
	struct kgb_case_set **end = &l->spec->case_sets;

	while (*end && !kgb_str_eq((*end)->name, name))
		end = &(*end)->next;
	if (!*end) {
		*end = kgb_arena_alloc(&l->spec->arena, sizeof(**end));
		if (load_set(l, name, *end) < 0)
			return -1;
	}
	*out = *end;
	return 0;
}

int kgb_spec__load_sets(struct kgb_spec_loader *l)
{
	struct kgb_spec *spec = l->spec;

	for (size_t i = 0; i < spec->n_interfaces; i++) {
		struct kgb_interface *interface = &spec->interfaces[i];
		const cJSON *list = kgb_json_get(interface->node, "cases"), *name = NULL;
		interface->sets = kgb_arena_array(&spec->arena, (size_t)cJSON_GetArraySize(list),
						  sizeof(const struct kgb_case_set *));
		cJSON_ArrayForEach(name, list) {
			if (find_set(l, name->valuestring, &interface->sets[interface->n_sets++]) <
			    0)
				return kgb_ctx(l->err, "%s: interface '%s': cases '%s'", spec->path,
					       interface->entry, name->valuestring);
		}
	}
	return 0;
}
