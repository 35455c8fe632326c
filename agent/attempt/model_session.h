/* SPDX-License-Identifier: MIT */
/** \file
 * The gateway's session with the model in a round of an attempt. Sums and journals the gateway's
 * counts, and holds the attempt's budget. */
#ifndef KGB_AGENT_ATTEMPT_MODEL_SESSION_H
#define KGB_AGENT_ATTEMPT_MODEL_SESSION_H

#include "agent/attempt/attempt_facts.h"
#include "agent/watch/round_sums.h"
#include "agent/watch/watcher.h"

struct kgb_model_session_callbacks {
	/** A budget is used up: the CLI received an error and should end by itself. */
	void (*on_budget)(void *payload, const char *why);
	/** As in kgb_session_callbacks. */
	void (*on_hopeless)(void *payload);
	/** As in kgb_session_callbacks. Called only if the method has kgb-verify. */
	void (*on_verify)(void *payload, struct kgb_verify_request *request, const char *kernel,
			  size_t len);
	void (*on_closed)(void *payload);
	/** The journal or the disk failed. */
	void (*on_fatal)(void *payload, const struct kgb_err *err);
};

/** Where the answers come from, and where they are recorded. Borrowed until the session is closed.
 */
struct kgb_model_source {
	const struct kgb_offline_session *offline; /* NULL: not offline */
	const struct kgb_cassette *cassette; /* NULL: not a replay */
	const char *traffic_dir; /* exists; copied */
};

struct kgb_model_session {
	const struct kgb_attempt_facts *facts; /* borrowed, as are the next two */
	struct kgb_round_sums *sums;
	struct kgb_watcher *watcher; /* NULL: no sandbox is watched */
	struct kgb_model_session_callbacks callbacks;
	void *payload;
	struct kgb_budget budget; /* of all rounds */
	struct kgb_session *session; /* NULL: not open */
	bool usage_changed; /* since it was journalled */
};

/** Open the session of the round that has begun. */
KGB_MUST_CHECK int kgb_model_session_open(struct kgb_model_session *model,
					  const struct kgb_model_source *source, int take_listen_fd,
					  struct kgb_err *err);
/** Start to close it, if it is open: on_closed is called once. */
void kgb_model_session_close(struct kgb_model_session *model);
/** Requests to the model that are open now. */
int64_t kgb_model_session_n_open(const struct kgb_model_session *model);
/** Journal the usage if it has changed. */
void kgb_model_session_flush(struct kgb_model_session *model);

#endif
