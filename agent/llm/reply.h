/* SPDX-License-Identifier: MIT */
/** \file
 * The kernel in the reply of a bare model. Nothing is executed to find it.
 */
#ifndef KGB_AGENT_LLM_REPLY_H
#define KGB_AGENT_LLM_REPLY_H

#include "verify/spec/spec.h"

/** Find the kernel: the last fenced block of Python or of no language that defines a function of
 * the operator, one that is closed if possible; else the last fenced Python block; else the whole
 * reply when it defines such a function and has no fence. `out_source` is "block" or "reply".
 * Returns malloc'ed text; NULL: there is none. */
char *kgb_reply_kernel(const char *reply, const struct kgb_spec *spec, const char **out_source);

#endif
