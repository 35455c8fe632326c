/* SPDX-License-Identifier: MIT */
/** \file
 * The document of a report, kgb.report/1 (docs/schemas): all that its page shows.
 */
#ifndef KGB_AGENT_PAGE_DOCUMENT_H
#define KGB_AGENT_PAGE_DOCUMENT_H

#include "agent/page/collected.h"
#include "base/buf.h"

/** Append the document of runs that have been collected. Kernels are cut so that it takes about
 * `limit` bytes of a page at most: what else it has is never cut for that. \param now_ms when the
 * report is made */
KGB_MUST_CHECK int kgb_report_document(const struct kgb_runs *runs,
				       const struct kgb_collected *collected, int64_t now_ms,
				       size_t limit, struct kgb_buf *out, struct kgb_err *err);

#endif
