/* SPDX-License-Identifier: MIT */
#include "sandbox/offline/offline_wire.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define MAX_TURN 99
/* Bytes of text in one delta, so that clients see a stream. */
#define DELTA_BYTES 160
/* Wait that is passed to tools that require one. A longer command runs on, and a later turn waits
 * again. */
#define YIELD_MS 30000

/* ---- reading ---- */

void kgb_offline__add_text(struct kgb_buf *out, const cJSON *content)
{
	if (cJSON_IsString(content)) {
		kgb_buf_adds(out, content->valuestring);
		return;
	}
	const cJSON *block;
	cJSON_ArrayForEach(block, content) {
		kgb_buf_adds(out, kgb_json_str(block, "text", ""));
		kgb_buf_addc(out, '\n');
	}
}

static const cJSON *find_tool(const cJSON *tools, const char *path, const char *name)
{
	const cJSON *tool;
	cJSON_ArrayForEach(tool, tools)
		if (strcmp(kgb_json_str(tool, path, ""), name) == 0)
			return tool;
	return NULL;
}

void kgb_offline__read_common(struct kgb_offline_request *req, const char *name, const char *schema)
{
	/* The CLIs call their shell tool differently. */
	static const char *const shells[] = {"Bash", "bash", "shell", "exec_command"};
	const cJSON *tools = kgb_json_get(req->root, "tools"), *shell = NULL;
	req->model = kgb_json_str(req->root, "model", "");
	req->streamed = kgb_json_bool(req->root, "stream", false);
	req->has_tools = cJSON_IsArray(tools) && cJSON_GetArraySize(tools) > 0;
	for (size_t i = 0; i < KGB_ARRAY_LEN(shells) && !shell; i++)
		shell = find_tool(tools, name, shells[i]);
	req->shell = shell ? kgb_json_str(shell, name, NULL) : NULL;
	req->shell_takes = kgb_json_get(shell, schema);
	req->poll = kgb_json_str(find_tool(tools, name, "write_stdin"), name, NULL);
	req->own_turn = -1;
}

/* Turn number in a tool call's id, or -1 when it is not ours. */
static int turn_of_id(const char *id)
{
	static const char prefix[] = KGB_OFFLINE_TOOL_ID;
	if (strncmp(id, prefix, sizeof(prefix) - 1) != 0)
		return -1;
	int64_t turn;
	id += sizeof(prefix) - 1;
	KGB_AUTO(free) char *number = kgb_xstrndup(id, strcspn(id, "_"));
	if (kgb_parse_i64(number, 0, MAX_TURN, &turn, NULL) < 0)
		return -1;
	return (int)turn;
}

void kgb_offline__saw_call(struct kgb_offline_request *req, const cJSON *message, const char *id)
{
	int turn = turn_of_id(id);
	if (turn < 0)
		return;
	req->own_turn = turn;
	req->own_message = message;
	kgb_buf_clear(&req->report);
}

bool kgb_offline__is_own(const struct kgb_offline_request *req, const char *id)
{
	return req->own_turn >= 0 && turn_of_id(id) == req->own_turn;
}

/* ---- writing ---- */

const char *kgb_offline__tool(const struct kgb_offline_request *req,
			      const struct kgb_offline_said *said)
{
	return said->poll_session >= 0 ? req->poll : req->shell;
}

static bool shell_takes(const struct kgb_offline_request *req, const char *name)
{
	return kgb_json_get(req->shell_takes, name) != NULL;
}

void kgb_offline__prepare_call(const struct kgb_offline_request *req, struct kgb_offline_said *said)
{
	struct kgb_jsonw w;
	bool waits = said->poll_session >= 0;
	if (!waits && said->command.len == 0)
		return;
	/* A wait belongs to the turn of its command, but no two calls may have one id. */
	snprintf(said->call_id, sizeof(said->call_id), KGB_OFFLINE_TOOL_ID "%02d%s%s", said->turn,
		 waits ? "_" : "", waits ? said->id : "");
	kgb_jsonw_init(&w, &said->input, 0);
	kgb_jsonw_object(&w);
	if (waits) {
		kgb_jsonw_put(&w, "session_id: %ld, chars: ''", said->poll_session);
	} else {
		bool is_cmd = !shell_takes(req, "command") && shell_takes(req, "cmd");
		kgb_jsonw_kstr(&w, is_cmd ? "cmd" : "command", said->command.ptr);
		if (said->describe && shell_takes(req, "description"))
			kgb_jsonw_kstr(&w, "description", said->describe);
	}
	if (waits || shell_takes(req, "yield_time_ms"))
		kgb_jsonw_ki64(&w, "yield_time_ms", YIELD_MS);
	kgb_jsonw_object_end(&w);
}

void kgb_offline__event(struct kgb_offline_reply *out, const char *type, const char *data)
{
	if (type)
		kgb_buf_addf(&out->body, "event: %s\n", type);
	kgb_buf_addf(&out->body, "data: %s\n\n", data);
	KGB_VEC_ADD(&out->event_ends, out->body.len);
}

int kgb_offline__piece(const struct kgb_buf *text, size_t at)
{
	size_t left = text->len - at, n = DELTA_BYTES;
	if (left <= DELTA_BYTES)
		return (int)left;
	while (n > 1 && ((unsigned char)text->ptr[at + n] & 0xc0) == 0x80)
		n--;
	return (int)n;
}
