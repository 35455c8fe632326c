/* SPDX-License-Identifier: MIT */
/** \file Output for shells and packagers: candidates for the last word of a command line, and the
 * man page. The shells' files (agent/cli/shell/) call `kgb-agent __complete WORDS...`.
 */
#ifndef KGB_AGENT_CLI_COMPLETE_H
#define KGB_AGENT_CLI_COMPLETE_H

#include "base/buf.h"

/** Append the candidates for words[n - 1], which may be unfinished or "", one a line; words[0] is
 * the first word after the program's name. Nothing for a file name: the shell completes those.
 * Names that cannot be listed (no data, no runs) give no candidates. */
void kgb_complete(const char *const *words, size_t n, struct kgb_buf *out);
/** Append kgb-agent.1. */
void kgb_man_page(struct kgb_buf *out);

#endif
