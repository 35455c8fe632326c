/* SPDX-License-Identifier: MIT */
/** \file
 * Runs as JUnit XML, for CI: a suite is a run, a case is an operator.
 */
#ifndef KGB_AGENT_EXPORTS_JUNIT_H
#define KGB_AGENT_EXPORTS_JUNIT_H

#include "agent/evidence/record.h"

/** The totals of the suites so far. */
struct kgb_junit_totals {
	size_t n_tests, n_failures, n_errors, n_skipped;
	double seconds;
};

/** Append the suite of a run. A kernel that does not pass is a failure, a fault of the machine or
 * the provider an error, an operator that has not ended is skipped. */
void kgb_junit_suite(const struct kgb_run_record *record, struct kgb_buf *out,
		     struct kgb_junit_totals *totals);
/** Append the document with these suites. */
void kgb_junit_document(const struct kgb_buf *suites, const struct kgb_junit_totals *totals,
			struct kgb_buf *out);
/** Append text as XML 1.0: markup escaped, and bytes that XML does not allow (controls, invalid
 * UTF-8) as \xNN. In an attribute line breaks are kept as references. */
void kgb_xml_escape(struct kgb_buf *out, const char *text, bool is_attribute);

#endif
