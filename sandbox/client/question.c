/* SPDX-License-Identifier: MIT */
#include "sandbox/client/question.h"

#include <inttypes.h>
#include <string.h>

#include "base/formats/json.h"
#include "base/formats/jsonw.h"
#include "base/mem.h"

/* Names of the fields on the wire; NULL: the protocol has none. Sources: the API references of
 * Anthropic (Messages) and OpenAI (Chat Completions, Responses), November 2026. */
static const char *const wire_names[KGB_N_SAMPLING_FIELDS][KGB_N_PROTOCOLS] = {
	[KGB_SAMPLING_TEMPERATURE] = {"temperature", "temperature", "temperature"},
	[KGB_SAMPLING_TOP_P] = {"top_p", "top_p", "top_p"},
	[KGB_SAMPLING_SEED] = {"metadata", "seed", "metadata"},
	[KGB_SAMPLING_EFFORT] = {"output_config", "reasoning_effort", "reasoning"},
	[KGB_SAMPLING_MAX_TOKENS] = {"max_tokens", "max_tokens", "max_output_tokens"},
};

const char *kgb_sampling_field_name(enum kgb_sampling_field field)
{
	static const char *const names[KGB_N_SAMPLING_FIELDS] = {"temperature", "top_p", "seed",
								 "reasoning_effort", "max_tokens"};
	return names[field];
}

const char *kgb_question_path(enum kgb_protocol protocol)
{
	static const char *const paths[KGB_N_PROTOCOLS] = {"/v1/messages", "/v1/chat/completions",
							   "/v1/responses"};
	return paths[protocol];
}

static bool is_sent(const struct kgb_question *question, enum kgb_sampling_field field)
{
	const struct kgb_sampling *sampling = &question->sampling;
	const bool is_set[KGB_N_SAMPLING_FIELDS] = {
		[KGB_SAMPLING_TEMPERATURE] = sampling->temperature >= 0,
		[KGB_SAMPLING_TOP_P] = sampling->top_p >= 0,
		[KGB_SAMPLING_SEED] = sampling->seed >= 0,
		[KGB_SAMPLING_EFFORT] = sampling->effort && *sampling->effort,
		[KGB_SAMPLING_MAX_TOKENS] = sampling->max_tokens > 0,
	};
	return is_set[field] && wire_names[field][question->protocol] &&
	       !(sampling->refused & (1u << field));
}

static void write_effort(const struct kgb_question *question, struct kgb_jsonw *w)
{
	if (question->protocol == KGB_PROTOCOL_CHAT)
		kgb_jsonw_str(w, question->sampling.effort);
	else
		kgb_jsonw_put(w, "{effort: %s}", question->sampling.effort);
}

/** Where the protocol has no seed, a name for the sample: caches on the way must not take it for
 * another one. */
static void write_seed(const struct kgb_question *question, struct kgb_jsonw *w)
{
	KGB_AUTO(free) char *name = kgb_xasprintf("sample-%" PRId64, question->sampling.seed);
	if (question->protocol == KGB_PROTOCOL_CHAT)
		kgb_jsonw_i64(w, question->sampling.seed);
	else if (question->protocol == KGB_PROTOCOL_ANTHROPIC)
		kgb_jsonw_put(w, "{user_id: %s}", name);
	else
		kgb_jsonw_put(w, "{sample: %s}", name);
}

static void write_field(const struct kgb_question *question, enum kgb_sampling_field field,
			struct kgb_jsonw *w)
{
	const struct kgb_sampling *sampling = &question->sampling;
	if (field == KGB_SAMPLING_EFFORT)
		write_effort(question, w);
	else if (field == KGB_SAMPLING_SEED)
		write_seed(question, w);
	else if (field == KGB_SAMPLING_MAX_TOKENS)
		kgb_jsonw_i64(w, sampling->max_tokens);
	else
		kgb_jsonw_num(w, field == KGB_SAMPLING_TOP_P ? sampling->top_p
							     : sampling->temperature);
}

