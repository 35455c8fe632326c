/* SPDX-License-Identifier: MIT */
/** \file
 * The outline of a results.json: without the members that hold most of its bytes and no figure of a
 * table. This keeps the time to read a hundred runs near one second. */
#ifndef KGB_AGENT_ANSWERS_OUTLINE_H
#define KGB_AGENT_ANSWERS_OUTLINE_H

#include "base/buf.h"

/** Append the text with the value of each heavy member ("attempts", "verify_calls", "timed_cases",
 * "interfaces", "dtypes", "samples", "sandbox" and "tiers") that is an array or an object replaced
 * by null. Invalid JSON stays invalid, unless its fault is in such a value.
 * \param kept members that stay whole; NULL ends the list */
void kgb_outline(const char *text, size_t len, const char *const *kept, struct kgb_buf *out);

#endif
