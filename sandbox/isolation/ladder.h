/* SPDX-License-Identifier: MIT */
/** \file
 * The isolation levels of agents. Trial sandboxes show which level this machine reaches; a run
 * names the lowest level that it accepts.
 *
 *   L4  bubblewrap with all namespaces, system-call filter, Landlock, cgroup
 *   L3  the same without Landlock or without a cgroup (the launcher enforces the limits)
 */
#ifndef KGB_SANDBOX_ISOLATION_LADDER_H
#define KGB_SANDBOX_ISOLATION_LADDER_H

#include "base/err.h"
#include "base/formats/jsonw.h"
#include "sandbox/isolation/bwrap.h"
#include "sandbox/isolation/probe.h"

struct kgb_ladder {
	enum kgb_isolation_level level;
	struct kgb_isolation_info info; /* of bubblewrap */
	struct kgb_confinement confinement; /* confinement beyond it; for kgb_sandbox_spec */
	/* Why this machine lacks a feature, with the remedy; "" when it has the feature. */
	char no_sandbox[400], no_landlock[200], no_cgroup[400], no_calls[200];
};

/** Try every feature on this machine with real sandboxes (about 50 ms). `launcher` and `bwrap` as
 * in struct kgb_sandbox_spec. Never fails: a missing feature lowers the level. */
void kgb_ladder_probe(const char *launcher, const char *bwrap, struct kgb_ladder *out);
/** DENIED with the remedy when the level is below `minimum`. */
KGB_MUST_CHECK int kgb_ladder_require(const struct kgb_ladder *ladder,
				      enum kgb_isolation_level minimum, struct kgb_err *err);
/** Write it as a JSON object, as in the result of an attempt. */
void kgb_ladder_write(const struct kgb_ladder *ladder, struct kgb_jsonw *w);
/** "v2", "v1", "none" */
const char *kgb_ladder_cgroup_name(const struct kgb_ladder *ladder);

#endif
