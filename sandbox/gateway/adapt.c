/* SPDX-License-Identifier: MIT */
#include "sandbox/gateway/adapt.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/jsonw.h"
#include "base/mem.h"
#include "base/str.h"

/* Real requests have a dozen. */
#define MAX_MEMBERS 128
/* Of a value that is read whole: tools and small options. */
#define MAX_VALUE_BYTES ((size_t)4 << 20)

/* ---- where values begin and end ---- */

struct member {
	size_t key, key_end; /* without the quotes */
	size_t value, value_end;
	const char *replacement; /* borrowed; NULL: as it is */
	bool removed;
};

struct body {
	const char *bytes;
	size_t len;
	struct member members[MAX_MEMBERS];
	size_t n;
};

static size_t skip_blanks(const struct body *body, size_t at)
{
	while (at < body->len && strchr(" \n\r\t", body->bytes[at]) && body->bytes[at])
		at++;
	return at;
}

/* Behind the string whose quote is at `at`; 0: it does not end. */
static size_t skip_string(const struct body *body, size_t at)
{
	const char *bytes = body->bytes;
	for (at++; at < body->len;) {
		const char *quote = memchr(bytes + at, '"', body->len - at);
		if (!quote)
			return 0;
		size_t end = (size_t)(quote - bytes), slashes = 0;
		while (end - slashes > at && bytes[end - slashes - 1] == '\\')
			slashes++;
		at = end + 1;
		if (slashes % 2 == 0)
			return at;
		/* The quote was escaped: what came before it counts no more. */
	}
	return 0;
}

/* Behind the object or list that begins at `at`; 0: it does not end. */
static size_t skip_nested(const struct body *body, size_t at)
{
	size_t depth = 0;
	while (at < body->len) {
		char c = body->bytes[at];
		if (c == '"') {
			at = skip_string(body, at);
			if (at == 0)
				return 0;
			continue;
		}
		at++;
		if (c == '{' || c == '[')
			depth++;
		else if ((c == '}' || c == ']') && --depth == 0)
			return at;
	}
	return 0;
}

static size_t skip_value(const struct body *body, size_t at)
{
	if (at >= body->len)
		return 0;
	char c = body->bytes[at];
	if (c == '"')
		return skip_string(body, at);
	if (c == '{' || c == '[')
		return skip_nested(body, at);
	size_t end = at;
	while (end < body->len && body->bytes[end] && !strchr(",}] \n\r\t\"", body->bytes[end]))
		end++;
	return end > at ? end : 0;
}

static bool same_key(const struct body *body, const struct member *a, const struct member *b)
{
	size_t len = a->key_end - a->key;
	return len == b->key_end - b->key &&
	       memcmp(body->bytes + a->key, body->bytes + b->key, len) == 0;
}

static int add_member(struct body *body, const struct member *member, struct kgb_err *err)
{
	if (memchr(body->bytes + member->key, '\\', member->key_end - member->key))
		return kgb_fail(err, KGB_ERR_INVALID, "the request has a key with an escape");
	for (size_t i = 0; i < body->n; i++)
		if (same_key(body, &body->members[i], member))
			return kgb_fail(err, KGB_ERR_INVALID, "the request has a key twice");
	if (body->n == MAX_MEMBERS)
		return kgb_fail(err, KGB_ERR_INVALID, "the request has over %d keys", MAX_MEMBERS);
	body->members[body->n++] = *member;
	return 0;
}

/* `"key":` at `at`: tells where the key ends and the value begins. */
static bool scan_key(const struct body *body, size_t at, struct member *out)
{
	size_t end = at < body->len && body->bytes[at] == '"' ? skip_string(body, at) : 0;
	if (end == 0)
		return false;
	*out = (struct member){.key = at + 1, .key_end = end - 1};
	end = skip_blanks(body, end);
	if (end >= body->len || body->bytes[end] != ':')
		return false;
	out->value = skip_blanks(body, end + 1);
	return true;
}

