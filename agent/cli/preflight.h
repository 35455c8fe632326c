/* SPDX-License-Identifier: MIT */
/** \file
 * What a machine must have before a run starts. Each check fails with KGB_ERR_UNAVAILABLE and the
 * command that fixes it.
 */
#ifndef KGB_AGENT_CLI_PREFLIGHT_H
#define KGB_AGENT_CLI_PREFLIGHT_H

#include "base/err.h"
#include "sandbox/isolation/ladder.h"

/** The isolation that agents get here, and whether it is at least `minimum`. */
KGB_MUST_CHECK int kgb_preflight_sandbox(const char *bin_dir, enum kgb_isolation_level minimum,
					 struct kgb_ladder *out, struct kgb_err *err);
/** The interpreter runs and finds torch and triton (without importing them: some 50 ms); with `gpu`
 * torch is a build with CUDA. */
KGB_MUST_CHECK int kgb_preflight_python(const char *python, bool gpu, struct kgb_err *err);

#endif
