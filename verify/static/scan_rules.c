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

/* A rule: first the members that the policy has, then those that are computed from them. */
struct kgb_rule {
	const char *code, *message, *hint, *reason, *match, *allow_match, *on_match;
	struct kgb_strs kind, context, use, on, not_on, names, allow; /* sorted */
	const cJSON *catalogue;
	bool reached;
	enum kgb_code number; /* KGB_CODE_NONE: the rule allows */
	uint32_t kinds, contexts; /* bit per enum value */
	pcre2_code *match_code, *allow_code, *on_code; /* owned */
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

#define ROW KGB_FIELD_ROW

static const struct kgb_field rule_table[] = {
	ROW(STR, kgb_rule, code, "reason code of the verdict", .required = true),
	ROW(STRS, kgb_rule, kind, "kinds of facts", .required = true),
	ROW(STRS, kgb_rule, context, "host, kernel, annotation"),
	ROW(STRS, kgb_rule, use, "how the name is used"),
	ROW(STRS, kgb_rule, on, "what the object is"),
	ROW(STRS, kgb_rule, not_on, "what the object is not"),
	ROW(STRS, kgb_rule, names, "names that match"),
	ROW(STR, kgb_rule, match, "regular expression for the name"),
	ROW(STRS, kgb_rule, allow, "names that are excepted"),
	ROW(STR, kgb_rule, allow_match, "regular expression for exceptions"),
	ROW(STR, kgb_rule, on_match, "regular expression for `on`"),
	ROW(BOOL, kgb_rule, reached, "only what a call of an entry may run or use"),
	ROW(STR, kgb_rule, message, "what was found"),
	ROW(STR, kgb_rule, hint, "what to do instead"),
	ROW(STR, kgb_rule, reason, "why the rule exists", .required = true),
	ROW(NODE, kgb_rule, catalogue, "numbers of known cheats"),
	KGB_FIELD_END,
};
static const struct kgb_field limits_table[] = {
	ROW(I64, raw_limits, match, "steps of one regular expression", .min = 1000, .max = 10000000,
	    .def = "100000"),
	ROW(I64, raw_limits, depth, "nested backtracking", .min = 10, .max = 10000, .def = "250"),
	ROW(I64, raw_limits, heap_kib, "memory of one match", .min = 16, .max = 65536,
	    .def = "512"),
	KGB_FIELD_END,
};
static const struct kgb_field policy_table[] = {
	ROW(STR, raw_policy, schema, "kgb.l1/2", .required = true),
	ROW(OBJECT, raw_policy, limits, "of PCRE2", .sub = limits_table),
	ROW(OBJECTS, raw_policy, rules, "first match decides", .required = true, .sub = rule_table,
	    .sub_size = sizeof(struct kgb_rule)),
	KGB_FIELD_END,
};

struct loader {
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

static void sort(const struct kgb_strs *set)
{
	if (set->n > 1)
		qsort(set->items, set->n, sizeof(*set->items), compare_strings);
}

static bool set_has(const struct kgb_strs *set, const char *s)
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

static int check_texts(const struct loader *l, const struct kgb_rule *rule)
{
	static const struct placeholders samples = {"n", "f", "o"};
	static const char *const keys[] = {"message", "hint"};
	const char *texts[] = {rule->message, rule->hint};
	/* A note needs no remedy. */
	const size_t n = rule->number == KGB_CODE_NONE ? 0 : kgb_rule__refuses(rule) ? 2 : 1;

	for (size_t i = 0; i < n; i++) {
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

static int load_rule(const struct loader *l, struct kgb_rule *rule)
{
	const struct kgb_strs *const sets[] = {&rule->use, &rule->on, &rule->not_on, &rule->names,
					       &rule->allow};

	for (size_t i = 0; i < KGB_ARRAY_LEN(sets); i++)
		sort(sets[i]);
	rule->number = kgb_code_find(rule->code);
	rule->contexts = 1; /* the host, unless the rule names contexts */
	const enum kgb_status status = kgb_code_status(rule->number);
	if (rule->number == KGB_CODE_NONE
		    ? !kgb_str_starts(rule->code, "ok.")
		    : status != KGB_STATUS_REFUSED && status != KGB_STATUS_NONE)
		return fail_rule(l, "code",
				 "does not begin with 'ok.', and is no code in docs/codes.md that "
				 "leads to 'refused' or decides nothing");
	if ((rule->context.n > 0 &&
	     make_bits(l, "context", &rule->context, context_names, &rule->contexts) < 0) ||
	    make_bits(l, "kind", &rule->kind, kind_names, &rule->kinds) < 0 ||
	    check_texts(l, rule) < 0)
		return -1;
	if (!rule->kinds)
		return fail_rule(l, "kind", "is empty");
	return compile(l, "match", rule->match, &rule->match_code) < 0 ||
			       compile(l, "allow_match", rule->allow_match, &rule->allow_code) <
				       0 ||
			       compile(l, "on_match", rule->on_match, &rule->on_code) < 0
		       ? -1
		       : 0;
}

static int load_policy(struct kgb_l1 *l1, const struct kgb_yaml *doc, struct kgb_err *err)
{
	struct raw_policy raw = {0};
	struct loader l = {.doc = doc, .err = err};

	if (kgb_decode(policy_table, doc, doc->root, &raw, &l1->arena, err) < 0)
		return -1;
	if (strcmp(raw.schema, "kgb.l1/2") != 0)
		return kgb_yaml_fail(doc, kgb_json_get(doc->root, "schema"), err,
				     "schema: '%.40s' is not kgb.l1/2", raw.schema);
	if (raw.rules.n == 0)
		return kgb_yaml_fail(doc, kgb_json_get(doc->root, "rules"), err, "rules: is empty");
	const cJSON *list = kgb_json_get(doc->root, "rules");
	l1->rules = raw.rules.items;
	l1->n_rules = raw.rules.n;
	for (size_t i = 0; i < l1->n_rules; i++) {
		l.node = cJSON_GetArrayItem(list, (int)i);
		if (load_rule(&l, &l1->rules[i]) < 0)
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

int kgb_l1_load(const char *path, struct kgb_l1 **out, struct kgb_err *err)
{
	KGB_AUTO(yaml) struct kgb_yaml doc = KGB_YAML_INIT;

	if (kgb_yaml_read(AT_FDCWD, path, &doc, err) < 0)
		return -1;
	struct kgb_l1 *l1 = kgb_xcalloc(1, sizeof(*l1));
	if (load_policy(l1, &doc, err) < 0) {
		kgb_l1_free(l1);
		return -1;
	}
	*out = l1;
	return 0;
}

void kgb_l1_free(struct kgb_l1 *l1)
{
	if (!l1)
		return;
	for (size_t i = 0; i < l1->n_rules; i++) {
		pcre2_code_free(l1->rules[i].match_code);
		pcre2_code_free(l1->rules[i].allow_code);
		pcre2_code_free(l1->rules[i].on_code);
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

bool kgb_rule__refuses(const struct kgb_rule *rule)
{
	return kgb_code_status(rule->number) == KGB_STATUS_REFUSED;
}

/* 1: a match; 0: none; -1: the match hit a limit, which counts as a match for a rule that refuses
 * or notes, and as none for an exception or a rule that allows. */
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
	if (rule->reached && !fact->is_reached)
		return false;
	if (rule->use.n && !set_has(&rule->use, fact->use))
		return false;
	if ((rule->on.n && !set_has(&rule->on, fact->on)) || set_has(&rule->not_on, fact->on))
		return false;
	if (rule->names.n && !set_has(&rule->names, fact->name))
		return false;
	if (rule->match) {
		int rc = matches(l1, rule->match_code, fact->name);
		if (rc == 0 || (rc < 0 && rule->number == KGB_CODE_NONE))
			return false;
	}
	if (rule->on_match && matches(l1, rule->on_code, fact->on) == 0)
		return false;
	if (set_has(&rule->allow, fact->name))
		return false;
	return !(rule->allow_match && matches(l1, rule->allow_code, fact->name) == 1);
}

const struct kgb_rule *kgb_l1__find(const struct kgb_l1 *l1, const struct kgb_fact *fact)
{
	const struct kgb_rule *rule = l1->rules, *end = rule + l1->n_rules;

	while (rule < end && !rule_applies(l1, rule, fact))
		rule++;
	return rule == end || rule->number == KGB_CODE_NONE ? NULL : rule;
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

	*out = (struct kgb_finding){.code = rule->number, .stage = "l1", .line = fact->line};
	render(out->message, sizeof(out->message), rule->message, &values);
	render(out->hint, sizeof(out->hint), rule->hint ? rule->hint : "", &values);
}