/* One `"key": value` at `*at`; leaves `*at` behind it. */
static int scan_member(struct body *body, size_t *at, struct kgb_err *err)
{
	struct member member;
	if (scan_key(body, *at, &member))
		member.value_end = skip_value(body, member.value);
	else
		member.value_end = 0;
	if (member.value_end == 0)
		return kgb_fail(err, KGB_ERR_INVALID, "the request is not a JSON object");
	*at = member.value_end;
	return add_member(body, &member, err);
}

static int scan(struct body *body, struct kgb_err *err)
{
	size_t at = skip_blanks(body, 0);
	bool whole = false, open = at < body->len && body->bytes[at] == '{';
	if (open)
		at = skip_blanks(body, at + 1);
	if (open && at < body->len && body->bytes[at] == '}')
		whole = true;
	while (open && !whole) {
		if (scan_member(body, &at, err) < 0)
			return -1;
		at = skip_blanks(body, at);
		char c = '\0';
		if (at < body->len)
			c = body->bytes[at];
		whole = c == '}';
		open = c == ',';
		if (open)
			at = skip_blanks(body, at + 1);
	}
	if (!whole || skip_blanks(body, at + 1) != body->len)
		return kgb_fail(err, KGB_ERR_INVALID, "the request is not a JSON object");
	return 0;
}

/* ---- what is changed ---- */

static bool key_is(const struct body *body, const struct member *member, const char *key)
{
	size_t len = strlen(key);
	return member->key_end - member->key == len &&
	       memcmp(body->bytes + member->key, key, len) == 0;
}

static struct member *find(struct body *body, const char *key)
{
	for (size_t i = 0; i < body->n; i++)
		if (key_is(body, &body->members[i], key))
			return &body->members[i];
	return NULL;
}

static bool value_is(const struct body *body, const struct member *member, const char *text)
{
	size_t len = strlen(text);
	return member && member->value_end - member->value == len &&
	       memcmp(body->bytes + member->value, text, len) == 0;
}

static int parse_value(const struct body *body, const struct member *member, cJSON **out,
		       struct kgb_err *err)
{
	size_t len = member->value_end - member->value;
	if (len > MAX_VALUE_BYTES)
		return kgb_fail(err, KGB_ERR_INVALID, "%.*s: over %zu bytes",
				(int)(member->key_end - member->key), body->bytes + member->key,
				MAX_VALUE_BYTES);
	return kgb_json_parse(body->bytes + member->value, len, out, err);
}

/* Tools that the CLI runs itself, in its sandbox. A list of these, not of the others: providers
 * invent new ones. */
static bool runs_at_the_client(enum kgb_endpoint endpoint, const cJSON *tool)
{
	static const char *const anthropic[] = {"bash_", "text_editor_", "memory_", "computer_"};
	const char *type = kgb_json_str(tool, "type", "");
	if (!cJSON_IsObject(tool))
		return false;
	if (kgb_str_eq(type, "custom") || kgb_str_eq(type, "function"))
		return true;
	if (endpoint == KGB_ENDPOINT_RESPONSES)
		return kgb_str_eq(type, "local_shell") || kgb_str_eq(type, "apply_patch") ||
		       (kgb_str_eq(type, "shell") &&
			kgb_str_eq(kgb_json_str(tool, "environment.type", ""), "local"));
	if (endpoint == KGB_ENDPOINT_CHAT)
		return false;
	if (!kgb_json_get(tool, "type"))
		return true;
	for (size_t i = 0; i < KGB_ARRAY_LEN(anthropic); i++)
		if (kgb_str_starts(type, anthropic[i]))
			return true;
	return false;
}

/* A choice of a tool that is gone would be an error. */
static bool chooses(const cJSON *choice, const cJSON *tool)
{
	const char *type = kgb_json_str(choice, "type", ""),
		   *name = kgb_json_str(choice, "name", "");
	return kgb_str_eq(type, kgb_json_str(tool, "type", "-")) ||
	       (*name && kgb_str_eq(name, kgb_json_str(tool, "name", "-")));
}

