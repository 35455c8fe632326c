/* SPDX-License-Identifier: MIT */
/** \file
 * The timeline of a run: when each agent worked, and when each device judged. */
#ifndef KGB_AGENT_PAGE_TIMELINE_H
#define KGB_AGENT_PAGE_TIMELINE_H

#include "agent/page/collected.h"
#include "base/formats/jsonw.h"

/** Write the members `rows`, `devices` and `bars` of the open object. A bar is [place of the
 * operator, what, from, to, row], in seconds after the start of the run; bars of one row do not
 * overlap. */
void kgb_timeline_write(struct kgb_jsonw *w, const struct kgb_collected_run *run);

#endif
