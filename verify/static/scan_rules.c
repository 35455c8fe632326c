/* SPDX-License-Identifier: MIT */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "verify/static/scan_rules.h"

#include <fcntl.h>
#include <pcre2.h>

#include "base/formats/decode.h"
#include "base/formats/yaml.h"
#include "base/str.h"

static const char *const kind_names[] = {
	"import",   "name",         "builtin",       "dunder", "attribute", "dynamic",
	"operator", "tensor_store", "class",         "def",    "launch",    "jit_attr",
	"jit_call", "kernel_call",  "kernel_syntax", "global", "nonlocal",  "try",
	"state",    "string",       "undefined",     NULL};
_Static_assert(KGB_ARRAY_LEN(kind_names) <= 33, "kinds are bits of a uint32_t");
static const char *const context_names[] = {"host", "kernel", "annotation", NULL};
static const char *const severity_names[] = {"allow", "contract", "cheat", NULL};
static const char *const launches_names[] = {"any", "fixed", NULL};

/* A sorted set of strings; an empty one that was not given matches everything or nothing, as the
 * caller decides. */
struct set {
	const char **items;
	size_t n;
};

struct raw_rule {
	const char *code, *message, *hint, *reason, *match, *allow_match, *base_match;
	int severity, launches;
	struct kgb_strs kind, context, use, on, not_on, names, allow;
	const cJSON *catalogue;
};

struct kgb_rule {
	enum kgb_code code; /* NONE: the rule allows */
	const char *message, *hint;
	enum kgb_severity severity;
	bool spares_by_data; /* it is not for operators whose launches depend on data */
	uint32_t kinds, contexts; /* bit per enum value */
	struct set use, on, not_on, names, allow;
	pcre2_code *match, *allow_match, *base_match; /* owned */
};

struct raw_limits {
	int64_t match, depth, heap_kib;
};
struct raw_policy {
	const char *schema;
	struct raw_limits limits;
	struct kgb_objects rules;
};

struct kgb_l1 {
	struct kgb_arena arena;
	struct kgb_rule *rules;
	size_t n_rules;
	pcre2_match_context *context;
	pcre2_match_data *match_data;
};

#define AT(type, member) .offset = offsetof(struct type, member)

static const struct kgb_field rule_table[] = {
	{.name = "code",
	 .type = KGB_FIELD_STR,
	 AT(raw_rule, code),
	 .required = true,
	 .doc = "reason code of the verdict"},
	{.name = "severity",
	 .type = KGB_FIELD_ENUM,
	 AT(raw_rule, severity),
	 .required = true,
	 .names = severity_names,
	 .doc = "cheat, contract or allow"},
	{.name = "launches",
	 .type = KGB_FIELD_ENUM,
	 AT(raw_rule, launches),
	 .names = launches_names,
	 .doc = "fixed: not for operators whose launches depend on data"},
	{.name = "kind",
	 .type = KGB_FIELD_STRS,
	 AT(raw_rule, kind),
	 .required = true,
	 .doc = "kinds of facts"},
	{.name = "context",
	 .type = KGB_FIELD_STRS,
	 AT(raw_rule, context),
	 .doc = "host, kernel, annotation"},
	{.name = "use", .type = KGB_FIELD_STRS, AT(raw_rule, use), .doc = "how the name is used"},
	{.name = "on", .type = KGB_FIELD_STRS, AT(raw_rule, on), .doc = "what the object is"},
	{.name = "not_on",
	 .type = KGB_FIELD_STRS,
	 AT(raw_rule, not_on),
	 .doc = "what the object is not"},
	{.name = "names", .type = KGB_FIELD_STRS, AT(raw_rule, names), .doc = "names that match"},
	{.name = "match",
	 .type = KGB_FIELD_STR,
	 AT(raw_rule, match),
	 .doc = "regular expression for the name"},
	{.name = "allow",
	 .type = KGB_FIELD_STRS,
	 AT(raw_rule, allow),
	 .doc = "names that are excepted"},
	{.name = "allow_match",
	 .type = KGB_FIELD_STR,
	 AT(raw_rule, allow_match),
	 .doc = "regular expression for exceptions"},
	{.name = "base_match",
	 .type = KGB_FIELD_STR,
	 AT(raw_rule, base_match),
	 .doc = "regular expression for `on`"},
	{.name = "message", .type = KGB_FIELD_STR, AT(raw_rule, message), .doc = "what was found"},
	{.name = "hint", .type = KGB_FIELD_STR, AT(raw_rule, hint), .doc = "what to do instead"},
	{.name = "reason",
	 .type = KGB_FIELD_STR,
	 AT(raw_rule, reason),
	 .required = true,
	 .doc = "why the rule exists"},
	{.name = "catalogue",
	 .type = KGB_FIELD_NODE,
	 AT(raw_rule, catalogue),
	 .doc = "numbers of known cheats"},
	KGB_FIELD_END,
};
static const struct kgb_field limits_table[] = {
	{.name = "match",
	 .type = KGB_FIELD_I64,
	 AT(raw_limits, match),
	 .min = 1000,
	 .max = 10000000,
	 .def = "100000",
	 .doc = "steps of one regular expression"},
	{.name = "depth",
	 .type = KGB_FIELD_I64,
	 AT(raw_limits, depth),
	 .min = 10,
	 .max = 10000,
	 .def = "250",
	 .doc = "nested backtracking"},
	{.name = "heap_kib",
	 .type = KGB_FIELD_I64,
	 AT(raw_limits, heap_kib),
	 .min = 16,
	 .max = 65536,
	 .def = "512",
	 .doc = "memory of one match"},
	KGB_FIELD_END,
};
static const struct kgb_field policy_table[] = {
	{.name = "schema",
	 .type = KGB_FIELD_STR,
	 AT(raw_policy, schema),
	 .required = true,
	 .doc = "kgb.l1/1"},
	{.name = "limits",
	 .type = KGB_FIELD_OBJECT,
	 AT(raw_policy, limits),
	 .sub = limits_table,
	 .doc = "of PCRE2"},
	{.name = "rules",
	 .type = KGB_FIELD_OBJECTS,
	 AT(raw_policy, rules),
	 .required = true,
	 .sub = rule_table,
	 .sub_size = sizeof(struct raw_rule),
	 .doc = "first match decides"},
	KGB_FIELD_END,
};

