/* SPDX-License-Identifier: MIT */
/** \file
 * The built-in offline model: a script, not a language model, that speaks all protocols of
 * protocol.h well enough to drive a real coding CLI through its shell tool. It is data:
 * datasets/offline/session.yaml lists the texts and actions turn by turn,
 * datasets/offline/<safe_name>.yaml the kernels of one operator.
 *
 * It keeps no state between requests. The place in the script follows from the conversation in the
 * request: the ids of its own tool calls carry the turn number. So a repeated request gets the same
 * turn.
 *
 * The token counts it reports are estimates from byte counts (ceil(bytes / 4)), split the way a
 * prompt cache would: text of the previous turn is cache_read, later text is cache_creation, the
 * last message is input.
 *
 * datasets/offline/<safe_name>.yaml:
 *
 *     operator: aten::add
 *     note: the purpose of the script, one sentence
 *     bug: the fault of the first kernel, as a clause ("the mask stops at the last full block")
 *     fix: the correction in the second kernel, as a clause
 *     kernels:
 *       buggy: |
 *         ...python...
 *       fixed: |
 *         ...python...
 *     sessions: {...}       # optional, replaces the sessions of session.yaml by name
 *
 * An operator without such a file gets a script that is made: `fixed` is its first kernel in
 * tests/honest, `buggy` the same kernel with the first of the `mistakes` of session.yaml that
 * changes it:
 *
 *     - name: syntax
 *       bug: the text is no Python   # and `fix`, as above
 *       replace: "tl.load("          # optional: each occurrence ...
 *       by: "tl.read("               # ... becomes this
 *       append: "return ("           # optional: one more line at the end
 *
 * Session "sample" is a list of answers. The choice depends only on the operator and on the seed in
 * the request ("seed", or a text in "metadata"). Each answer:
 *
 *     - say: text             # {{kernel}} is the kernel that is drawn
 *       weight: 3 # relative frequency of the answer
 *       kernel: honest|wrong|cheat|none   # drawn from tests/honest, or from the attacks of
 *                                         # tests/redteam by what their `expect` begins with
 *       mistake: syntax       # optional: an honest kernel with this mistake; {{bug}} is its bug
 *       cut: 40               # optional: percent of the answer that arrive before a limit of
 * length
 *
 * The last answer needs no kernel, so that there is always a possible answer.
 *
 * A session with a seed gives the kernel of the answer that this seed draws from "sample": without
 * tools as that answer, with a shell tool by the turns of session "drawn", which write kernel
 * `drawn`; from an answer without a kernel only the text.
 *
 * Any other session is a list of turns; each turn:
 *
 *     - say: text             # always; placeholders below
 *       write: buggy          # optional: write that kernel to kernel.py through the shell tool
 *       run: kgb-verify       # optional: run this command through the shell tool
 *       describe: text        # optional: one line shown beside the command
 *       expect: passed|failed # optional: what the last tool result must be for this turn to happen
 * ... otherwise: text       # ... else this is said and the session ends
 *
 * A turn without write and run ends the session. Placeholders: {{operator}}, {{bug}}, {{fix}},
 * {{note}},
 * {{kernel.NAME}}, {{last_result}} (the last tool result, at most 4 KiB), {{passed_line}} (its
 * first line that starts with "PASSED"), {{failing_case}} (its first line that names a failing
 * case, else its first line that starts with "FAIL", else "(the report names no case)").
 */
#ifndef KGB_SANDBOX_OFFLINE_OFFLINE_H
#define KGB_SANDBOX_OFFLINE_OFFLINE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "sandbox/meter/protocol.h"
#include "sandbox/meter/usage.h"

enum kgb_offline_variant {
	KGB_OFFLINE_VERIFY, /* session "verify": write, verify, repair, verify, finish */
	KGB_OFFLINE_ONESHOT, /* session "oneshot": one answer with the kernel in a fenced block */
	KGB_OFFLINE_SAMPLE, /* one answer of session "sample", drawn by the seed of the request */
	KGB_OFFLINE_AGAIN, /* session "again": a later round on a kernel that is there already */
};

struct kgb_offline_session;

/** An operator for the offline model. */
struct kgb_offline_subject {
	const char *data_dir; /* of the program: has datasets/offline and tests */
	const char *safe_name; /* "aten__add" */
	bool has_gpu; /* kernels that need a GPU can run */
	const char *seed; /* draws the kernel of the whole session, in any variant but SAMPLE; NULL:
			     the script's are shown */
};
/** Whether the offline model has an answer for the operator: a script, or an honest kernel. */
bool kgb_offline_can_answer(const struct kgb_offline_subject *subject);
/** Read the sessions, the operator's script and its kernels. NOT_FOUND when the offline model has
 * no answer for the operator. */
KGB_MUST_CHECK int kgb_offline_load(struct kgb_offline_session **out,
				    const struct kgb_offline_subject *subject,
				    enum kgb_offline_variant variant, struct kgb_err *err);
/** A YAML document in memory; `name` is for messages. */
struct kgb_offline_source {
	const char *name;
	const char *yaml;
	size_t len;
};
/** The same from memory: the kernels are those of the script. */
KGB_MUST_CHECK int kgb_offline_parse(struct kgb_offline_session **out,
				     const struct kgb_offline_source *sessions,
				     const struct kgb_offline_source *script,
				     enum kgb_offline_variant variant, struct kgb_err *err);
void kgb_offline_free(struct kgb_offline_session *session);
/** "aten::add". */
const char *kgb_offline_operator(const struct kgb_offline_session *session);
/** Text of a kernel of the script without its last line break, or NULL. The written kernel.py is
 * this text and "\n". */
const char *kgb_offline_kernel(const struct kgb_offline_session *session, const char *name);

struct kgb_offline_reply {
	int status;
	const char *content_type; /* static */
	struct kgb_buf body; /* SSE or JSON */
	KGB_VEC(size_t)
	event_ends; /* SSE: offsets in body, so that it can be sent event by event */
};
#define KGB_OFFLINE_REPLY_INIT          \
	{                               \
		.body = KGB_BUF_INIT(0) \
	}

/** Answer one request for a model's answer. Bad requests get a 400 reply in the protocol's error
 * form, so this cannot fail. Safe on any thread. */
void kgb_offline_answer(const struct kgb_offline_session *session, enum kgb_protocol protocol,
			const char *body, size_t len, struct kgb_offline_reply *out);
/** Answer POST /v1/messages/count_tokens: {"input_tokens": N}. */
void kgb_offline_count_tokens(const char *body, size_t len, struct kgb_offline_reply *out);
/** Answer GET /v1/models. */
void kgb_offline_models(enum kgb_protocol protocol, struct kgb_offline_reply *out);
void kgb_offline_reply_release(struct kgb_offline_reply *reply);

#endif
