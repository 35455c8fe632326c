/* SPDX-License-Identifier: MIT */
/** \file
 * What a machine must have before a run starts. Each check fails with KGB_ERR_UNAVAILABLE and the
 * command that fixes it.
 */
#ifndef KGB_AGENT_CLI_PREFLIGHT_H
#define KGB_AGENT_CLI_PREFLIGHT_H

#include "base/buf.h"
#include "base/err.h"
#include "sandbox/isolation/probe.h"

/** The coding CLI is there and runs; the first word of its `--version` is appended to *version. */
KGB_MUST_CHECK int kgb_preflight_cli(const char *path, struct kgb_buf *version,
				     struct kgb_err *err);
/** A sandbox can be had; tells which. */
KGB_MUST_CHECK int kgb_preflight_sandbox(const char *bin_dir, struct kgb_isolation_info *out,
					 struct kgb_err *err);
/** The interpreter runs and finds torch and triton (without importing them: some 50 ms); with `gpu`
 * torch is a build with CUDA. */
KGB_MUST_CHECK int kgb_preflight_python(const char *python, bool gpu, struct kgb_err *err);

#endif