struct loader {
	struct kgb_l1 *l1;
	const struct kgb_yaml *doc;
	const cJSON *node; /* of the rule */
	struct kgb_err *err;
};

static int fail_rule(const struct loader *l, const char *key, const char *what)
{
	const cJSON *node = kgb_json_get(l->node, key);
	return kgb_yaml_fail(l->doc, node ? node : l->node, l->err, "rule '%s': %s: %s",
			     kgb_json_str(l->node, "code", "?"), key, what);
}

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static struct set make_set(const struct kgb_strs *strings)
{
	if (strings->n > 1)
		qsort(strings->items, strings->n, sizeof(*strings->items), compare_strings);
	return (struct set){strings->items, strings->n};
}

static bool set_has(const struct set *set, const char *s)
{
	return set->n > 0 &&
	       bsearch(&s, set->items, set->n, sizeof(*set->items), compare_strings) != NULL;
}

static int name_index(const char *const *names, const char *s)
{
	for (int i = 0; names[i]; i++)
		if (strcmp(names[i], s) == 0)
			return i;
	return -1;
}

static int make_bits(const struct loader *l, const char *key, const struct kgb_strs *strings,
		     const char *const *names, uint32_t *out)
{
	uint32_t bits = 0;
	for (size_t i = 0; i < strings->n; i++) {
		int index = name_index(names, strings->items[i]);
		if (index < 0) {
			KGB_AUTO(buf) struct kgb_buf what = KGB_BUF_INIT(512);
			size_t n = 0;
			while (names[n])
				n++;
			kgb_buf_addf(&what, "'%.60s' is not known", strings->items[i]);
			kgb_suggest(&what, strings->items[i], names, n);
			return fail_rule(l, key, what.ptr);
		}
		bits |= 1u << index;
	}
	*out = bits;
	return 0;
}

static int compile(const struct loader *l, const char *key, const char *pattern, pcre2_code **out)
{
	int code = 0;
	PCRE2_SIZE at = 0;
	PCRE2_UCHAR text[160];

	if (!pattern)
		return 0;
	*out = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
			     PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_DOLLAR_ENDONLY, &code, &at,
			     NULL);
	if (*out)
		return 0;
	(void)pcre2_get_error_message(code, text, sizeof(text));
	KGB_AUTO(buf) struct kgb_buf what = KGB_BUF_INIT(512);
	kgb_buf_addf(&what, "at character %zu: %s", (size_t)at, (const char *)text);
	return fail_rule(l, key, what.ptr);
}

/* What {{name}}, {{function}} and {{on}} stand for. */
struct placeholders {
	const char *name, *function, *on;
};

static const char *placeholder(const char *name, const void *payload)
{
	const struct placeholders *values = payload;
	if (strcmp(name, "name") == 0)
		return values->name;
	if (strcmp(name, "function") == 0)
		return values->function;
	return strcmp(name, "on") == 0 ? values->on : NULL;
}

