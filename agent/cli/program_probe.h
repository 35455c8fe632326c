/* SPDX-License-Identifier: MIT */
/** \file
 * Asks a coding CLI for its version. The CLI is foreign code that a package manager brought: it
 * runs in a sandbox like an attempt, without network and with an empty home, not on the host.
 */
#ifndef KGB_AGENT_CLI_PROGRAM_PROBE_H
#define KGB_AGENT_CLI_PROGRAM_PROBE_H

#include "base/err.h"
#include "methods/program.h"
#include "sandbox/isolation/ladder.h"

/** The program at `path` (NULL: it was not found) is there and runs; `version` gets its version, ""
 * when it has none. UNAVAILABLE with the remedy when not. `ladder` as for attempts. */
KGB_MUST_CHECK int kgb_program_probe(const struct kgb_program *program, const char *path,
				     const char *bin_dir, const struct kgb_ladder *ladder,
				     char version[KGB_VERSION_LEN], struct kgb_err *err);
/** Append "Claude Code 2.2.0 is not among the tested versions (2.1.197 to 2.1.329)" and return
 * true, or return false when there is nothing to warn of. */
bool kgb_program_untested(const struct kgb_program *program, const char *version,
			  struct kgb_buf *out);

#endif
