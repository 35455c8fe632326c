/* SPDX-License-Identifier: MIT */
/* A client's request to the offline model. Whatever comes, the answer is whole: a stream that ends
 * with message_stop, or one JSON document. */
#include <stdint.h>

#include "base/json.h"
#include "base/mem.h"
#include "sandbox/gateway/http.h"
#include "sandbox/gateway/meter.h"
#include "sandbox/gateway/offline.h"

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

static void check(const struct kgb_offline_reply *reply)
{
	struct kgb_meter meter;
	kgb_meter_init(&meter, reply->content_type);
	kgb_meter_feed(&meter, reply->body.ptr, reply->body.len);
	kgb_meter_finish(&meter);
	KGB_ASSERT(meter.n_bad == 0 && meter.stopped);
	KGB_ASSERT(reply->status == 400 || kgb_usage_complete(&meter.usage));
	KGB_ASSERT(reply->n_events == 0 ||
		   reply->event_ends[reply->n_events - 1] == reply->body.len);
	kgb_meter_release(&meter);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct kgb_offline_session *variants[2];
	const char *bytes = (const char *)data;
	for (int i = 0; i < 2; i++) {
		if (!variants[i])
			variants[i] = load(i ? KGB_OFFLINE_ONESHOT : KGB_OFFLINE_VERIFY);
		struct kgb_offline_reply reply = KGB_OFFLINE_REPLY_INIT;
		kgb_offline_answer(variants[i], bytes, size, &reply);
		check(&reply);
		kgb_offline_reply_release(&reply);
	}
	struct kgb_offline_reply count = KGB_OFFLINE_REPLY_INIT;
	kgb_offline_count_tokens(bytes, size, &count);
	kgb_offline_reply_release(&count);

	size_t start, end;
	if (kgb_http_find_model(bytes, size, &start, &end))
		KGB_ASSERT(start < end && end <= size && bytes[start] == '"' &&
			   bytes[end - 1] == '"');
	KGB_AUTO(buf) struct kgb_buf replaced = KGB_BUF_INIT(0);
	kgb_http_replace_model(bytes, size, "m", &replaced);
	return 0;
}