static int check_texts(const struct loader *l, const struct raw_rule *raw)
{
	static const struct placeholders samples = {"n", "f", "o"};
	static const char *const keys[] = {"message", "hint"};
	const char *texts[] = {raw->message, raw->hint};

	if (raw->severity == KGB_SEVERITY_ALLOW)
		return 0;
	for (size_t i = 0; i < KGB_ARRAY_LEN(keys); i++) {
		struct kgb_err why = KGB_ERR_INIT;
		KGB_AUTO(buf)
		struct kgb_buf text = KGB_BUF_INIT(sizeof(((struct kgb_finding *)0)->message));
		if (!texts[i] || !*texts[i])
			return fail_rule(l, keys[i], "is missing");
		if (kgb_template_render(&text, texts[i], placeholder, &samples, &why) < 0)
			return fail_rule(l, keys[i], why.msg);
	}
	return 0;
}

static int load_rule(const struct loader *l, const struct raw_rule *raw, struct kgb_rule *out)
{
	static const char *const default_context[] = {"host"};
	struct kgb_strs contexts = raw->context;

	*out = (struct kgb_rule){
		.code = kgb_code_find(raw->code),
		.message = raw->message,
		.hint = raw->hint,
		.severity = (enum kgb_severity)raw->severity,
		.spares_by_data = raw->launches == 1,
		.use = make_set(&raw->use),
		.on = make_set(&raw->on),
		.not_on = make_set(&raw->not_on),
		.names = make_set(&raw->names),
		.allow = make_set(&raw->allow),
	};
	const enum kgb_status status = kgb_code_status(out->code);
	if (raw->severity == KGB_SEVERITY_CHEAT && status != KGB_STATUS_CHEATED)
		return fail_rule(l, "code", "is not the code of a cheat in docs/codes.md");
	if (raw->severity == KGB_SEVERITY_CONTRACT && status != KGB_STATUS_FAILED)
		return fail_rule(l, "code",
				 "is not a code in docs/codes.md that leads to 'failed'");
	if (!contexts.n)
		out->contexts = 1u << name_index(context_names, default_context[0]);
	else if (make_bits(l, "context", &contexts, context_names, &out->contexts) < 0)
		return -1;
	if (make_bits(l, "kind", &raw->kind, kind_names, &out->kinds) < 0 ||
	    check_texts(l, raw) < 0)
		return -1;
	if (!out->kinds)
		return fail_rule(l, "kind", "is empty");
	return compile(l, "match", raw->match, &out->match) < 0 ||
			       compile(l, "allow_match", raw->allow_match, &out->allow_match) < 0 ||
			       compile(l, "base_match", raw->base_match, &out->base_match) < 0
		       ? -1
		       : 0;
}

static int load_policy(struct kgb_l1 *l1, const struct kgb_yaml *doc, struct kgb_err *err)
{
	struct raw_policy raw = {0};
	struct loader l = {.l1 = l1, .doc = doc, .err = err};

	if (kgb_decode(policy_table, doc, doc->root, &raw, &l1->arena, err) < 0)
		return -1;
	if (strcmp(raw.schema, "kgb.l1/1") != 0)
		return kgb_yaml_fail(doc, kgb_json_get(doc->root, "schema"), err,
				     "schema: '%.40s' is not kgb.l1/1", raw.schema);
	if (raw.rules.n == 0)
		return kgb_yaml_fail(doc, kgb_json_get(doc->root, "rules"), err, "rules: is empty");
	const cJSON *list = kgb_json_get(doc->root, "rules");
	const struct raw_rule *items = raw.rules.items;
	l1->rules = kgb_arena_array(&l1->arena, raw.rules.n, sizeof(*l1->rules));
	for (size_t i = 0; i < raw.rules.n; i++) {
		l.node = cJSON_GetArrayItem(list, (int)i);
		l1->n_rules = i + 1; /* a half-made rule is released as well */
		if (load_rule(&l, &items[i], &l1->rules[i]) < 0)
			return -1;
	}
	l1->context = pcre2_match_context_create(NULL);
	l1->match_data = pcre2_match_data_create(1, NULL);
	KGB_ASSERT(l1->context && l1->match_data);
	pcre2_set_match_limit(l1->context, (uint32_t)raw.limits.match);
	pcre2_set_depth_limit(l1->context, (uint32_t)raw.limits.depth);
	pcre2_set_heap_limit(l1->context, (uint32_t)raw.limits.heap_kib);
	return 0;
}

static int make_l1(const struct kgb_yaml *doc, struct kgb_l1 **out, struct kgb_err *err)
{
	struct kgb_l1 *l1 = kgb_xcalloc(1, sizeof(*l1));
	if (load_policy(l1, doc, err) < 0) {
		kgb_l1_free(l1);
		return -1;
	}
	*out = l1;
	return 0;
}