static int filter_tools(struct body *body, enum kgb_endpoint endpoint, struct kgb_buf *text,
			struct kgb_adapted *out, struct kgb_err *err)
{
	struct member *tools = find(body, "tools"), *choice = find(body, "tool_choice");
	KGB_AUTO(json) cJSON *list = NULL;
	KGB_AUTO(json) cJSON *chosen = NULL;
	if (!tools || value_is(body, tools, "null"))
		return 0;
	if (parse_value(body, tools, &list, err) < 0 ||
	    (choice && parse_value(body, choice, &chosen, err) < 0))
		return kgb_ctx(err, "tools");
	if (!cJSON_IsArray(list))
		return kgb_fail(err, KGB_ERR_INVALID, "tools: not a list");
	struct kgb_jsonw w;
	size_t n_kept = 0;
	kgb_jsonw_init(&w, text, 0);
	kgb_jsonw_array(&w);
	const cJSON *tool;
	cJSON_ArrayForEach(tool, list) {
		if (runs_at_the_client(endpoint, tool)) {
			kgb_jsonw_tree(&w, tool);
			n_kept++;
			continue;
		}
		out->n_tools_removed++;
		if (choice && chooses(chosen, tool))
			choice->removed = true;
	}
	kgb_jsonw_array_end(&w);
	if (out->n_tools_removed == 0)
		return 0;
	tools->replacement = text->ptr;
	tools->removed = n_kept == 0;
	if (choice && n_kept == 0)
		choice->removed = true;
	return 0;
}

/* Members that switch on what the provider runs, besides tools. */
static void remove_switches(struct body *body, struct kgb_adapted *out)
{
	static const char *const keys[] = {"mcp_servers", "container", "web_search_options",
					   "plugins"};
	for (size_t i = 0; i < KGB_ARRAY_LEN(keys); i++) {
		struct member *member = find(body, keys[i]);
		if (!member || value_is(body, member, "null"))
			continue;
		member->removed = true;
		out->n_tools_removed++;
	}
}

/* ---- what is refused ---- */

/* Members that make a request cost what cannot be seen in it, and their values that do not. */
static int refuse_unbounded(struct body *body, enum kgb_endpoint endpoint, struct kgb_err *err)
{
	static const struct {
		enum kgb_endpoint endpoint; /* NONE: all */
		const char *key;
		const char *harmless[3]; /* besides null */
	} list[] = {
		{KGB_ENDPOINT_CHAT, "n", {"1"}},
		{KGB_ENDPOINT_RESPONSES, "background", {"false"}},
		{KGB_ENDPOINT_RESPONSES, "previous_response_id", {NULL}},
		{KGB_ENDPOINT_RESPONSES, "conversation", {NULL}},
		{KGB_ENDPOINT_RESPONSES, "prompt", {NULL}},
		{KGB_ENDPOINT_NONE,
		 "service_tier",
		 {"\"auto\"", "\"default\"", "\"standard_only\""}},
		{KGB_ENDPOINT_NONE, "speed", {"\"standard\""}},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(list); i++) {
		const struct member *member = find(body, list[i].key);
		if (!member || value_is(body, member, "null") ||
		    (list[i].endpoint != KGB_ENDPOINT_NONE && list[i].endpoint != endpoint))
			continue;
		bool harmless = false;
		for (size_t k = 0; k < KGB_ARRAY_LEN(list[i].harmless); k++)
			harmless = harmless || (list[i].harmless[k] &&
						value_is(body, member, list[i].harmless[k]));
		if (!harmless)
			return kgb_fail(err, KGB_ERR_INVALID,
					"%s: not taken with this value: what it costs cannot be "
					"known before",
					list[i].key);
	}
	return 0;
}

