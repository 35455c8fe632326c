/* SPDX-License-Identifier: MIT */
/** \file
 * Which kernels are the same program. A model that is asked many times writes the same kernel with
 * other comments; it is judged once.
 */
#ifndef KGB_AGENT_LLM_SAME_KERNEL_H
#define KGB_AGENT_LLM_SAME_KERNEL_H

#include "base/buf.h"
#include "base/hash.h"

/** Append a Python text without the parts that have no effect: comments, blank lines, docstrings
 * and other statements that are only a string, the width of blanks between tokens, and line breaks
 * within brackets and after backslashes. The appended text parses to the tree of `text` without its
 * docstrings, so texts that become equal are the same program. False when the text has something
 * whose meaning is not certain here (a declared encoding, unbalanced brackets, strings or format
 * strings, control characters): then `out` is as it was. */
bool kgb_python_normalize(const char *text, struct kgb_buf *out);

/** A hash that only kernels of the same program share: of the normalized text, else of the text. */
void kgb_kernel_tree_sha256(const char *kernel, char out[KGB_SHA256_HEX_LEN]);

#endif
