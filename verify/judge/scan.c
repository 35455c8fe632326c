/* SPDX-License-Identifier: MIT */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "verify/judge/scan.h"

#include <fcntl.h>
#include <limits.h>
#include <pcre2.h>
#include <stddef.h>
#include <strings.h>

#include "base/decode.h"
#include "base/limits.h"
#include "base/str.h"
#include "base/yaml.h"

/* ---- bytes ---- */

/* Copy text that may hold a candidate's names: printable, and cut between characters. */
static void put_text(char *out, size_t size, const char *text)
{
	KGB_AUTO(buf) struct kgb_buf printable = KGB_BUF_INIT(0);
	kgb_escape(&printable, text, strlen(text));
	size_t len = kgb_utf8_valid(printable.ptr, printable.len < size ? printable.len : size - 1);
	memcpy(out, printable.ptr, len);
	out[len] = '\0';
}

/* Fill a finding of the contract stage; returns 1. */
static int contract(struct kgb_finding *out, const char *code, int line, const char *hint, const char *fmt, ...)
	KGB_PRINTF(5, 6);
static int contract(struct kgb_finding *out, const char *code, int line, const char *hint, const char *fmt, ...)
{
	va_list ap;

	*out = (struct kgb_finding){.code = code, .stage = "contract", .line = line};
	va_start(ap, fmt);
	KGB_AUTO(free) char *text = kgb_xvasprintf(fmt, ap);
	va_end(ap);
	put_text(out->message, sizeof(out->message), text);
	put_text(out->hint, sizeof(out->hint), hint);
	return 1;
}

