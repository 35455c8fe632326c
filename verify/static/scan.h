/* SPDX-License-Identifier: MIT */
/** \file
 * Stages contract and L1: facts about kernel.py (emitted as JSON by
 * verify/python/reference/ast_facts.py, which parses and never runs it) judged against a policy
 * that is data (verify/policy/l1.yaml). A finding names the rule, the line and the remedy.
 */
#ifndef KGB_VERIFY_STATIC_SCAN_H
#define KGB_VERIFY_STATIC_SCAN_H

#include <stddef.h>

#include "base/codes.h"
#include "base/formats/json.h"
#include "verify/spec/spec.h"

struct kgb_finding {
	enum kgb_code code;
	const char *stage; /* "contract" | "l1" */
	int line; /* 1-based, 0 unknown */
	char message[512]; /* what and where, one sentence */
	char hint[512]; /* what to do instead */
};

#define KGB_NOTES_MAX 16

/** Findings of L1 that do not decide. */
struct kgb_notes {
	struct kgb_finding items[KGB_NOTES_MAX]; /* the first ones in source order; no hints */
	size_t n; /* of items */
	int64_t n_seen; /* of all */
};

struct kgb_l1;
/** Load and compile the policy (PCRE2 patterns with match limits). */
KGB_MUST_CHECK int kgb_l1_load(const char *path, struct kgb_l1 **out, struct kgb_err *err);
void kgb_l1_free(struct kgb_l1 *l1);

/** Bytes only, before any parser: size cap, UTF-8, no NUL, no coding cookie other than utf-8, no
 * BOM tricks, not empty. 0 clean, 1 finding filled. */
int kgb_scan_bytes(const char *source, size_t len, struct kgb_finding *out);
/** Checks facts against the contract (every entry function is present with callable parameters) and
 * L1. 0: clean; 1: *out is filled; -1: the facts themselves are malformed (infra_error). *out is a
 * fault of the contract, else the first refusal of L1 in source order. *notes gets the findings
 * that do not decide, whatever is returned. Code that cannot run in a judged process has no
 * findings. */
int kgb_scan_facts(const struct kgb_l1 *l1, const struct kgb_spec *spec, const cJSON *facts,
		   struct kgb_notes *notes, struct kgb_finding *out, struct kgb_err *err);

#endif