int kgb_l1_parse(const char *name, const char *text, size_t len, struct kgb_l1 **out,
		 struct kgb_err *err)
{
	KGB_AUTO(yaml) struct kgb_yaml doc = KGB_YAML_INIT;
	return kgb_yaml_parse(name, text, len, &doc, err) < 0 ? -1 : make_l1(&doc, out, err);
}

int kgb_l1_load(const char *path, struct kgb_l1 **out, struct kgb_err *err)
{
	KGB_AUTO(yaml) struct kgb_yaml doc = KGB_YAML_INIT;
	return kgb_yaml_read(AT_FDCWD, path, &doc, err) < 0 ? -1 : make_l1(&doc, out, err);
}

void kgb_l1_free(struct kgb_l1 *l1)
{
	if (!l1)
		return;
	for (size_t i = 0; i < l1->n_rules; i++) {
		pcre2_code_free(l1->rules[i].match);
		pcre2_code_free(l1->rules[i].allow_match);
		pcre2_code_free(l1->rules[i].base_match);
	}
	pcre2_match_context_free(l1->context);
	pcre2_match_data_free(l1->match_data);
	kgb_arena_release(&l1->arena);
	kgb_free(l1);
}

/* ---- matching ---- */

int kgb_fact__kind(const char *name)
{
	return name_index(kind_names, name);
}

int kgb_fact__context(const char *name)
{
	return name_index(context_names, name);
}

bool kgb_rule__is_for(const struct kgb_rule *rule, const struct kgb_spec *spec)
{
	return !rule->spares_by_data || spec->launches != KGB_LAUNCHES_BY_DATA;
}

enum kgb_severity kgb_rule__severity(const struct kgb_rule *rule)
{
	return rule->severity;
}

/* -1: the match hit a limit, which counts as a hit of the rule and never of an exception. */
static int matches(const struct kgb_l1 *l1, const pcre2_code *code, const char *text)
{
	int rc = pcre2_match(code, (PCRE2_SPTR)text, strlen(text), 0, 0, l1->match_data,
			     l1->context);
	if (rc >= 0)
		return 1;
	return rc == PCRE2_ERROR_NOMATCH ? 0 : -1;
}

static bool rule_applies(const struct kgb_l1 *l1, const struct kgb_rule *rule,
			 const struct kgb_fact *fact)
{
	if (!(rule->kinds & 1u << fact->kind) || !(rule->contexts & fact->context))
		return false;
	if (rule->use.n && !set_has(&rule->use, fact->use))
		return false;
	if ((rule->on.n && !set_has(&rule->on, fact->on)) || set_has(&rule->not_on, fact->on))
		return false;
	if (rule->names.n && !set_has(&rule->names, fact->name))
		return false;
	bool allows = rule->severity == KGB_SEVERITY_ALLOW;
	if (rule->match) {
		int rc = matches(l1, rule->match, fact->name);
		if (rc == 0 || (rc < 0 && allows))
			return false;
	}
	if (rule->base_match && matches(l1, rule->base_match, fact->on) == 0)
		return false;
	if (set_has(&rule->allow, fact->name))
		return false;
	return !(rule->allow_match && matches(l1, rule->allow_match, fact->name) == 1);
}

const struct kgb_rule *kgb_l1__find(const struct kgb_l1 *l1, const struct kgb_fact *fact)
{
	for (size_t i = 0; i < l1->n_rules; i++)
		if (rule_applies(l1, &l1->rules[i], fact))
			return &l1->rules[i];
	return NULL;
}

static void render(char *out, size_t size, const char *tmpl, const struct placeholders *values)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	if (kgb_template_render(&text, tmpl, placeholder, values, NULL) < 0)
		KGB_UNREACHABLE(); /* check_texts rendered it once */
	kgb_finding__put(out, size, text.ptr);
}

void kgb_rule__explain(const struct kgb_rule *rule, const struct kgb_fact *fact,
		       struct kgb_finding *out)
{
	KGB_AUTO(free) char *name = kgb_xasprintf("%.120s", fact->name);
	KGB_AUTO(free) char *function = kgb_xasprintf("%.80s", fact->function);
	KGB_AUTO(free) char *on = kgb_xasprintf("%.80s", fact->on);
	struct placeholders values = {name, function, on};

	*out = (struct kgb_finding){
		.code = rule->code,
		.stage = kgb_str_starts(kgb_code_name(rule->code), "contract.") ? "contract" : "l1",
		.is_cheat = rule->severity == KGB_SEVERITY_CHEAT,
		.line = fact->line,
	};
	render(out->message, sizeof(out->message), rule->message, &values);
	render(out->hint, sizeof(out->hint), rule->hint, &values);
}
