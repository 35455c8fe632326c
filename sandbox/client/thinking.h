/* SPDX-License-Identifier: MIT */
/** \file
 * Thinking that a server leaves in the text of an answer: open models write it between tags, and
 * some servers leave it there. */
#ifndef KGB_SANDBOX_CLIENT_THINKING_H
#define KGB_SANDBOX_CLIENT_THINKING_H

#include "base/buf.h"

/** Move the text between tags of thinking from `text` to the end of `thinking`, up to its cap. A
 * tag that is not closed reaches to the end of the text. A closing tag at the start of a line that
 * nothing opens ends thinking that the prompt began. An opening tag within a line counts only if it
 * is closed. */
void kgb_thinking_split(struct kgb_buf *text, struct kgb_buf *thinking);

#endif
