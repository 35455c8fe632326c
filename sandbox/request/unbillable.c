/* SPDX-License-Identifier: MIT */
#include "sandbox/request/unbillable.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

/* Members whose costs do not show in the request, and their values without such costs. */
static int refuse_unbounded(struct kgb_body *body, enum kgb_endpoint endpoint, struct kgb_err *err)
{
	static const struct {
		enum kgb_endpoint endpoint; /* NONE: all */
		const char *key;
		const char *harmless[3]; /* besides null */
	} list[] = {
		{KGB_ENDPOINT_CHAT, "prediction", {NULL}},
		{KGB_ENDPOINT_CHAT, "audio", {NULL}},
		{KGB_ENDPOINT_CHAT, "modalities", {"[\"text\"]"}},
		{KGB_ENDPOINT_NONE, "inference_geo", {"\"global\""}},
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
		const struct kgb_member *member = kgb_body_find(body, list[i].key);
		if (!member || kgb_body_value_is(body, member, "null") ||
		    (list[i].endpoint != KGB_ENDPOINT_NONE && list[i].endpoint != endpoint))
			continue;
		bool harmless = false;
		for (size_t k = 0; k < KGB_ARRAY_LEN(list[i].harmless); k++)
			harmless =
				harmless || (list[i].harmless[k] &&
					     kgb_body_value_is(body, member, list[i].harmless[k]));
		if (!harmless)
			return kgb_fail(err, KGB_ERR_INVALID,
					"%s: this value is refused: its cost cannot be computed "
					"beforehand",
					list[i].key);
	}
	return 0;
}

/* Whether a member makes the provider fetch content from elsewhere. */
static bool fetches(const struct kgb_body *body, enum kgb_endpoint endpoint,
		    const struct kgb_member *member)
{
	static const char inline_url[] = "\"data:";
	bool is_text = body->bytes[member->value] == '"';
	if (kgb_body_key_is(body, member, "file_id"))
		return !kgb_body_value_is(body, member, "null");
	if (endpoint == KGB_ENDPOINT_CHAT || endpoint == KGB_ENDPOINT_RESPONSES) {
		bool is_url =
			kgb_body_key_is(body, member, "image_url") ||
			kgb_body_key_is(body, member, "file_url") ||
			(endpoint == KGB_ENDPOINT_CHAT && kgb_body_key_is(body, member, "url"));
		return is_url && is_text &&
		       (member->value_end - member->value < sizeof(inline_url) ||
			memcmp(body->bytes + member->value, inline_url, strlen(inline_url)) != 0);
	}
	/* Only sources have these types. */
	return kgb_body_key_is(body, member, "type") && is_text &&
	       (kgb_body_value_is(body, member, "\"url\"") ||
		kgb_body_value_is(body, member, "\"file\"") ||
		memchr(body->bytes + member->value, '\\', member->value_end - member->value));
}

/* Whether a member is a file that can hold very many tokens in a few bytes. */
static bool is_packed(const struct kgb_body *body, enum kgb_endpoint endpoint,
		      const struct kgb_member *member)
{
	if (endpoint == KGB_ENDPOINT_CHAT || endpoint == KGB_ENDPOINT_RESPONSES)
		return kgb_body_key_is(body, member, "file_data") &&
		       !kgb_body_value_is(body, member, "null");
	return kgb_body_key_is(body, member, "media_type") &&
	       (kgb_body_value_is(body, member, "\"application/pdf\"") ||
		kgb_body_has_escape(body, member));
}

/* Whether a member is or may be an image: a text with an escape is not decoded. */
static bool is_image(const struct kgb_body *body, const struct kgb_member *member)
{
	static const char *const types[] = {"\"image\"", "\"image_url\"", "\"input_image\""};
	if (!kgb_body_key_is(body, member, "type") || body->bytes[member->value] != '"')
		return false;
	for (size_t i = 0; i < KGB_ARRAY_LEN(types); i++)
		if (kgb_body_value_is(body, member, types[i]))
			return true;
	return kgb_body_has_escape(body, member);
}