static int line_of(const char *source, size_t at)
{
	int line = 1;
	for (size_t i = 0; i < at && line < INT_MAX; i++)
		line += source[i] == '\n';
	return line;
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

/* The encoding that a line declares as PEP 263 reads it: a comment with "coding" and ':' or '=' and a name. */
static bool coding_cookie(const char *line, size_t len, const char **name, size_t *name_len)
{
	size_t i = 0;
	while (i < len && (line[i] == ' ' || line[i] == '\t' || line[i] == '\f'))
		i++;
	if (i == len || line[i] != '#')
		return false;
	for (; i + 7 <= len; i++) {
		if (memcmp(line + i, "coding", 6) != 0 || (line[i + 6] != ':' && line[i + 6] != '='))
			continue;
		size_t start = i + 7;
		while (start < len && (line[start] == ' ' || line[start] == '\t'))
			start++;
		size_t end = start;
		while (end < len && is_word(line[end]))
			end++;
		if (end > start) {
			*name = line + start;
			*name_len = end - start;
			return true;
		}
	}
	return false;
}

static bool is_utf8_name(const char *name, size_t len)
{
	static const char *const names[] = {"utf-8", "utf8", "utf_8", "u8", "ascii", "us-ascii"};
	for (size_t i = 0; i < KGB_ARRAY_LEN(names); i++)
		if (strlen(names[i]) == len && strncasecmp(names[i], name, len) == 0)
			return true;
	return false;
}

static int scan_cookie(const char *source, size_t len, struct kgb_finding *out)
{
	size_t start = 0;
	for (int line = 1; line <= 2 && start < len; line++) {
		const char *name = NULL;
		size_t name_len = 0, end = start;
		while (end < len && source[end] != '\n' && source[end] != '\r')
			end++;
		if (coding_cookie(source + start, end - start, &name, &name_len) && !is_utf8_name(name, name_len))
			return contract(out, "contract.encoding", line, "Save the file as UTF-8 and drop the coding line.",
					"line %d declares the encoding '%.*s'", line, (int)(name_len > 40 ? 40 : name_len), name);
		start = end + (end + 1 < len && source[end] == '\r' && source[end + 1] == '\n' ? 2 : 1);
	}
	return 0;
}

/* Characters that make an editor show other code than Python reads: U+202A..202E and U+2066..2069. */
static bool is_bidi(const unsigned char *s, size_t left)
{
	if (left < 3 || s[0] != 0xe2)
		return false;
	return (s[1] == 0x80 && s[2] >= 0xaa && s[2] <= 0xae) || (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9);
}

static int scan_characters(const char *source, size_t len, struct kgb_finding *out)
{
	const unsigned char *s = (const unsigned char *)source;
	for (size_t i = 0; i < len; i++) {
		bool is_control = s[i] < 0x20 && s[i] != '\n' && s[i] != '\r' && s[i] != '\t' && s[i] != '\f';
		if (is_control || s[i] == 0x7f)
			return contract(out, "contract.encoding", line_of(source, i), "Remove the control character.",
					"control character 0x%02x", s[i]);
		if (is_bidi(s + i, len - i))
			return contract(out, "contract.encoding", line_of(source, i),
					"Remove the bidirectional control character.",
					"a control character for text direction, which makes code read differently from what it does");
	}
	return 0;
}

int kgb_scan_bytes(const char *source, size_t len, struct kgb_finding *out)
{
	static const char save_utf8[] = "Save the file as UTF-8 without a byte order mark.";

	if (len > KGB_LIMIT_KERNEL)
		return contract(out, "contract.too_large", 0, "Write a smaller file; data does not belong into it.",
				"the file has more than %u bytes", KGB_LIMIT_KERNEL);
	if (len >= 3 && memcmp(source, "\xef\xbb\xbf", 3) == 0)
		return contract(out, "contract.encoding", 1, save_utf8, "the file starts with a byte order mark");
	size_t valid = kgb_utf8_valid(source, len);
	if (valid < len)
		return contract(out, "contract.encoding", line_of(source, valid), save_utf8, "byte %zu is not valid UTF-8", valid);
	if (scan_characters(source, len, out))
		return 1;
	size_t blank = 0;
	while (blank < len && strchr(" \t\r\n\f", source[blank]))
		blank++;
	if (blank == len)
		return contract(out, "contract.empty", 0, "Write the kernel into this file.", "the file is empty");
	return scan_cookie(source, len, out);
}

/* ---- policy ---- */

enum kind {
	KIND_IMPORT, KIND_NAME, KIND_BUILTIN, KIND_DUNDER, KIND_ATTRIBUTE, KIND_DYNAMIC, KIND_OPERATOR, KIND_TENSOR_STORE,
	KIND_CLASS, KIND_DEF, KIND_LAUNCH, KIND_JIT_ATTR, KIND_JIT_CALL, KIND_KERNEL_CALL, KIND_KERNEL_SYNTAX, KIND_GLOBAL,
	KIND_NONLOCAL, KIND_TRY, KIND_STATE, KIND_STRING, N_KINDS,
};
static const char *const kind_names[] = {"import", "name", "builtin", "dunder", "attribute", "dynamic", "operator",
					 "tensor_store", "class", "def", "launch", "jit_attr", "jit_call", "kernel_call",
					 "kernel_syntax", "global", "nonlocal", "try", "state", "string", NULL};
_Static_assert(KGB_ARRAY_LEN(kind_names) == N_KINDS + 1, "one name per kind");
static const char *const context_names[] = {"host", "kernel", "annotation", NULL};

enum severity { SEVERITY_ALLOW, SEVERITY_CONTRACT, SEVERITY_CHEAT };
static const char *const severity_names[] = {"allow", "contract", "cheat", NULL};

/* A sorted set of strings; an empty one that was not given matches everything or nothing, as the caller decides. */
struct set {
	const char **items;
	size_t n;
};

struct raw_rule {
	const char *code, *message, *hint, *reason, *match, *allow_match, *base_match;
	int severity;
	struct kgb_strs kind, context, use, on, not_on, names, allow;
	const cJSON *catalogue;
};

struct rule {
	const char *code, *message, *hint;
	enum severity severity;
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
	struct rule *rules;
	size_t n_rules;
	pcre2_match_context *context;
	pcre2_match_data *match_data;
};

#define AT(type, member) .offset = offsetof(struct type, member)

static const struct kgb_field rule_table[] = {
	{.name = "code", .type = KGB_FIELD_STR, AT(raw_rule, code), .required = true, .doc = "reason code of the verdict"},
	{.name = "severity", .type = KGB_FIELD_ENUM, AT(raw_rule, severity), .required = true, .names = severity_names,
	 .doc = "cheat, contract or allow"},
	{.name = "kind", .type = KGB_FIELD_STRS, AT(raw_rule, kind), .required = true, .doc = "kinds of facts"},
	{.name = "context", .type = KGB_FIELD_STRS, AT(raw_rule, context), .doc = "host, kernel, annotation"},
	{.name = "use", .type = KGB_FIELD_STRS, AT(raw_rule, use), .doc = "how the name is used"},
	{.name = "on", .type = KGB_FIELD_STRS, AT(raw_rule, on), .doc = "what the object is"},
	{.name = "not_on", .type = KGB_FIELD_STRS, AT(raw_rule, not_on), .doc = "what the object is not"},
	{.name = "names", .type = KGB_FIELD_STRS, AT(raw_rule, names), .doc = "names that match"},
	{.name = "match", .type = KGB_FIELD_STR, AT(raw_rule, match), .doc = "regular expression for the name"},
	{.name = "allow", .type = KGB_FIELD_STRS, AT(raw_rule, allow), .doc = "names that are excepted"},
	{.name = "allow_match", .type = KGB_FIELD_STR, AT(raw_rule, allow_match), .doc = "regular expression for exceptions"},
	{.name = "base_match", .type = KGB_FIELD_STR, AT(raw_rule, base_match), .doc = "regular expression for `on`"},
	{.name = "message", .type = KGB_FIELD_STR, AT(raw_rule, message), .doc = "what was found"},
	{.name = "hint", .type = KGB_FIELD_STR, AT(raw_rule, hint), .doc = "what to do instead"},
	{.name = "reason", .type = KGB_FIELD_STR, AT(raw_rule, reason), .required = true, .doc = "why the rule exists"},
	{.name = "catalogue", .type = KGB_FIELD_NODE, AT(raw_rule, catalogue), .doc = "numbers of known cheats"},
	KGB_FIELD_END,
};
static const struct kgb_field limits_table[] = {
	{.name = "match", .type = KGB_FIELD_I64, AT(raw_limits, match), .min = 1000, .max = 10000000, .def = "100000",
	 .doc = "steps of one regular expression"},
	{.name = "depth", .type = KGB_FIELD_I64, AT(raw_limits, depth), .min = 10, .max = 10000, .def = "250",
	 .doc = "nested backtracking"},
	{.name = "heap_kib", .type = KGB_FIELD_I64, AT(raw_limits, heap_kib), .min = 16, .max = 65536, .def = "512",
	 .doc = "memory of one match"},
	KGB_FIELD_END,
};
static const struct kgb_field policy_table[] = {
	{.name = "schema", .type = KGB_FIELD_STR, AT(raw_policy, schema), .required = true, .doc = "kgb.l1/1"},
	{.name = "limits", .type = KGB_FIELD_OBJECT, AT(raw_policy, limits), .sub = limits_table, .doc = "of PCRE2"},
	{.name = "rules", .type = KGB_FIELD_OBJECTS, AT(raw_policy, rules), .required = true, .sub = rule_table,
	 .sub_size = sizeof(struct raw_rule), .doc = "first match decides"},
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
	return set->n > 0 && bsearch(&s, set->items, set->n, sizeof(*set->items), compare_strings) != NULL;
}

static int name_index(const char *const *names, const char *s)
{
	for (int i = 0; names[i]; i++)
		if (strcmp(names[i], s) == 0)
			return i;
	return -1;
}

static int make_bits(const struct loader *l, const char *key, const struct kgb_strs *strings, const char *const *names,
		     uint32_t *out)
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
			     PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_DOLLAR_ENDONLY, &code, &at, NULL);
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

	if (raw->severity == SEVERITY_ALLOW)
		return 0;
	for (size_t i = 0; i < KGB_ARRAY_LEN(keys); i++) {
		struct kgb_err why = KGB_ERR_INIT;
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(sizeof(((struct kgb_finding *)0)->message));
		if (!texts[i] || !*texts[i])
			return fail_rule(l, keys[i], "is missing");
		if (kgb_template_render(&text, texts[i], placeholder, &samples, &why) < 0)
			return fail_rule(l, keys[i], why.msg);
	}
	return 0;
}

