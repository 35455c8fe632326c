/* SPDX-License-Identifier: MIT */
/** \file
 * The steps of a trajectory, made from what a coding CLI printed: one JSON event a line, foreign
 * and loose. Everything is optional; an unknown event is counted, never fatal; kept texts have a
 * cap. Each kind of stream has distinct event types, so the events show which CLI wrote them. One
 * reader (steps_<cli>.c) for each. */
#ifndef KGB_AGENT_EXPORTS_STEPS_H
#define KGB_AGENT_EXPORTS_STEPS_H

#include <stdint.h>

#include "base/buf.h"
#include "base/formats/json.h"
#include "base/formats/jsonw.h"
#include "base/mem.h"
#include "base/vec.h"
#include "sandbox/meter/usage.h"

struct kgb_tool_call {
	const char *id; /* as the CLI names it */
	const char *name;
	const char *arguments; /* a JSON object */
	const char *result; /* NULL: none came */
	int64_t exit_code; /* -1: it has none */
};

enum kgb_step_source {
	KGB_STEP_SYSTEM,
	KGB_STEP_USER,
	KGB_STEP_AGENT,
};

struct kgb_step {
	enum kgb_step_source source;
	const char *time; /* ISO 8601, or NULL */
	const char *model; /* or NULL */
	const char *message_id; /* of the provider's answer, or NULL */
	struct kgb_buf message, reasoning; /* owned */
	KGB_VEC(struct kgb_tool_call) calls;
	struct kgb_usage usage; /* of this step alone, as far as known */
	int64_t cost_nanos; /* -1: not known */
};

struct kgb_steps {
	KGB_VEC(struct kgb_step) list;
	struct kgb_arena arena; /* of words */
	size_t bytes; /* of texts so far */
	size_t first; /* step of the stream that is read: ids of calls are unique within it */
	int64_t n_bad_lines, n_unknown_events, n_left_out; /* n_left_out: over the cap */
};

/** Most bytes of texts of one trajectory. */
#define KGB_STEPS_BYTES ((size_t)64 << 20)

/** Add a step, which may move the others. */
struct kgb_step *kgb_steps_add(struct kgb_steps *steps, enum kgb_step_source source,
			       const char *message);
/** Append to a text of a step, as a separate paragraph. */
void kgb_steps_text(struct kgb_steps *steps, struct kgb_buf *text, const char *more);
/** Read a stream that is open as `fd` to its end. */
KGB_MUST_CHECK int kgb_steps_read(struct kgb_steps *steps, int fd, struct kgb_err *err);
/** Read a stream in memory; one event may be cut over two calls. Ends with kgb_steps_finish. */
struct kgb_steps_reader;
struct kgb_steps_reader *kgb_steps_reader_new(struct kgb_steps *steps);
void kgb_steps_feed(struct kgb_steps_reader *reader, const char *data, size_t len);
void kgb_steps_finish(struct kgb_steps_reader *take_reader);
void kgb_steps_release(struct kgb_steps *steps);
void kgb_auto_steps(struct kgb_steps *steps);

/* ---- for the readers ---- */

/** The last step, if it is the agent's; else a new one. */
struct kgb_step *kgb_steps__agent(struct kgb_steps *steps);
/** Add a call to a step. `arguments` that are no object become the member "input" of one. */
struct kgb_tool_call *kgb_steps__call(struct kgb_steps *steps, struct kgb_step *step,
				      const char *id, const char *name, const cJSON *arguments);
/** The last call of that id in this stream; NULL: none. */
struct kgb_tool_call *kgb_steps__find_call(struct kgb_steps *steps, const char *id);
/** Text of a value: a string as it is, the texts of an array of content blocks, else JSON; in the
 * arena. */
const char *kgb_steps__content(struct kgb_steps *steps, const cJSON *value);
/* Take one event; false: its type is not one of this CLI's. */
bool kgb_steps__claude(struct kgb_steps *steps, const cJSON *event);
bool kgb_steps__codex(struct kgb_steps *steps, const cJSON *event);
bool kgb_steps__opencode(struct kgb_steps *steps, const cJSON *event);

#endif
