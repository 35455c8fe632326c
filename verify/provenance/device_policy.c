/* SPDX-License-Identifier: MIT */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "verify/provenance/device_policy.h"

#include <fcntl.h>
#include <pcre2.h>
#include <string.h>

#include "base/formats/decode.h"
#include "base/formats/json.h"
#include "base/mem.h"
#include "base/str.h"

enum { MATCH_LIMIT = 100000, DEPTH_LIMIT = 250, HEAP_KIB = 512 };

struct move {
	const char *name;
	const char *match;
	struct kgb_strs operators;
	const char *reason;
	pcre2_code *code; /* owned; of `match` */
};
struct call {
	const char *name;
	const char *reason;
};
struct document {
	const char *schema;
	struct kgb_objects moves;
	struct kgb_strs silent;
	struct kgb_objects operators;
	struct kgb_objects imports;
};

struct kgb_device_policy {
	struct kgb_arena arena;
	struct document document;
	pcre2_match_context *context;
};

static const struct kgb_field move_table[] = {
	KGB_FIELD_ROW(STR, move, name, "what it does", .required = true),
	KGB_FIELD_ROW(STR, move, match, "regular expression on the kernel's symbol",
		      .required = true),
	KGB_FIELD_ROW(STRS, move, operators,
		      "torch operators that launch it; all are allowed in dispatch.yaml",
		      .required = true),
	KGB_FIELD_ROW(STR, move, reason, "why it is allowed", .required = true),
	KGB_FIELD_END,
};
static const struct kgb_field call_table[] = {
	KGB_FIELD_ROW(STR, call, name, "exact, or everything that begins so when it ends with *",
		      .required = true),
	KGB_FIELD_ROW(STR, call, reason, "why it is allowed", .required = true),
	KGB_FIELD_END,
};
static const struct kgb_field document_table[] = {
	KGB_FIELD_ROW(STR, document, schema, "kgb.device/1", .required = true),
	KGB_FIELD_ROW(OBJECTS, document, moves, "kernels of torch that a candidate may use",
		      .required = true, .sub = move_table, .sub_size = sizeof(struct move)),
	KGB_FIELD_ROW(STRS, document, silent,
		      "other torch operators that a candidate may call; they launch nothing",
		      .required = true),
	KGB_FIELD_ROW(OBJECTS, document, operators, "operators of Triton IR", .required = true,
		      .sub = call_table, .sub_size = sizeof(struct call)),
	KGB_FIELD_ROW(OBJECTS, document, imports,
		      "functions of the driver that a Triton kernel may call", .required = true,
		      .sub = call_table, .sub_size = sizeof(struct call)),
	KGB_FIELD_END,
};

static int compile(const struct kgb_yaml *doc, const cJSON *node, struct move *move,
		   struct kgb_err *err)
{
	int code = 0;
	PCRE2_SIZE at = 0;
	PCRE2_UCHAR text[160];

	move->code = pcre2_compile((PCRE2_SPTR)move->match, PCRE2_ZERO_TERMINATED,
				   PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_DOLLAR_ENDONLY,
				   &code, &at, NULL);
	if (move->code)
		return 0;
	(void)pcre2_get_error_message(code, text, sizeof(text));
	return kgb_yaml_fail(doc, node, err, "moves: match: at character %zu: %s", (size_t)at,
			     (const char *)text);
}

static int fill(struct kgb_device_policy *policy, const struct kgb_yaml *doc, struct kgb_err *err)
{
	struct document *document = &policy->document, raw;

	if (kgb_decode(document_table, doc, doc->root, &raw, &policy->arena, err) < 0)
		return -1;
	*document = raw;
	if (!kgb_str_eq(document->schema, "kgb.device/1"))
		return kgb_yaml_fail(doc, kgb_json_get(doc->root, "schema"), err,
				     "schema: '%.40s' is not kgb.device/1", document->schema);
	const cJSON *list = kgb_json_get(doc->root, "moves");
	struct move *moves = document->moves.items;
	for (size_t i = 0; i < document->moves.n; i++) {
		const cJSON *node = kgb_json_get(cJSON_GetArrayItem(list, (int)i), "match");
		if (compile(doc, node, &moves[i], err) < 0)
			return -1;
	}
	policy->context = pcre2_match_context_create(NULL);
	KGB_ASSERT(policy->context);
	pcre2_set_match_limit(policy->context, MATCH_LIMIT);
	pcre2_set_depth_limit(policy->context, DEPTH_LIMIT);
	pcre2_set_heap_limit(policy->context, HEAP_KIB);
	return 0;
}

int kgb_device_policy_load(const char *path, struct kgb_device_policy **out, struct kgb_err *err)
{
	KGB_AUTO(yaml) struct kgb_yaml doc = KGB_YAML_INIT;

	if (kgb_yaml_read(AT_FDCWD, path, &doc, err) < 0)
		return -1;
	struct kgb_device_policy *policy = kgb_xcalloc(1, sizeof(*policy));
	if (fill(policy, &doc, err) < 0) {
		kgb_device_policy_free(policy);
		return -1;
	}
	*out = policy;
	return 0;
}

void kgb_device_policy_free(struct kgb_device_policy *policy)
{
	if (!policy)
		return;
	const struct move *moves = policy->document.moves.items;
	for (size_t i = 0; i < policy->document.moves.n; i++)
		pcre2_code_free(moves[i].code);
	pcre2_match_context_free(policy->context);
	kgb_arena_release(&policy->arena);
	kgb_free(policy);
}

const char *kgb_device_policy_move(const struct kgb_device_policy *policy, const char *kernel)
{
	const struct move *moves = policy->document.moves.items;
	/* A private object, because several lanes may call at once. */
	pcre2_match_data *match_data = pcre2_match_data_create(1, NULL);
	const char *found = NULL;

	KGB_ASSERT(match_data);
	/* A match that runs into a limit is no match: nothing is allowed by accident. */
	for (size_t i = 0; i < policy->document.moves.n && !found; i++)
		if (pcre2_match(moves[i].code, (PCRE2_SPTR)kernel, strlen(kernel), 0, 0, match_data,
				policy->context) >= 0)
			found = moves[i].name;
	pcre2_match_data_free(match_data);
	return found;
}

static bool is_listed(const struct kgb_objects *list, const char *name)
{
	const struct call *calls = list->items;

	for (size_t i = 0; i < list->n; i++) {
		const size_t len = strlen(calls[i].name);
		if (len > 0 && calls[i].name[len - 1] == '*'
			    ? strncmp(name, calls[i].name, len - 1) == 0
			    : kgb_str_eq(name, calls[i].name))
			return true;
	}
	return false;
}

bool kgb_device_policy_operator(const struct kgb_device_policy *policy, const char *name)
{
	return is_listed(&policy->document.operators, name);
}

bool kgb_device_policy_import(const struct kgb_device_policy *policy, const char *name)
{
	return is_listed(&policy->document.imports, name);
}