static int load_rule(const struct loader *l, const struct raw_rule *raw, struct rule *out)
{
	static const char *const default_context[] = {"host"};
	struct kgb_strs contexts = raw->context;

	*out = (struct rule){
		.code = raw->code,
		.message = raw->message,
		.hint = raw->hint,
		.severity = (enum severity)raw->severity,
		.use = make_set(&raw->use),
		.on = make_set(&raw->on),
		.not_on = make_set(&raw->not_on),
		.names = make_set(&raw->names),
		.allow = make_set(&raw->allow),
	};
	if (raw->severity == SEVERITY_CHEAT && !kgb_str_starts(raw->code, "cheat."))
		return fail_rule(l, "code", "the code of a cheat starts with 'cheat.'");
	if (raw->severity == SEVERITY_CONTRACT && !kgb_str_starts(raw->code, "contract.") && !kgb_str_starts(raw->code, "l1."))
		return fail_rule(l, "code", "the code starts with 'contract.' or 'l1.'");
	if (!contexts.n)
		out->contexts = 1u << name_index(context_names, default_context[0]);
	else if (make_bits(l, "context", &contexts, context_names, &out->contexts) < 0)
		return -1;
	if (make_bits(l, "kind", &raw->kind, kind_names, &out->kinds) < 0 || check_texts(l, raw) < 0)
		return -1;
	if (!out->kinds)
		return fail_rule(l, "kind", "is empty");
	return compile(l, "match", raw->match, &out->match) < 0 || compile(l, "allow_match", raw->allow_match, &out->allow_match) < 0 ||
			       compile(l, "base_match", raw->base_match, &out->base_match) < 0 ?
		       -1 :
		       0;
}

