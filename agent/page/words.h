/* SPDX-License-Identifier: MIT */
/** \file
 * The summary of a report in sentences.
 */
#ifndef KGB_AGENT_PAGE_WORDS_H
#define KGB_AGENT_PAGE_WORDS_H

#include "agent/page/collected.h"
#include "base/str.h"

/** Add the warnings (runs that are offline, or measure different things), then the outcome of each
 * run, then the differences of methods from the first one, in the words of `compare`. */
KGB_MUST_CHECK int kgb_words(const struct kgb_runs *runs, const struct kgb_collected *collected,
			     struct kgb_strv *warnings, struct kgb_strv *sentences,
			     struct kgb_err *err);

#endif
