/* SPDX-License-Identifier: MIT */
/** \file
 * The series that the plots of a report show. All statistics are computed here; the page only
 * draws.
 */
#ifndef KGB_AGENT_PAGE_SERIES_H
#define KGB_AGENT_PAGE_SERIES_H

#include "agent/page/collected.h"
#include "base/formats/jsonw.h"

/** Write the members fast_p, groups, ladder, failures and anytime of the open object. */
void kgb_series_write(struct kgb_jsonw *w, const struct kgb_collected *collected);

#endif