static int load_policy(struct kgb_l1 *l1, const struct kgb_yaml *doc, struct kgb_err *err)
{
	struct raw_policy raw = {0};
	struct loader l = {.l1 = l1, .doc = doc, .err = err};

	if (kgb_decode(policy_table, doc, doc->root, &raw, &l1->arena, err) < 0)
		return -1;
	if (strcmp(raw.schema, "kgb.l1/1") != 0)
		return kgb_yaml_fail(doc, kgb_json_get(doc->root, "schema"), err, "schema: '%.40s' is not kgb.l1/1", raw.schema);
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

int kgb_l1_parse(const char *name, const char *text, size_t len, struct kgb_l1 **out, struct kgb_err *err)
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

/* ---- facts ---- */

struct fact {
	enum kind kind;
	uint32_t context; /* bit */
	const char *name, *use, *on, *owner, *function;
	int line;
};

/* A module-level name of the candidate. */
struct binding {
	const char *name;
	const cJSON *node;
	size_t *refs; /* indices of bindings; arena */
	size_t n_refs;
	bool has_kernel; /* is a jit function, or holds one */
	bool live;       /* can run in a judged process */
};

struct scan {
	const struct kgb_l1 *l1;
	const struct kgb_spec *spec;
	const cJSON *facts;
	struct kgb_arena arena;
	struct binding *bindings; /* sorted by name */
	size_t n_bindings;
	size_t *queue; /* scratch of n_bindings entries */
	bool *seen;
	struct kgb_finding *out;
	struct kgb_err *err;
};

static int malformed(const struct scan *s, const char *what)
{
	return kgb_fail(s->err, KGB_ERR_INVALID, "facts about the kernel: %s", what);
}

static int compare_bindings(const void *a, const void *b)
{
	return strcmp(((const struct binding *)a)->name, ((const struct binding *)b)->name);
}

static struct binding *find_binding(const struct scan *s, const char *name)
{
	struct binding key = {.name = name};
	return bsearch(&key, s->bindings, s->n_bindings, sizeof(key), compare_bindings);
}

/* Names in `list` that are bindings, as indices. Names of nothing (builtins' shadows that were deleted) drop out. */
static int read_refs(struct scan *s, const cJSON *list, size_t **out, size_t *n_out)
{
	const cJSON *item = NULL;
	size_t n = 0;

	if (!cJSON_IsArray(list))
		return malformed(s, "references are not a list");
	size_t *refs = kgb_arena_array(&s->arena, (size_t)cJSON_GetArraySize(list) + 1, sizeof(*refs));
	cJSON_ArrayForEach(item, list)
	{
		if (!cJSON_IsString(item))
			return malformed(s, "a reference is not a name");
		const struct binding *b = find_binding(s, item->valuestring);
		if (b)
			refs[n++] = (size_t)(b - s->bindings);
	}
	*out = refs;
	*n_out = n;
	return 0;
}

static int read_bindings(struct scan *s)
{
	const cJSON *list = kgb_json_get(s->facts, "bindings"), *item = NULL;

	if (!cJSON_IsArray(list))
		return malformed(s, "no bindings");
	size_t n = (size_t)cJSON_GetArraySize(list);
	s->bindings = kgb_arena_array(&s->arena, n + 1, sizeof(*s->bindings));
	s->queue = kgb_arena_array(&s->arena, n + 1, sizeof(*s->queue));
	s->seen = kgb_arena_array(&s->arena, n + 1, sizeof(*s->seen));
	cJSON_ArrayForEach(item, list)
	{
		const char *name = kgb_json_str(item, "name", NULL);
		if (!name)
			return malformed(s, "a binding without name");
		s->bindings[s->n_bindings++] =
			(struct binding){.name = name, .node = item, .has_kernel = kgb_json_bool(item, "jit", false)};
	}
	qsort(s->bindings, s->n_bindings, sizeof(*s->bindings), compare_bindings);
	for (size_t i = 0; i < s->n_bindings; i++)
		if (read_refs(s, kgb_json_get(s->bindings[i].node, "refs"), &s->bindings[i].refs, &s->bindings[i].n_refs) < 0)
			return -1;
	return 0;
}

static int read_kernels(struct scan *s, size_t *n_kernels)
{
	const cJSON *list = kgb_json_get(s->facts, "kernels"), *item = NULL;

	if (!cJSON_IsArray(list))
		return malformed(s, "no kernels");
	cJSON_ArrayForEach(item, list)
	{
		const char *owner = kgb_json_str(item, "owner", NULL);
		if (!owner)
			return malformed(s, "a kernel without owner");
		struct binding *b = find_binding(s, owner);
		if (b)
			b->has_kernel = true;
	}
	*n_kernels = (size_t)cJSON_GetArraySize(list);
	return 0;
}

/* Everything that is reached from the bindings in queue[0..n), themselves included, in s->seen. Returns true when a
 * kernel is among them. */
static bool reach(struct scan *s, size_t n)
{
	bool kernel = false;

	memset(s->seen, 0, s->n_bindings * sizeof(*s->seen));
	size_t unique = 0;
	for (size_t i = 0; i < n; i++) {
		if (s->seen[s->queue[i]])
			continue;
		s->seen[s->queue[i]] = true;
		s->queue[unique++] = s->queue[i];
	}
	for (size_t head = 0, tail = unique; head < tail; head++) {
		const struct binding *b = &s->bindings[s->queue[head]];
		kernel |= b->has_kernel;
		for (size_t i = 0; i < b->n_refs; i++) {
			if (s->seen[b->refs[i]])
				continue;
			s->seen[b->refs[i]] = true;
			s->queue[tail++] = b->refs[i];
		}
	}
	return kernel;
}

/* What can run when a judge imports the file and calls its entries. */
static int mark_live(struct scan *s)
{
	size_t *refs = NULL, n = 0, n_queue = 0;

	if (read_refs(s, kgb_json_get(s->facts, "module_refs"), &refs, &n) < 0)
		return -1;
	memset(s->seen, 0, s->n_bindings * sizeof(*s->seen));
	for (size_t i = 0; i < n + s->spec->n_interfaces; i++) {
		const struct binding *b =
			i < n ? &s->bindings[refs[i]] : find_binding(s, s->spec->interfaces[i - n].entry);
		if (!b || s->seen[b - s->bindings])
			continue;
		s->seen[b - s->bindings] = true;
		s->queue[n_queue++] = (size_t)(b - s->bindings);
	}
	(void)reach(s, n_queue);
	for (size_t i = 0; i < s->n_bindings; i++)
		s->bindings[i].live = s->seen[i];
	return 0;
}

/* ---- contract ---- */

static const char signature_hint[] = "Define the function with the parameters of its schema, in their order; more "
				     "parameters need defaults.";

/* The candidate's parameters as Python will bind them. */
struct signature {
	const cJSON *params;
	size_t n_positional; /* that can be given by position */
	bool takes_more, takes_any_name;
};

static bool kind_is(const cJSON *param, const char *kind)
{
	return strcmp(kgb_json_str(param, "kind", ""), kind) == 0;
}

static struct signature read_signature(const cJSON *params)
{
	struct signature sig = {.params = params};
	const cJSON *param = NULL;
	cJSON_ArrayForEach(param, params)
	{
		sig.n_positional += kind_is(param, "positional") || kind_is(param, "positional_only");
		sig.takes_more |= kind_is(param, "var_positional");
		sig.takes_any_name |= kind_is(param, "var_keyword");
	}
	return sig;
}

/* Index of a named parameter in the candidate's list, -1 absent. */
static int param_index(const struct signature *sig, const char *name)
{
	const cJSON *param = NULL;
	int i = 0;
	cJSON_ArrayForEach(param, sig->params)
	{
		if (strcmp(kgb_json_str(param, "name", ""), name) == 0)
			return kind_is(param, "var_positional") || kind_is(param, "var_keyword") ? -1 : i;
		i++;
	}
	return -1;
}

static size_t count_positional(const struct kgb_interface *interface)
{
	size_t n = 0;
	while (n < interface->n_params && !interface->params[n].keyword)
		n++;
	return n;
}

static const struct kgb_param *spec_param(const struct kgb_interface *interface, const char *name)
{
	for (size_t i = 0; i < interface->n_params; i++)
		if (strcmp(interface->params[i].name, name) == 0)
			return &interface->params[i];
	return NULL;
}

/* A parameter at position i that bears the name of another one of the schema has been put in a wrong place. */
static int check_positions(struct scan *s, const struct kgb_interface *in, const struct signature *sig, int line)
{
	size_t n_pos = count_positional(in);

	if (sig->n_positional < n_pos && !sig->takes_more)
		return contract(s->out, "contract.signature", line, signature_hint,
				"%s takes %zu positional parameters but is called with %zu: %.200s", in->entry, sig->n_positional,
				n_pos, in->schema);
	for (size_t i = 0; i < n_pos && i < sig->n_positional; i++) {
		const char *name = kgb_json_str(cJSON_GetArrayItem(sig->params, (int)i), "name", "");
		const struct kgb_param *named = spec_param(in, name);
		if (named && named != &in->params[i])
			return contract(s->out, "contract.signature", line, signature_hint,
					"%s: parameter %zu is '%.60s' but must be '%s': %.200s", in->entry, i + 1, name,
					in->params[i].name, in->schema);
	}
	return 0;
}

static int check_keywords(struct scan *s, const struct kgb_interface *in, const struct signature *sig, int line)
{
	size_t n_pos = count_positional(in);

	for (size_t i = n_pos; i < in->n_params; i++) {
		int at = param_index(sig, in->params[i].name);
		const cJSON *param = at < 0 ? NULL : cJSON_GetArrayItem(sig->params, at);
		bool good = param ? !kind_is(param, "positional_only") && (kind_is(param, "keyword") || (size_t)at >= n_pos) :
				    sig->takes_any_name;
		if (!good)
			return contract(s->out, "contract.signature", line, signature_hint,
					"%s does not take '%s' as a keyword argument: %.200s", in->entry, in->params[i].name,
					in->schema);
	}
	return 0;
}

static int check_leftovers(struct scan *s, const struct kgb_interface *in, const struct signature *sig, int line)
{
	const cJSON *param = NULL;
	size_t n_pos = count_positional(in), i = 0;

	cJSON_ArrayForEach(param, sig->params)
	{
		const char *name = kgb_json_str(param, "name", "");
		const struct kgb_param *named = spec_param(in, name);
		bool by_position = i < n_pos && i < sig->n_positional;
		bool by_name = named && named->keyword;
		if (!by_position && !by_name && !kgb_json_bool(param, "default", false))
			return contract(s->out, "contract.signature", line, signature_hint,
					"%s: parameter '%.60s' has no default and is not in the schema: %.200s", in->entry, name,
					in->schema);
		i++;
	}
	return 0;
}

/* Decorators that keep the signature; behind any other one it is unknown until the call. */
static bool keeps_signature(const cJSON *decorators)
{
	static const char *const known[] = {"torch.no_grad", "torch.inference_mode", "torch.enable_grad", "functools.wraps",
					    "functools.lru_cache", "functools.cache"};
	const cJSON *item = NULL;
	cJSON_ArrayForEach(item, decorators)
	{
		bool found = false;
		for (size_t i = 0; i < KGB_ARRAY_LEN(known); i++)
			found |= cJSON_IsString(item) && strcmp(item->valuestring, known[i]) == 0;
		if (!found)
			return false;
	}
	return true;
}

static int check_entry(struct scan *s, const struct kgb_interface *in, const struct binding *b)
{
	static const char hint[] = "Define it as a plain function: def name(...): at module level.";
	const cJSON *params = kgb_json_get(b->node, "params");
	const char *kind = kgb_json_str(b->node, "kind", "");
	int line = (int)kgb_json_i64(b->node, "line", 0);

	if (strcmp(kind, "class") == 0 || strcmp(kind, "import") == 0)
		return contract(s->out, "contract.entry_kind", line, hint, "%s is %s, not a function", in->entry,
				strcmp(kind, "class") == 0 ? "a class" : "imported");
	if (kgb_json_bool(b->node, "jit", false))
		return contract(s->out, "contract.entry_kind", line,
				"Keep kernels under other names and launch them from a plain function.",
				"%s is a jit function; it is called as an ordinary function", in->entry);
	if (kgb_json_bool(b->node, "is_async", false) || kgb_json_bool(b->node, "is_generator", false))
		return contract(s->out, "contract.entry_kind", line, hint, "%s is a coroutine or generator, not a function",
				in->entry);
	if (!cJSON_IsArray(params) || !keeps_signature(kgb_json_get(b->node, "decorators")))
		return 0;
	struct signature sig = read_signature(params);
	int found = check_positions(s, in, &sig, line);
	if (!found)
		found = check_keywords(s, in, &sig, line);
	return found ? found : check_leftovers(s, in, &sig, line);
}

static int check_missing(struct scan *s)
{
	KGB_AUTO(buf) struct kgb_buf missing = KGB_BUF_INIT(300);
	const char *schema = NULL;

	for (size_t i = 0; i < s->spec->n_interfaces; i++) {
		if (find_binding(s, s->spec->interfaces[i].entry))
			continue;
		kgb_buf_addf(&missing, "%s%s", missing.len ? ", " : "", s->spec->interfaces[i].entry);
		schema = schema ? schema : s->spec->interfaces[i].schema;
	}
	if (!schema)
		return 0;
	return contract(s->out, "contract.missing_entry", 0, "Define every function that the task lists, at module level.",
			"not defined: %s (%.150s)", missing.ptr, schema);
}

static int check_contract(struct scan *s, size_t n_kernels)
{
	int found = check_missing(s);

	for (size_t i = 0; i < s->spec->n_interfaces && !found; i++)
		found = check_entry(s, &s->spec->interfaces[i], find_binding(s, s->spec->interfaces[i].entry));
	if (found || s->spec->triton == KGB_TRITON_NONE)
		return found;
	if (n_kernels == 0)
		return contract(s->out, "contract.no_kernel", 0, "Write at least one @triton.jit function and launch it.",
				"the file defines no @triton.jit function");
	for (size_t i = 0; i < s->spec->n_interfaces; i++) {
		const char *entry = s->spec->interfaces[i].entry;
		const struct binding *b = find_binding(s, entry);
		s->queue[0] = (size_t)(b - s->bindings);
		if (!reach(s, 1))
			return contract(s->out, "contract.kernel_unreachable", (int)kgb_json_i64(b->node, "line", 0),
					"Launch a kernel of yours from every entry function, directly or through helpers.",
					"%s reaches no @triton.jit function", entry);
	}
	return 0;
}

/* ---- L1 ---- */

/* -1: the match hit a limit, which counts as a hit of the rule and never of an exception. */
static int matches(const struct kgb_l1 *l1, const pcre2_code *code, const char *text)
{
	int rc = pcre2_match(code, (PCRE2_SPTR)text, strlen(text), 0, 0, l1->match_data, l1->context);
	if (rc >= 0)
		return 1;
	return rc == PCRE2_ERROR_NOMATCH ? 0 : -1;
}

static bool rule_applies(const struct kgb_l1 *l1, const struct rule *rule, const struct fact *fact)
{
	if (!(rule->kinds & 1u << fact->kind) || !(rule->contexts & fact->context))
		return false;
	if (rule->use.n && !set_has(&rule->use, fact->use))
		return false;
	if ((rule->on.n && !set_has(&rule->on, fact->on)) || set_has(&rule->not_on, fact->on))
		return false;
	if (rule->names.n && !set_has(&rule->names, fact->name))
		return false;
	bool allows = rule->severity == SEVERITY_ALLOW;
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

static const struct rule *find_rule(const struct kgb_l1 *l1, const struct fact *fact)
{
	for (size_t i = 0; i < l1->n_rules; i++)
		if (rule_applies(l1, &l1->rules[i], fact))
			return &l1->rules[i];
	return NULL;
}

/* "param:other" in an entry function: a tensor or a value, as the spec says; elsewhere nobody knows. */
static const char *resolve_param(const struct scan *s, const struct fact *fact, const char *name)
{
	const struct binding *b = find_binding(s, fact->owner);
	const struct kgb_interface *in = NULL;

	for (size_t i = 0; i < s->spec->n_interfaces; i++)
		if (strcmp(s->spec->interfaces[i].entry, fact->owner) == 0)
			in = &s->spec->interfaces[i];
	if (!b || !in || strcmp(fact->owner, fact->function) != 0)
		return "param";
	struct signature sig = read_signature(kgb_json_get(b->node, "params"));
	int at = param_index(&sig, name);
	if (at < 0)
		return "param";
	const struct kgb_param *param =
		(size_t)at < count_positional(in) ? &in->params[at] : spec_param(in, name);
	if (!param)
		return "param";
	return param->kind == KGB_PARAM_VALUE ? "value" : "tensor";
}

static int read_fact(const struct scan *s, const cJSON *node, struct fact *out)
{
	int kind = name_index(kind_names, kgb_json_str(node, "kind", ""));
	int context = name_index(context_names, kgb_json_str(node, "ctx", ""));

	*out = (struct fact){
		.name = kgb_json_str(node, "name", NULL),
		.use = kgb_json_str(node, "use", NULL),
		.on = kgb_json_str(node, "on", NULL),
		.owner = kgb_json_str(node, "owner", NULL),
		.function = kgb_json_str(node, "fn", NULL),
		.line = (int)kgb_json_i64(node, "line", 0),
	};
	if (kind < 0 || context < 0 || !out->name || !out->use || !out->on || !out->owner || !out->function)
		return malformed(s, "an entry of facts is incomplete or of an unknown kind");
	out->kind = (enum kind)kind;
	out->context = 1u << context;
	if (kgb_str_starts(out->on, "param:"))
		out->on = resolve_param(s, out, out->on + strlen("param:"));
	return 0;
}

static void render(char *out, size_t size, const char *tmpl, const struct placeholders *values)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	if (kgb_template_render(&text, tmpl, placeholder, values, NULL) < 0)
		KGB_UNREACHABLE(); /* check_texts rendered it once */
	put_text(out, size, text.ptr);
}

static void fill_finding(const struct rule *rule, const struct fact *fact, struct kgb_finding *out)
{
	KGB_AUTO(free) char *name = kgb_xstrndup(fact->name, 120);
	KGB_AUTO(free) char *function = kgb_xstrndup(fact->function, 80);
	KGB_AUTO(free) char *on = kgb_xstrndup(fact->on, 80);
	struct placeholders values = {name, function, on};

	*out = (struct kgb_finding){
		.code = rule->code,
		.stage = kgb_str_starts(rule->code, "contract.") ? "contract" : "l1",
		.is_cheat = rule->severity == SEVERITY_CHEAT,
		.line = fact->line,
	};
	render(out->message, sizeof(out->message), rule->message, &values);
	render(out->hint, sizeof(out->hint), rule->hint, &values);
}

/* The first fact in source order of the most severe kind. 1 found, 0 none, -1 malformed. */
static int check_l1(struct scan *s, bool *is_cheat)
{
	const cJSON *list = kgb_json_get(s->facts, "facts"), *node = NULL;
	const struct rule *worst = NULL;
	struct fact worst_fact = {0};

	if (!cJSON_IsArray(list))
		return malformed(s, "no list of facts");
	cJSON_ArrayForEach(node, list)
	{
		struct fact fact;
		if (read_fact(s, node, &fact) < 0)
			return -1;
		const struct binding *owner = find_binding(s, fact.owner);
		if (owner && !owner->live)
			continue;
		const struct rule *rule = find_rule(s->l1, &fact);
		if (!rule || rule->severity == SEVERITY_ALLOW)
			continue;
		if (!worst || rule->severity > worst->severity ||
		    (rule->severity == worst->severity && fact.line < worst_fact.line)) {
			worst = rule;
			worst_fact = fact;
		}
	}
	if (!worst)
		return 0;
	*is_cheat = worst->severity == SEVERITY_CHEAT;
	fill_finding(worst, &worst_fact, s->out);
	return 1;
}

/* What ast_facts.py could not read. */
static int check_error(struct scan *s, const cJSON *error)
{
	static const struct {
		const char *kind, *code, *hint;
	} kinds[] = {
		{"syntax", "contract.syntax", "Correct the syntax; python -m py_compile shows the place."},
		{"encoding", "contract.encoding", "Save the file as UTF-8."},
		{"limit", "contract.too_complex", "Write simpler code: fewer names, less nesting."},
	};
	const char *kind = kgb_json_str(error, "kind", "");

	const char *text = kgb_json_str(error, "message", "unknown");
	for (size_t i = 0; i < KGB_ARRAY_LEN(kinds); i++)
		if (strcmp(kind, kinds[i].kind) == 0)
			return contract(s->out, kinds[i].code, (int)kgb_json_i64(error, "line", 0), kinds[i].hint, "%s: %.300s", kind,
					text);
	return malformed(s, "an unknown kind of error");
}

static int scan_facts(struct scan *s)
{
	const cJSON *error = cJSON_GetObjectItemCaseSensitive(s->facts, "error");
	size_t n_kernels = 0;
	bool is_cheat = false;

	if (strcmp(kgb_json_str(s->facts, "schema", ""), "kgb.ast_facts/1") != 0)
		return malformed(s, "not of schema kgb.ast_facts/1");
	if (!error)
		return malformed(s, "no 'error'");
	if (!cJSON_IsNull(error))
		return check_error(s, error);
	if (read_bindings(s) < 0 || read_kernels(s, &n_kernels) < 0 || mark_live(s) < 0)
		return -1;
	int found = check_l1(s, &is_cheat);
	if (found < 0 || is_cheat)
		return found;
	/* A broken contract tells an honest author more than a rule about names, so it comes before those. */
	struct kgb_finding finding = *s->out;
	if (check_contract(s, n_kernels))
		return 1;
	*s->out = finding;
	return found;
}

int kgb_scan_facts(const struct kgb_l1 *l1, const struct kgb_spec *spec, const cJSON *facts, struct kgb_finding *out,
		   struct kgb_err *err)
{
	struct kgb_finding finding = {0};
	struct scan s = {.l1 = l1, .spec = spec, .facts = facts, .out = &finding, .err = err};
	int rc = scan_facts(&s);

	kgb_arena_release(&s.arena);
	if (rc > 0)
		*out = finding;
	return rc;
}