/* Whether a member requests a cache with another lifetime than the five minutes of the price
 * table. */
static bool lives_long(const struct kgb_body *body, const struct kgb_member *member)
{
	return kgb_body_key_is(body, member, "ttl") && body->bytes[member->value] == '"' &&
	       !kgb_body_value_is(body, member, "\"5m\"");
}

/* One member of some content. */
static int refuse_content(const struct kgb_body *body, enum kgb_endpoint endpoint,
			  const struct kgb_member *member, struct kgb_err *err)
{
	bool messages = endpoint == KGB_ENDPOINT_MESSAGES || endpoint == KGB_ENDPOINT_COUNT_TOKENS;
	if (fetches(body, endpoint, member))
		return kgb_fail(err, KGB_ERR_INVALID,
				"content that the provider would have to fetch is "
				"refused: send it in the request");
	if (is_packed(body, endpoint, member))
		return kgb_fail(err, KGB_ERR_INVALID,
				"files such as PDF are refused: their tokens cannot be "
				"counted");
	if (messages && lives_long(body, member))
		return kgb_fail(err, KGB_ERR_INVALID,
				"cache_control: only caches of five minutes are accepted: "
				"longer ones have another price");
	return 0;
}

/* One pass over all keys at any depth: a string with a colon behind it is one. */
static int refuse_fetched(const struct kgb_body *body, const struct kgb_member *content,
			  enum kgb_endpoint endpoint, size_t *n_images, struct kgb_err *err)
{
	bool messages = endpoint == KGB_ENDPOINT_MESSAGES || endpoint == KGB_ENDPOINT_COUNT_TOKENS;
	size_t at = content->value;
	while (at > 0 && at < content->value_end) {
		struct kgb_member member;
		if (body->bytes[at] != '"') {
			at++;
			continue;
		}
		if (!kgb_body_scan_key(body, at, &member)) {
			at = kgb_body_skip_string(body, at);
			continue;
		}
		at = member.value;
		if (at < body->len && strchr("{[", body->bytes[at])) {
			/* The input of a tool call comes from the model. */
			if (messages && kgb_body_key_is(body, &member, "input"))
				at = kgb_body_skip_value(body, at);
			member.value_end = member.value + 1;
		} else {
			member.value_end = kgb_body_skip_value(body, at);
			at = member.value_end;
		}
		if (at == 0)
			break;
		if (memchr(body->bytes + member.key, '\\', member.key_end - member.key))
			return kgb_fail(err, KGB_ERR_INVALID,
					"the request's content has a key with an escape");
		if (refuse_content(body, endpoint, &member, err) < 0)
			return -1;
		*n_images += is_image(body, &member);
	}
	return at > 0 ? 0 : kgb_fail(err, KGB_ERR_INVALID, "the request is not a JSON object");
}

/* All members that the CLIs and the usual clients send. None costs more than the tokens that the
 * answer reports, except those that refuse_unbounded() checks. A new member of a provider is
 * refused, because its cost is unknown. */
static const char messages_fields[] =
	" model messages system max_tokens metadata stop_sequences stream temperature"
	" top_k top_p thinking tools tool_choice cache_control context_management"
	" output_config output_format service_tier speed inference_geo container"
	" mcp_servers ";
static const char chat_fields[] =
	" model messages max_tokens max_completion_tokens stream stream_options"
	" temperature top_p top_k min_p n stop seed presence_penalty frequency_penalty"
	" repetition_penalty logit_bias logprobs top_logprobs response_format tools"
	" tool_choice parallel_tool_calls functions function_call user metadata store"
	" reasoning_effort reasoning thinking enable_thinking chat_template_kwargs"
	" include_reasoning verbosity modalities audio prediction service_tier"
	" inference_geo speed prompt_cache_key prompt_cache_retention safety_identifier"
	" web_search_options plugins usage ";