/* Whether a member of some content makes the provider get the content from elsewhere. */
static bool fetches(const struct body *body, enum kgb_endpoint endpoint,
		    const struct member *member)
{
	static const char inline_url[] = "\"data:";
	bool is_text = body->bytes[member->value] == '"';
	if (key_is(body, member, "file_id"))
		return !value_is(body, member, "null");
	if (endpoint == KGB_ENDPOINT_CHAT || endpoint == KGB_ENDPOINT_RESPONSES) {
		bool is_url = key_is(body, member, "image_url") ||
			      key_is(body, member, "file_url") ||
			      (endpoint == KGB_ENDPOINT_CHAT && key_is(body, member, "url"));
		return is_url && is_text &&
		       (member->value_end - member->value < sizeof(inline_url) ||
			memcmp(body->bytes + member->value, inline_url, strlen(inline_url)) != 0);
	}
	/* Only sources have these types. */
	return key_is(body, member, "type") && is_text &&
	       (value_is(body, member, "\"url\"") || value_is(body, member, "\"file\"") ||
		memchr(body->bytes + member->value, '\\', member->value_end - member->value));
}

/* One pass over all keys at any depth: a string with a colon behind it is one. */
static int refuse_fetched(const struct body *body, const struct member *content,
			  enum kgb_endpoint endpoint, struct kgb_err *err)
{
	bool messages = endpoint == KGB_ENDPOINT_MESSAGES || endpoint == KGB_ENDPOINT_COUNT_TOKENS;
	size_t at = content->value;
	while (at > 0 && at < content->value_end) {
		struct member member;
		if (body->bytes[at] != '"') {
			at++;
			continue;
		}
		if (!scan_key(body, at, &member)) {
			at = skip_string(body, at);
			continue;
		}
		at = member.value;
		if (at < body->len && strchr("{[", body->bytes[at])) {
			/* What a tool was called with is the model's own. */
			if (messages && key_is(body, &member, "input"))
				at = skip_value(body, at);
			member.value_end = member.value + 1;
		} else {
			member.value_end = skip_value(body, at);
			at = member.value_end;
		}
		if (at == 0)
			break;
		if (memchr(body->bytes + member.key, '\\', member.key_end - member.key))
			return kgb_fail(err, KGB_ERR_INVALID,
					"the request's content has a key with an escape");
		if (fetches(body, endpoint, &member))
			return kgb_fail(err, KGB_ERR_INVALID,
					"content that the provider would have to fetch is not "
					"taken: send it in the request");
	}
	return at > 0 ? 0 : kgb_fail(err, KGB_ERR_INVALID, "the request is not a JSON object");
}

static int refuse_what_nobody_can_bound(struct body *body, enum kgb_endpoint endpoint,
					struct kgb_err *err)
{
	static const char *const keys[] = {"messages", "system", "input"};
	if (refuse_unbounded(body, endpoint, err) < 0)
		return -1;
	for (size_t i = 0; i < KGB_ARRAY_LEN(keys); i++) {
		const struct member *content = find(body, keys[i]);
		if (content && refuse_fetched(body, content, endpoint, err) < 0)
			return kgb_ctx(err, "%s", keys[i]);
	}
	return 0;
}

/* ---- the whole ---- */

/* A streamed chat tells its usage only when asked. Gives the value to send; NULL: no change. */
static int ask_for_usage(struct body *body, struct kgb_buf *text, bool *asked, struct kgb_err *err)
{
	struct member *options = find(body, "stream_options");
	KGB_AUTO(json) cJSON *own = NULL;
	*asked = false;
	if (!value_is(body, find(body, "stream"), "true"))
		return 0;
	if (options && parse_value(body, options, &own, err) < 0)
		return kgb_ctx(err, "stream_options");
	if (kgb_json_bool(own, "include_usage", false))
		return 0;
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, text, 0);
	kgb_jsonw_object(&w);
	kgb_jsonw_kbool(&w, "include_usage", true);
	const cJSON *option;
	cJSON_ArrayForEach(option, own) {
		if (!option->string || kgb_str_eq(option->string, "include_usage"))
			continue;
		kgb_jsonw_key(&w, option->string);
		kgb_jsonw_tree(&w, option);
	}
	kgb_jsonw_object_end(&w);
	if (options)
		options->replacement = text->ptr;
	*asked = true;
	return 0;
}

