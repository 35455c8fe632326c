/* SPDX-License-Identifier: MIT */
/** \file
 * The parts of an attempt of a bare model (llm_attempt.h): llm_attempt.c begins, asks and ends,
 * judging.c submits kernels to the judge, and leads a chain from round to round. */
#ifndef KGB_AGENT_LLM_LLM_PARTS_H
#define KGB_AGENT_LLM_LLM_PARTS_H

#include "agent/attempt/attempt_facts.h"
#include "agent/attempt/model_session.h"
#include "agent/store/chains.h"
#include "base/hash.h"
#include "sandbox/offline/offline.h"

/** One round of a sample under way: it waits for the round before it, or is asked for, or being
 * judged; at the same time its kernel may be checked for the next round. Samples of one request are
 * linked in the order of its choices; the first one has the ask. */
struct kgb_llm_work {
	struct kgb_llm_attempt *attempt;
	int number, round;
	int64_t asked_ms; /* monotonic */
	unsigned refused; /* sampling fields that its last question left out */
	struct kgb_llm_work *next; /* in the same request */
	int first, choice,
		n_choices; /* its last request: number of its first sample, and its place */
	struct kgb_ask *ask;
	bool is_batched; /* a batch is to bring it */
	struct kgb_job *job, *check;
	char tree[KGB_SHA256_HEX_LEN]; /* of its kernel; "": not known yet */
	/* In a later round: last answer and report for its question. Owned; NULL: sent. */
	char *last_answer, *last_report;
	bool is_over;
};

struct kgb_llm_attempt {
	struct kgb_attempt_facts facts;
	struct kgb_offline_session *offline; /* owned */
	struct kgb_cassette *cassette; /* owned; NULL: not a replay */
	struct kgb_round_sums sums;
	struct kgb_model_session model;
	char *traffic; /* owned */
	struct kgb_chat_prompt prompt;
	char *base_url; /* owned; of the session */
	struct kgb_llm_batches *batches; /* owned; NULL: there are none */
	struct kgb_llm_work *work; /* one for each round of each sample of the plan */
	int n_work;
	int n_open; /* of these, and of the checks, under way */
	uv_timer_t limit; /* of the operator's or the run's time */
	int64_t answer_ms; /* of each question, to the end of its answer */
	int64_t timeout_ms; /* of the attempt; 0: none */
	enum kgb_agent_end end; /* the worst that happened; OK: every sample is there */
	char why[256];
	bool is_ending, cancelled, timed_out, reported_fatal, warned_of_budget;
	void (*done)(void *payload, const struct kgb_attempt_outcome *outcome);
	void *payload;
};

const struct kgb_op_state *kgb_llm__state_of(const struct kgb_llm_attempt *attempt);
/** The run cannot go on. */
void kgb_llm__report_fatal(struct kgb_llm_attempt *attempt, const struct kgb_err *err);
/** Report it unless rc is 0. */
void kgb_llm__check(struct kgb_llm_attempt *attempt, int rc, const struct kgb_err *err);
/** Path of a file of a sample, below the folder of the attempt that asked for it; malloc'ed. */
char *kgb_llm__sample_path(const struct kgb_llm_attempt *attempt, const struct kgb_sample *sample,
			   const char *suffix);
KGB_MUST_CHECK int kgb_llm__write_sample_file(const struct kgb_llm_work *work, const char *suffix,
					      const char *text, size_t len, struct kgb_err *err);
/** What is recorded of a round; NULL: it is not answered. */
const struct kgb_sample *kgb_llm__sample_of(const struct kgb_llm_work *work);
/** The attempt is over when nothing is under way. */
void kgb_llm__end_if_idle(struct kgb_llm_attempt *attempt);
void kgb_llm__end_work(struct kgb_llm_work *work);
/** Mark the rounds after this one as never to be asked. */
void kgb_llm__end_chain(struct kgb_llm_work *work);
/** Send one request for linked samples. */
void kgb_llm__ask(struct kgb_llm_work *first);
/** Whether this failure means that later questions cannot be answered either. */
bool kgb_llm__is_hopeless(enum kgb_agent_end end);

/** Record the verdict on a round: status, code, reached and speedup of `sample`. */
void kgb_llm__record_verdict(struct kgb_llm_work *work, struct kgb_sample *sample);
/** Submit the kernel of a round to the judge, unless the same program is being judged. */
void kgb_llm__judge(struct kgb_llm_work *work);
/** After an answer: end the chain when its kernel passes a check, else ask for the next round. */
void kgb_llm__go_on(struct kgb_llm_work *work);

#endif
