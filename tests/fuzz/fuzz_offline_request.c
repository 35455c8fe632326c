/* SPDX-License-Identifier: MIT */
/* A client's request to the offline model, in each protocol, and what the gateway makes of it
 * before it leaves. Whatever comes, the answer is whole: a stream with its closing event, or one
 * JSON document. */
#include <stdint.h>

#include "base/formats/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "sandbox/meter/meter.h"
#include "sandbox/offline/offline.h"
#include "sandbox/request/rewrite_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char sessions[] =
	"sessions:\n"
	"  verify:\n"
	"    - {say: one, write: buggy}\n"
	"    - {say: two, run: kgb-verify}\n"
	"    - {say: '{{failing_case}}', write: fixed, expect: failed, otherwise: '{{last_result}}'}\n"
	"    - {say: '{{passed_line}}', expect: passed, otherwise: '{{last_result}}'}\n"
	"  oneshot: [{say: '{{kernel.fixed}}'}]\n";
static const char script[] = "{operator: 'a::b', bug: b, fix: c, kernels: {buggy: x, fixed: y}}";

static struct kgb_offline_session *load(enum kgb_offline_variant variant)
{
	struct kgb_offline_session *session = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	KGB_ASSERT(kgb_offline_parse(&session,
				     &(struct kgb_offline_source){"s", sessions, strlen(sessions)},
				     &(struct kgb_offline_source){"o", script, strlen(script)},
				     variant, &err) == 0);
	return session;
}

static void check(enum kgb_protocol protocol, const struct kgb_offline_reply *reply)
{
	struct kgb_meter meter;
	kgb_meter_init(&meter, protocol, reply->content_type);
	kgb_meter_feed(&meter, reply->body.ptr, reply->body.len);
	kgb_meter_finish(&meter);
	KGB_ASSERT(meter.n_bad == 0 && meter.stopped);
	/* A streamed chat tells its usage only when asked. */
	KGB_ASSERT(reply->status == 400 || (protocol == KGB_PROTOCOL_CHAT && meter.streamed) ||
		   kgb_usage_complete(&meter.usage));
	KGB_ASSERT(reply->event_ends.n == 0 ||
		   reply->event_ends.items[reply->event_ends.n - 1] == reply->body.len);
	kgb_meter_release(&meter);
}

static const enum kgb_endpoint endpoints[KGB_N_PROTOCOLS] = {
	KGB_ENDPOINT_MESSAGES, KGB_ENDPOINT_CHAT, KGB_ENDPOINT_RESPONSES};

/* What goes out instead of it is a JSON object if it was one. */
static void rewrite(enum kgb_protocol protocol, const char *bytes, size_t size)
{
	struct kgb_rewritten rewritten = KGB_REWRITTEN_INIT;
	struct kgb_err err = KGB_ERR_INIT;
	const struct kgb_rewrite_spec spec = {.endpoint = endpoints[protocol], .model = "m"};
	KGB_AUTO(json) cJSON *before = NULL;
	KGB_AUTO(json) cJSON *after = NULL;
	bool valid = kgb_json_parse(bytes, size, &before, &err) == 0 && cJSON_IsObject(before);
	bool is_rewritten = kgb_rewrite_request(&spec, bytes, size, &rewritten, &err) == 0;
	if (valid && is_rewritten && rewritten.body.len > 0)
		KGB_ASSERT(kgb_json_parse(rewritten.body.ptr, rewritten.body.len, &after, &err) ==
				   0 &&
			   cJSON_IsObject(after));
	if (valid && is_rewritten) {
		const cJSON *sent = after ? after : before;
		const cJSON *model = kgb_json_get(sent, "model");
		KGB_ASSERT(!model || kgb_str_eq(kgb_json_str(sent, "model", ""), "m"));
		KGB_ASSERT(!kgb_json_get(after, "mcp_servers"));
	}
	kgb_rewritten_release(&rewritten);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct kgb_offline_session *variants[2];
	const char *bytes = (const char *)data;
	for (int i = 0; i < 2 * KGB_N_PROTOCOLS; i++) {
		enum kgb_protocol protocol = (enum kgb_protocol)(i / 2);
		int k = i % 2;
		if (!variants[k])
			variants[k] = load(k ? KGB_OFFLINE_ONESHOT : KGB_OFFLINE_VERIFY);
		struct kgb_offline_reply reply = KGB_OFFLINE_REPLY_INIT;
		kgb_offline_answer(variants[k], protocol, bytes, size, &reply);
		check(protocol, &reply);
		kgb_offline_reply_release(&reply);
		rewrite(protocol, bytes, size);
	}
	struct kgb_offline_reply count = KGB_OFFLINE_REPLY_INIT;
	kgb_offline_count_tokens(bytes, size, &count);
	kgb_offline_reply_release(&count);
	return 0;
}
