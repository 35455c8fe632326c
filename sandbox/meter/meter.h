/* SPDX-License-Identifier: MIT */
/** \file
 * Reads token counts off one answer while it passes by, streamed (SSE) or in one piece (JSON).
 * Never changes or delays a byte; unreadable parts are counted and left alone. null is unknown.
 *
 * Anthropic Messages: message_start brings id, model and the input side; its output count is a
 * snapshot of the first token and is not used. Each message_delta then replaces the counts that it
 * carries (they are cumulative).
 *
 * OpenAI Chat Completions: `usage` of the last chunk that has one (some servers send a running
 * total with each). OpenAI Responses: `usage` of response.completed, .incomplete or .failed. Both
 * count the cached part of the prompt in the prompt; here it is taken out, and details that are
 * absent are none.
 */
#ifndef KGB_SANDBOX_METER_METER_H
#define KGB_SANDBOX_METER_METER_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/formats/sse.h"
#include "sandbox/meter/protocol.h"
#include "sandbox/meter/usage.h"

#define KGB_METER_ID_LEN 128

struct kgb_meter {
	enum kgb_protocol protocol;
	bool streamed;
	bool batched; /* set after init: the answer is one of a batch, whose price is known */
	struct kgb_sse sse; /* streamed */
	struct kgb_buf json; /* in one piece */
	struct kgb_usage usage;
	char model[KGB_USAGE_MODEL_LEN];
	char message_id[KGB_METER_ID_LEN];
	bool started; /* a message with usage was seen */
	bool stopped; /* its closing event, or a whole JSON document: the answer is complete */
	bool surcharged; /* it reports a service without a row in the table of prices */
	bool errored; /* an error event: the answer ends here, rightly without a closing event */
	bool changed; /* counts changed since kgb_meter_take_change */
	int64_t n_bad; /* events or documents that could not be read */
};

/** `content_type` as the upstream sent it; NULL reads as JSON. */
void kgb_meter_init(struct kgb_meter *meter, enum kgb_protocol protocol, const char *content_type);
void kgb_meter_feed(struct kgb_meter *meter, const char *bytes, size_t len);
/** The body is over: a JSON answer is read now. */
void kgb_meter_finish(struct kgb_meter *meter);
/** Whether the counts changed since the last call. */
bool kgb_meter_take_change(struct kgb_meter *meter);
void kgb_meter_release(struct kgb_meter *meter);

#endif