static void read_asked(struct body *body, struct kgb_adapted *out)
{
	static const char *const keys[] = {"max_tokens", "max_completion_tokens",
					   "max_output_tokens"};
	struct kgb_err err = KGB_ERR_INIT;
	const struct member *model = find(body, "model");
	KGB_AUTO(json) cJSON *name = NULL;
	if (model && model->value_end - model->value < 6 * KGB_USAGE_MODEL_LEN &&
	    parse_value(body, model, &name, &err) == 0 && cJSON_IsString(name))
		snprintf(out->model, sizeof(out->model), "%s", name->valuestring);
	for (size_t i = 0; i < KGB_ARRAY_LEN(keys); i++) {
		const struct member *limit = find(body, keys[i]);
		int64_t value;
		if (!limit || value_is(body, limit, "null"))
			continue;
		KGB_AUTO(free)
		char *text =
			kgb_xstrndup(body->bytes + limit->value, limit->value_end - limit->value);
		/* 1e99, "5": who knows what the provider makes of it. */
		if (kgb_parse_i64(text, 0, KGB_MAX_OUTPUT_TOKENS, &value, &err) < 0)
			value = KGB_MAX_OUTPUT_TOKENS;
		if (value > out->max_output_tokens)
			out->max_output_tokens = value;
	}
}

/* The members that are left, with `more` behind them when it is not NULL. */
static void print(const struct body *body, const char *more, struct kgb_buf *out)
{
	const char *comma = "";
	kgb_buf_addc(out, '{');
	for (size_t i = 0; i < body->n; i++) {
		const struct member *m = &body->members[i];
		if (m->removed)
			continue;
		kgb_buf_adds(out, comma);
		kgb_buf_add(out, body->bytes + m->key - 1, m->key_end - m->key + 2);
		kgb_buf_addc(out, ':');
		if (m->replacement)
			kgb_buf_adds(out, m->replacement);
		else
			kgb_buf_add(out, body->bytes + m->value, m->value_end - m->value);
		comma = ",";
	}
	if (more) {
		kgb_buf_adds(out, comma);
		kgb_buf_adds(out, more);
	}
	kgb_buf_addc(out, '}');
}

static int adapt(struct body *body, const struct kgb_adapt_spec *spec, struct kgb_adapted *out,
		 struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf model = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf tools = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf options = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf more = KGB_BUF_INIT(0);
	struct member *asked_model = find(body, "model");
	bool changed = false, asked = false;
	read_asked(body, out);
	if (spec->model && asked_model) {
		struct kgb_jsonw w;
		kgb_jsonw_init(&w, &model, 0);
		kgb_jsonw_str(&w, spec->model);
		changed = !value_is(body, asked_model, model.ptr);
		if (changed)
			asked_model->replacement = model.ptr;
		snprintf(out->model, sizeof(out->model), "%s", spec->model);
	}
	if (!spec->allow_provider_tools) {
		if (refuse_what_nobody_can_bound(body, spec->endpoint, err) < 0 ||
		    filter_tools(body, spec->endpoint, &tools, out, err) < 0)
			return -1;
		remove_switches(body, out);
	}
	if (spec->endpoint == KGB_ENDPOINT_CHAT && ask_for_usage(body, &options, &asked, err) < 0)
		return -1;
	if (asked && !find(body, "stream_options"))
		kgb_buf_addf(&more, "\"stream_options\":%s", options.ptr);
	if (changed || asked || out->n_tools_removed > 0)
		print(body, more.len ? more.ptr : NULL, &out->body);
	return 0;
}

int kgb_adapt_request(const struct kgb_adapt_spec *spec, const char *body, size_t len,
		      struct kgb_adapted *out, struct kgb_err *err)
{
	struct body *read = kgb_xcalloc(1, sizeof(*read));
	read->bytes = body;
	read->len = len;
	int rc = scan(read, err);
	if (rc == 0)
		rc = adapt(read, spec, out, err);
	kgb_free(read);
	return rc;
}

void kgb_adapted_release(struct kgb_adapted *adapted)
{
	kgb_buf_release(&adapted->body);
}
