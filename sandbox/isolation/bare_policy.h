/* SPDX-License-Identifier: MIT */
/** \file
 * A policy without namespaces: what it mounts is used where it lies on the host. Paths inside the
 * sandbox that stand in arguments and in the environment become those of the host; Landlock allows
 * these and little else. Memory file systems become directories below the home directory.
 */
#ifndef KGB_SANDBOX_ISOLATION_BARE_POLICY_H
#define KGB_SANDBOX_ISOLATION_BARE_POLICY_H

#include "base/err.h"
#include "base/str.h"
#include "sandbox/isolation/policy.h"

/** `text` with each path of the inside that it begins with, or that follows ':', '=', ',' or a
 * blank, as a path of the host; malloc'ed. */
char *kgb_bare_translate(const struct kgb_policy *policy, const char *text);
/** Append options of kgb-confine, "--", and the translated command to *argv. `landlock_abi` 0: no
 * rules. */
void kgb_bare_command(const struct kgb_policy *policy, int landlock_abi, struct kgb_strv *argv,
		      struct kgb_strv *confine_args);
/** Make the directories that stand for memory file systems. */
KGB_MUST_CHECK int kgb_bare_make_dirs(const struct kgb_policy *policy, struct kgb_err *err);

#endif
