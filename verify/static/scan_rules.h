/* SPDX-License-Identifier: MIT */
/** \file
 * Declarations that the parts of the static stages (verify/static/scan*.c) share: findings, facts,
 * and the rules of the L1 policy.
 */
#ifndef KGB_VERIFY_STATIC_SCAN_RULES_H
#define KGB_VERIFY_STATIC_SCAN_RULES_H

#include <stddef.h>
#include <stdint.h>

#include "verify/static/scan.h"

/** Copy text that may hold a candidate's names: made printable, cut between characters. */
void kgb_finding__put(char *out, size_t size, const char *text);
/** Fill a finding of the contract stage; returns 1. */
int kgb_finding__contract(struct kgb_finding *out, enum kgb_code code, int line, const char *hint,
			  const char *fmt, ...) KGB_PRINTF(5, 6);

/** One entry of the facts document; texts are borrowed from it. */
struct kgb_fact {
	int kind; /* kgb_fact__kind */
	uint32_t context; /* bit, kgb_fact__context */
	const char *name, *use, *on, *owner, *function;
	int line;
	bool is_reached; /* a call of an entry may run this code, or use what it made at import */
};
/** Number of a kind or a context by its name, -1 unknown. */
int kgb_fact__kind(const char *name);
int kgb_fact__context(const char *name);

struct kgb_rule;
/** The first rule of the policy that applies to the fact decides: it is returned. NULL: no rule
 * applies, or the first one allows the fact. */
const struct kgb_rule *kgb_l1__find(const struct kgb_l1 *l1, const struct kgb_fact *fact);
/** Whether a match of the rule refuses the file; else it is noted. */
bool kgb_rule__refuses(const struct kgb_rule *rule);
/** The finding that a rule makes of a fact. */
void kgb_rule__explain(const struct kgb_rule *rule, const struct kgb_fact *fact,
		       struct kgb_finding *out);

#endif
