/* SPDX-License-Identifier: MIT */
#include "sandbox/request/rewrite_request.h"

#include <stdio.h>
#include <string.h>

#include "base/formats/json.h"
#include "base/formats/jsonw.h"
#include "base/mem.h"
#include "base/str.h"
#include "sandbox/request/body.h"
#include "sandbox/request/unbillable.h"

/* ---- changes ---- */

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

/* Remove the choice of a removed tool, which would be an error. */
static bool chooses(const cJSON *choice, const cJSON *tool)
{
	const char *type = kgb_json_str(choice, "type", ""),
		   *name = kgb_json_str(choice, "name", "");
	return kgb_str_eq(type, kgb_json_str(tool, "type", "-")) ||
	       (*name && kgb_str_eq(name, kgb_json_str(tool, "name", "-")));
}

static int filter_tools(struct kgb_body *body, enum kgb_endpoint endpoint, struct kgb_buf *text,
			struct kgb_rewritten *out, struct kgb_err *err)
{
	struct kgb_member *tools = kgb_body_find(body, "tools"),
			  *choice = kgb_body_find(body, "tool_choice");
	KGB_AUTO(json) cJSON *list = NULL;
	KGB_AUTO(json) cJSON *chosen = NULL;
	if (!tools || kgb_body_value_is(body, tools, "null"))
		return 0;
	if (kgb_body_parse(body, tools, &list, err) < 0 ||
	    (choice && kgb_body_parse(body, choice, &chosen, err) < 0))
		return kgb_ctx(err, "tools");
	if (!cJSON_IsArray(list))
		return kgb_fail(err, KGB_ERR_INVALID, "tools: not a list");
	struct kgb_jsonw w;
	size_t n_kept = 0;
	kgb_jsonw_init(&w, text, 0);
	kgb_jsonw_array(&w);
	const cJSON *tool;
	cJSON_ArrayForEach(tool, list) {
		const char *ttl = kgb_json_str(tool, "cache_control.ttl", "5m");
		if (!kgb_str_eq(ttl, "5m"))
			return kgb_fail(
				err, KGB_ERR_INVALID,
				"tools: cache_control: only caches of five minutes are accepted: "
				"longer ones have another price");
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

/* Members that switch on services of the provider, besides tools. */
static void remove_switches(struct kgb_body *body, struct kgb_rewritten *out)
{
	static const char *const keys[] = {"mcp_servers", "container", "web_search_options",
					   "plugins"};
	for (size_t i = 0; i < KGB_ARRAY_LEN(keys); i++) {
		struct kgb_member *member = kgb_body_find(body, keys[i]);
		if (!member || kgb_body_value_is(body, member, "null"))
			continue;
		member->removed = true;
		out->n_tools_removed++;
	}
}

/* ---- the whole ---- */

/* A streamed chat reports its usage only on request. Returns the value to send; NULL: no change. */
static int ask_for_usage(struct kgb_body *body, struct kgb_buf *text, bool *asked,
			 struct kgb_err *err)
{
	struct kgb_member *options = kgb_body_find(body, "stream_options");
	KGB_AUTO(json) cJSON *own = NULL;
	*asked = false;
	if (!kgb_body_value_is(body, kgb_body_find(body, "stream"), "true"))
		return 0;
	if (options && kgb_body_parse(body, options, &own, err) < 0)
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

static void read_asked(struct kgb_body *body, struct kgb_rewritten *out)
{
	static const char *const keys[] = {"max_tokens", "max_completion_tokens",
					   "max_output_tokens"};
	const struct kgb_member *model = kgb_body_find(body, "model");
	KGB_AUTO(json) cJSON *name = NULL;
	if (model && model->value_end - model->value < 6 * KGB_USAGE_MODEL_LEN &&
	    kgb_body_parse(body, model, &name, NULL) == 0 && cJSON_IsString(name))
		snprintf(out->model, sizeof(out->model), "%s", name->valuestring);
	for (size_t i = 0; i < KGB_ARRAY_LEN(keys); i++) {
		const struct kgb_member *limit = kgb_body_find(body, keys[i]);
		int64_t value;
		if (!limit || kgb_body_value_is(body, limit, "null"))
			continue;
		KGB_AUTO(free)
		char *text =
			kgb_xstrndup(body->bytes + limit->value, limit->value_end - limit->value);
		/* Not a plain count ("5", 1e99): the provider may read it differently. */
		if (kgb_parse_i64(text, 0, KGB_MAX_OUTPUT_TOKENS, &value, NULL) < 0)
			value = KGB_MAX_OUTPUT_TOKENS;
		if (value > out->max_output_tokens)
			out->max_output_tokens = value;
	}
}

/** The number of answers that a request asks for. INVALID when it is no count; then KGB_MAX_CHOICES
 * is reserved. */
static int read_choices(struct kgb_body *body, struct kgb_rewritten *out, struct kgb_err *err)
{
	const struct kgb_member *n = kgb_body_find(body, "n");
	if (!n || kgb_body_value_is(body, n, "null"))
		return 0;
	KGB_AUTO(free) char *text = kgb_xstrndup(body->bytes + n->value, n->value_end - n->value);
	if (kgb_parse_i64(text, 1, KGB_MAX_CHOICES, &out->n_choices, NULL) == 0)
		return 0;
	out->n_choices = KGB_MAX_CHOICES;
	return kgb_fail(err, KGB_ERR_INVALID, "n: must be a whole number from 1 to %d",
			KGB_MAX_CHOICES);
}

/* The members that are left, with `more` behind them when it is not NULL. */
static void print(const struct kgb_body *body, const char *more, struct kgb_buf *out)
{
	const char *comma = "";
	kgb_buf_addc(out, '{');
	for (size_t i = 0; i < body->n; i++) {
		const struct kgb_member *m = &body->members[i];
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

static int rewrite(struct kgb_body *body, const struct kgb_rewrite_spec *spec,
		   struct kgb_rewritten *out, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf model = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf tools = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf options = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf more = KGB_BUF_INIT(0);
	struct kgb_member *asked_model = kgb_body_find(body, "model");
	bool changed = false, asked = false;
	read_asked(body, out);
	if (spec->endpoint == KGB_ENDPOINT_CHAT && read_choices(body, out, err) < 0 &&
	    !spec->allow_provider_tools)
		return -1;
	if (spec->model && asked_model) {
		struct kgb_jsonw w;
		kgb_jsonw_init(&w, &model, 0);
		kgb_jsonw_str(&w, spec->model);
		changed = !kgb_body_value_is(body, asked_model, model.ptr);
		if (changed)
			asked_model->replacement = model.ptr;
		snprintf(out->model, sizeof(out->model), "%s", spec->model);
	}
	if (!spec->allow_provider_tools) {
		if (kgb_unbillable(body, spec->endpoint, &out->n_images, err) < 0 ||
		    filter_tools(body, spec->endpoint, &tools, out, err) < 0)
			return -1;
		remove_switches(body, out);
	}
	if (spec->endpoint == KGB_ENDPOINT_CHAT && ask_for_usage(body, &options, &asked, err) < 0)
		return -1;
	if (asked && !kgb_body_find(body, "stream_options"))
		kgb_buf_addf(&more, "\"stream_options\":%s", options.ptr);
	if (changed || asked || out->n_tools_removed > 0)
		print(body, more.len ? more.ptr : NULL, &out->body);
	return 0;
}

int kgb_rewrite_request(const struct kgb_rewrite_spec *spec, const char *body, size_t len,
			struct kgb_rewritten *out, struct kgb_err *err)
{
	struct kgb_body *read = kgb_xcalloc(1, sizeof(*read));
	read->bytes = body;
	read->len = len;
	int rc = kgb_body_scan(read, err);
	if (rc == 0)
		rc = rewrite(read, spec, out, err);
	kgb_free(read);
	return rc;
}

void kgb_rewritten_release(struct kgb_rewritten *rewritten)
{
	kgb_buf_release(&rewritten->body);
}
