/* SPDX-License-Identifier: MIT */
/** \file
 * The attempt of an earlier run that a replay repeats. The CLI of a replay is real; the gateway's
 * session takes the model's answers from the record (sandbox/cassette/replay.h), and this module
 * takes the verdicts from it.
 */
#ifndef KGB_AGENT_ATTEMPT_RECORDING_H
#define KGB_AGENT_ATTEMPT_RECORDING_H

#include "agent/attempt/attempt_facts.h"

struct kgb_recording;

/** The recorded attempt of the same operator and number. *out stays NULL if the run is no replay.
 * NOT_FOUND: the record has no such attempt. */
KGB_MUST_CHECK int kgb_recording_open(struct kgb_recording **out,
				      const struct kgb_attempt_facts *facts, struct kgb_err *err);
void kgb_recording_free(struct kgb_recording *recording);
const struct kgb_attempt_paths *kgb_recording_paths(const struct kgb_recording *recording);
/** The session's id in that round, which the requests contain; NULL: unknown. */
const char *kgb_recording_session_id(const struct kgb_recording *recording, int round);
/** Call `done` with the recorded verdict of that number if it belongs to the same kernel. */
void kgb_recording_judge(const struct kgb_recording *recording, int number, const char *kernel,
			 size_t len, kgb_job_done_fn done, void *payload);

#endif
