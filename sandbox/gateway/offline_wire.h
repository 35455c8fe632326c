/* SPDX-License-Identifier: MIT */
/** \file
 * Between the two halves of the offline model: what a request says and what is answered
 * (offline.c), and how that goes over the wire (offline_wire.c). Private to them.
 */
#ifndef KGB_SANDBOX_GATEWAY_OFFLINE_WIRE_H
#define KGB_SANDBOX_GATEWAY_OFFLINE_WIRE_H

#include "base/buf.h"
#include "base/json.h"
#include "sandbox/gateway/offline.h"
#include "sandbox/gateway/usage.h"

/** Marks our tool calls in the conversation; the turn's number follows, two digits. */
#define KGB_OFFLINE_TOOL_ID "toolu_offline_"

/** What a request says, borrowed from its tree. */
struct kgb_offline_request {
	const cJSON *root;
	const cJSON *messages;
	const char *model;
	bool streamed;
	bool has_tools;
	const cJSON *shell; /* the tool that runs shell commands, or NULL */
	int own_message; /* index of the last message with a tool call of ours; -1 none */
	int own_turn; /* that call's turn; -1 none */
	struct kgb_buf report; /* text of that call's result */
};

/** What is answered. */
struct kgb_offline_said {
	struct kgb_buf say;
	struct kgb_buf command; /* empty: no tool call, the session ends */
	const char *describe;
	int turn;
	char message_id[48];
	struct kgb_usage usage;
};

/** The answer in one piece. */
void kgb_offline__write_json(struct kgb_offline_reply *out, const struct kgb_offline_request *req,
			     const struct kgb_offline_said *said);
/** The answer as a stream of events. */
void kgb_offline__write_stream(struct kgb_offline_reply *out, const struct kgb_offline_request *req,
			       const struct kgb_offline_said *said);

#endif