static const char responses_fields[] =
	" model input instructions max_output_tokens max_tool_calls stream"
	" stream_options temperature top_p top_logprobs text tools tool_choice"
	" parallel_tool_calls user metadata client_metadata store include reasoning"
	" truncation background conversation previous_response_id prompt service_tier"
	" inference_geo speed prompt_cache_key prompt_cache_retention safety_identifier ";

static int refuse_unknown(const struct kgb_body *body, enum kgb_endpoint endpoint,
			  struct kgb_err *err)
{
	const char *known = endpoint == KGB_ENDPOINT_CHAT        ? chat_fields
			    : endpoint == KGB_ENDPOINT_RESPONSES ? responses_fields
								 : messages_fields;
	for (size_t i = 0; i < body->n; i++) {
		const struct kgb_member *member = &body->members[i];
		size_t len = member->key_end - member->key;
		KGB_AUTO(free) char *key = kgb_xstrndup(body->bytes + member->key, len);
		KGB_AUTO(free) char *word = kgb_xasprintf(" %s ", key);
		if (strlen(key) == len && !strchr(key, ' ') && strstr(known, word))
			continue;
		return kgb_fail(
			err, KGB_ERR_INVALID,
			"%.*s: this gateway does not know the field, so its cost is unknown "
			"(setting gateway.provider_tools lets it pass)",
			(int)(len < 64 ? len : 64), body->bytes + member->key);
	}
	return 0;
}

/* An item of `input` that stands for one that the provider has kept: its tokens are not in the
 * request. It may have an id and nothing else. */
static bool is_reference(struct kgb_body *item)
{
	const struct kgb_member *type = kgb_body_find(item, "type");
	if (!type || kgb_body_value_is(item, type, "null"))
		return !kgb_body_find(item, "role");
	return kgb_body_value_is(item, type, "\"item_reference\"") ||
	       kgb_body_has_escape(item, type);
}

static int refuse_references(const struct kgb_body *body, const struct kgb_member *input,
			     struct kgb_err *err)
{
	if (body->bytes[input->value] != '[')
		return 0;
	int rc = 0;
	struct kgb_body *item = kgb_xcalloc(1, sizeof(*item));
	size_t at = kgb_body_skip_blanks(body, input->value + 1);
	while (rc == 0 && body->bytes[at] != ']') {
		size_t end = kgb_body_skip_value(body, at);
		*item = (struct kgb_body){.bytes = body->bytes + at,
					  .len = end > at ? end - at : 0};
		rc = kgb_body_scan(item, err);
		if (rc == 0 && is_reference(item))
			rc = kgb_fail(
				err, KGB_ERR_INVALID,
				"a reference to an item that the provider has stored is refused: send the item");
		at = kgb_body_skip_blanks(body, end);
		if (rc == 0 && body->bytes[at] == ',')
			at = kgb_body_skip_blanks(body, at + 1);
	}
	kgb_free(item);
	return rc;
}

int kgb_unbillable(struct kgb_body *body, enum kgb_endpoint endpoint, size_t *n_images,
		   struct kgb_err *err)
{
	static const char *const keys[] = {"messages", "system", "input", "cache_control"};
	if (refuse_unknown(body, endpoint, err) < 0 || refuse_unbounded(body, endpoint, err) < 0)
		return -1;
	const struct kgb_member *input = kgb_body_find(body, "input");
	if (input && endpoint == KGB_ENDPOINT_RESPONSES && refuse_references(body, input, err) < 0)
		return kgb_ctx(err, "input");
	for (size_t i = 0; i < KGB_ARRAY_LEN(keys); i++) {
		const struct kgb_member *content = kgb_body_find(body, keys[i]);
		if (content && refuse_fetched(body, content, endpoint, n_images, err) < 0)
			return kgb_ctx(err, "%s", keys[i]);
	}
	return 0;
}
