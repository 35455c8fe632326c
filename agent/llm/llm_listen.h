/* SPDX-License-Identifier: MIT */
/** \file
 * The socket by which kgb-agent asks a bare model through a session of the gateway.
 */
#ifndef KGB_AGENT_LLM_LLM_LISTEN_H
#define KGB_AGENT_LLM_LLM_LISTEN_H

#include "base/err.h"

/** A socket on the loopback interface; the session asks each client for its token. The caller owns
 * both. */
KGB_MUST_CHECK int kgb_llm_listen(char **out_url, int *out_fd, struct kgb_err *err);

#endif
