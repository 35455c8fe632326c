/* SPDX-License-Identifier: MIT */
/** \file Finds by trial the isolation that this machine supports. Every run records the result.
 */
#ifndef KGB_SANDBOX_ISOLATION_PROBE_H
#define KGB_SANDBOX_ISOLATION_PROBE_H

#include "base/err.h"
#include "base/formats/json.h"
#include "base/formats/jsonw.h"
#include "sandbox/isolation/bwrap.h"
#include "sandbox/isolation/status.h"

enum kgb_isolation_level {
	KGB_ISOLATION_NONE = -1, /* no sandbox: no agent runs, no kernel is judged */
	KGB_ISOLATION_L3, /* bubblewrap with all namespaces and seccomp, no cgroup */
	KGB_ISOLATION_L4, /* L3, Landlock and a cgroup */
};
/** "none", "L3", "L4" */
const char *kgb_isolation_level_name(enum kgb_isolation_level level);

struct kgb_isolation_info {
	enum kgb_isolation_level level;
	char bwrap_path[256];
	char bwrap_version[32];
	bool seccomp;
	bool listener; /* a listening socket can be made in an empty network namespace */
	bool nested_userns; /* the runner's zygote can make namespaces inside */
	int64_t start_ms; /* duration of the probe's `true` */
};

/** Start trial sandboxes. `launcher` and `bwrap` as in struct kgb_sandbox_spec (NULL: default).
 * UNAVAILABLE with the reason and the command that fixes it when no sandbox works. Blocks for some
 * milliseconds, 10 s at most. */
KGB_MUST_CHECK int kgb_isolation_probe(const char *launcher, const char *bwrap,
				       struct kgb_isolation_info *out, struct kgb_err *err);
/** Write it as a JSON object (as in results and verdicts). */
void kgb_isolation_write(const struct kgb_isolation_info *info, struct kgb_jsonw *w);
/** Read what kgb_isolation_write wrote; false: it is something else. */
bool kgb_isolation_read(const cJSON *node, struct kgb_isolation_info *out);

/** Internal to probing (ladder.c): run `script` by sh in a sandbox with the base policy, to its
 * end; its output goes to *output, the launcher's reports to *status (initialised by the caller,
 * and filled with all reports that arrived, also on failure). */
KGB_MUST_CHECK int kgb_isolation__trial(const struct kgb_sandbox_spec *base,
					struct kgb_policy *policy, const char *script,
					struct kgb_sandbox_status *status, struct kgb_buf *output,
					struct kgb_err *err);

#endif