static void write_sampling(const struct kgb_question *question, struct kgb_jsonw *w)
{
	for (int field = 0; field < KGB_N_SAMPLING_FIELDS; field++) {
		if (!is_sent(question, (enum kgb_sampling_field)field))
			continue;
		kgb_jsonw_key(w, wire_names[field][question->protocol]);
		write_field(question, (enum kgb_sampling_field)field, w);
	}
	/* Reasoning models use this name and refuse the other one. */
	const bool is_renamed = question->protocol == KGB_PROTOCOL_CHAT &&
				(question->sampling.refused & (1u << KGB_SAMPLING_MAX_TOKENS));
	if (is_renamed && question->sampling.max_tokens > 0)
		kgb_jsonw_put(w, "max_completion_tokens: %ld", question->sampling.max_tokens);
	if (question->protocol == KGB_PROTOCOL_CHAT && question->n_choices > 1)
		kgb_jsonw_put(w, "n: %d", question->n_choices);
}

void kgb_question_write(const struct kgb_question *question, struct kgb_buf *out)
{
	const char *system_text =
		question->system_text && *question->system_text ? question->system_text : NULL;
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, out, 0);
	kgb_jsonw_object(&w);
	kgb_jsonw_put(&w, "model: %s, stream: %hhd", question->model, question->stream);
	write_sampling(question, &w);
	static const struct {
		const char *system_text, *messages;
	} members[KGB_N_PROTOCOLS] = {{"system", "messages"},
				      {NULL, "messages"}, /* a separate message */
				      {"instructions", "input"}};
	if (question->protocol == KGB_PROTOCOL_RESPONSES)
		kgb_jsonw_put(&w, "store: false");
	if (question->protocol == KGB_PROTOCOL_CHAT && question->stream)
		kgb_jsonw_put(&w, "stream_options: {include_usage: true}");
	if (system_text && members[question->protocol].system_text)
		kgb_jsonw_kstr(&w, members[question->protocol].system_text, system_text);
	kgb_jsonw_key(&w, members[question->protocol].messages);
	kgb_jsonw_array(&w);
	if (system_text && !members[question->protocol].system_text)
		kgb_jsonw_put(&w, "{role: 'system', content: %s}", system_text);
	for (int i = 0; i < KGB_QUESTION_TURNS && question->turns[i]; i++)
		kgb_jsonw_put(&w, "{role: %s, content: %s}", i % 2 ? "assistant" : "user",
			      question->turns[i]);
	kgb_jsonw_array_end(&w);
	kgb_jsonw_object_end(&w);
}

void kgb_question_write_sent(const struct kgb_question *question, struct kgb_buf *out)
{
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, out, 0);
	kgb_jsonw_object(&w);
	write_sampling(question, &w);
	kgb_jsonw_object_end(&w);
}

unsigned kgb_question_left_out(const struct kgb_question *question, const char *sent)
{
	unsigned left_out = 0;
	KGB_AUTO(json) cJSON *fields = NULL;
	if (!sent || kgb_json_parse(sent, strlen(sent), &fields, NULL) < 0)
		return 0;
	for (int field = 0; field < KGB_N_SAMPLING_FIELDS; field++)
		if (is_sent(question, (enum kgb_sampling_field)field) &&
		    !kgb_json_get(fields, wire_names[field][question->protocol]))
			left_out |= 1u << field;
	return left_out;
}

enum kgb_sampling_field kgb_question_refused(const struct kgb_question *question, const char *error)
{
	for (int field = 0; field < KGB_N_SAMPLING_FIELDS; field++) {
		/* Messages requires this field, so the error concerns its size. */
		const bool is_required = field == KGB_SAMPLING_MAX_TOKENS &&
					 question->protocol == KGB_PROTOCOL_ANTHROPIC;
		if (is_sent(question, (enum kgb_sampling_field)field) && !is_required &&
		    strstr(error, wire_names[field][question->protocol]))
			return (enum kgb_sampling_field)field;
	}
	return KGB_N_SAMPLING_FIELDS;
}
