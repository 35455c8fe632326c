/* SPDX-License-Identifier: MIT */
/** \file
 * The page of a report: one HTML file that needs no network. Its parts lie in web/ and, from npm,
 * in .deps/page; the build puts them into the program.
 */
#ifndef KGB_AGENT_PAGE_PAGE_H
#define KGB_AGENT_PAGE_PAGE_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

/** Approximate limit on a page: viewers and mail refuse more. */
#define KGB_PAGE_LIMIT 4900000

/** Bytes of a page without a document. UNAVAILABLE with the remedy when the build found no Plot and
 * D3. */
KGB_MUST_CHECK int kgb_page_size(size_t *bytes, struct kgb_err *err);
/** Append the page that shows a document (JSON). */
KGB_MUST_CHECK int kgb_page_render(const char *json, size_t len, struct kgb_buf *out,
				   struct kgb_err *err);

#endif
