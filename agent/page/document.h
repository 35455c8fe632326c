/* SPDX-License-Identifier: MIT */
/** \file
 * The document of a report, kgb.report/1 (docs/schemas): the whole content of its page. */
#ifndef KGB_AGENT_PAGE_DOCUMENT_H
#define KGB_AGENT_PAGE_DOCUMENT_H

#include "agent/page/collected.h"
#include "base/buf.h"

/** Append the document of runs that have been collected. It takes about `limit` bytes of a page at
 * most: kernels are cut to what the rest leaves. If that is less than a quarter, histories are left
 * out, then timelines, then kernels, each with a warning. LIMIT: it does not fit even so.
 * \param now_ms when the report is made
 * \param left_out gets the names of what is left out */
KGB_MUST_CHECK int kgb_report_document(const struct kgb_runs *runs,
				       const struct kgb_collected *collected, int64_t now_ms,
				       size_t limit, struct kgb_buf *out, struct kgb_strv *left_out,
				       struct kgb_err *err);

#endif
