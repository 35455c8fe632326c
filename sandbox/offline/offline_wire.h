/* SPDX-License-Identifier: MIT */
/** \file
 * Between the halves of the offline model: the choice of an answer to a request (offline.c), and
 * the wire protocols (offline_messages.c, offline_chat.c, offline_responses.c). Private to them. */
#ifndef KGB_SANDBOX_OFFLINE_OFFLINE_WIRE_H
#define KGB_SANDBOX_OFFLINE_OFFLINE_WIRE_H

#include "base/buf.h"
#include "base/formats/json.h"
#include "base/formats/jsonw.h"
#include "sandbox/meter/usage.h"
#include "sandbox/offline/offline.h"

/** Marks our tool calls in the conversation; the turn's number follows, two digits. */
#define KGB_OFFLINE_TOOL_ID "toolu_offline_"

/** The content of a request, borrowed from its tree. */
struct kgb_offline_request {
	const cJSON *root;
	const char *model;
	bool streamed;
	bool has_tools;
	const char *shell; /* name of the tool that runs shell commands, or NULL */
	const cJSON *shell_takes; /* its parameters by name */
	const char *poll; /* name of the tool that waits for a command that still runs, or NULL */
	const cJSON *conversation; /* list of messages or items */
	const cJSON *own_message; /* the last of them with a tool call of ours, or NULL */
	int own_turn; /* that call's turn; -1 none */
	struct kgb_buf own_words; /* text of the CLI's instructions */
	struct kgb_buf report; /* text of that call's result */
};

/** The content of an answer. */
struct kgb_offline_said {
	struct kgb_buf say;
	struct kgb_buf command; /* empty: no command */
	const char *describe;
	int64_t poll_session; /* wait for that command instead; -1: no */
	bool is_cut; /* by a limit of length */
	int turn;
	char id[24]; /* of the answer, without the protocol's prefix */
	char call_id[48]; /* of the call */
	struct kgb_buf input; /* of the call, one JSON object; empty: no tool is called */
	struct kgb_usage usage;
};

/** One protocol. */
struct kgb_offline_wire {
	/** Fill in the request from its root. Returns NULL, or the fault of the request. */
	const char *(*read)(struct kgb_offline_request *req);
	/** Write the answer in one piece, and as a stream of events. */
	void (*write_json)(struct kgb_offline_reply *out, const struct kgb_offline_request *req,
			   const struct kgb_offline_said *said);
	void (*write_stream)(struct kgb_offline_reply *out, const struct kgb_offline_request *req,
			     const struct kgb_offline_said *said);
};
extern const struct kgb_offline_wire kgb_offline__messages;
extern const struct kgb_offline_wire kgb_offline__chat;
extern const struct kgb_offline_wire kgb_offline__responses;

/* offline_wire.c */
/** Text of a message's content: a string, or blocks with `text`. */
void kgb_offline__add_text(struct kgb_buf *out, const cJSON *content);
/** Model, stream, tools; `schema` is the path of a tool's parameters, and names are looked for at
 * `name`. */
void kgb_offline__read_common(struct kgb_offline_request *req, const char *name,
			      const char *schema);
/** A tool call in `message`: when its id is ours it is the last of ours so far. */
void kgb_offline__saw_call(struct kgb_offline_request *req, const cJSON *message, const char *id);
/** Whether a result belongs to the last call of ours. */
bool kgb_offline__is_own(const struct kgb_offline_request *req, const char *id);
/** Name of the tool that is called. */
const char *kgb_offline__tool(const struct kgb_offline_request *req,
			      const struct kgb_offline_said *said);
/** Fill in call_id and input when a command or a wait is to be called. */
void kgb_offline__prepare_call(const struct kgb_offline_request *req,
			       struct kgb_offline_said *said);
/** Append one event of a stream: "event: TYPE" unless `type` is NULL, then "data: " and `data`. */
void kgb_offline__event(struct kgb_offline_reply *out, const char *type, const char *data);
/** Length of the piece of `text` that begins at `at`, so that clients see a stream; 0 at the end.
 * No character is cut in two. */
int kgb_offline__piece(const struct kgb_buf *text, size_t at);

#endif
