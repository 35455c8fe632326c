/* SPDX-License-Identifier: MIT */
/** \file
 * A sample: one answer of a bare model for one operator, and its verdict. Samples of one number are
 * a chain of rounds, in each of which the model reads the report on its last kernel's check;
 * without reflection a chain has one round. */
#ifndef KGB_AGENT_STORE_SAMPLE_H
#define KGB_AGENT_STORE_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "sandbox/meter/usage.h"

/** One answer of a bare model. A question without an answer has no row: it is asked again. */
struct kgb_sample {
	int number; /* from 1, within the operator; of the chain */
	int round; /* from 1, within the chain */
	int attempt; /* that asked: its folder has the answer */
	int64_t time_ms; /* when the answer was there */
	int64_t wall_ms; /* from the question to the answer, with its waits */
	const char *finish; /* "stopped", "truncated", "refused" */
	const char *sent; /* sampling fields of the request, a JSON object */
	int64_t thinking_bytes; /* of reasoning that came with it */
	int choice; /* its place among the choices of one request, from 1; 0: it was asked alone */
	const char *kernel_sha256; /* NULL: no kernel in the answer */
	const char *kernel_source; /* "block", "reply"; NULL: no kernel */
	const char
		*kernel_tree; /* kgb_kernel_tree_sha256 of it; NULL: no kernel, or an old record */
	struct kgb_usage usage; /* as the answer reports it */
	int64_t cost_nanos; /* -1: not known */
	const char *check_status; /* of the check that the next round is shown; NULL: none (yet) */
	const char *check_code; /* NULL: passed, or no check */
	bool has_verdict;
	int same_as; /* an earlier sample with the same kernel, whose verdict it shares; 0: none */
	int same_as_round; /* its round */
	const char *status; /* "passed", ...: of its verdict */
	const char *code; /* NULL: passed */
	const char *reached; /* NULL: not known */
	double speedup; /* 0: there is none */
};

#endif
