/* SPDX-License-Identifier: MIT */
#include "agent/exports/junit.h"

#include "agent/report/common.h"
#include "base/limits.h"
#include "base/str.h"
#include "verify/lane/report.h"

/* ---- XML ---- */

/** Whether XML 1.0 allows a character, of which n bytes of valid UTF-8 are given. */
static bool is_xml(const char *s, size_t n)
{
	const unsigned char *c = (const unsigned char *)s;
	if (n == 1)
		return *c >= 0x20 || *c == '\t' || *c == '\n' || *c == '\r';
	return !(n == 3 && c[0] == 0xef && c[1] == 0xbf && c[2] >= 0xbe); /* U+FFFE, U+FFFF */
}

static void add_char(struct kgb_buf *out, const char *s, size_t n, bool is_attribute)
{
	if (!is_xml(s, n)) {
		for (size_t i = 0; i < n; i++)
			kgb_buf_addf(out, "\\x%02x", (unsigned)(unsigned char)s[i]);
		return;
	}
	switch (*s) {
	case '&':
		kgb_buf_adds(out, "&amp;");
		break;
	case '<':
		kgb_buf_adds(out, "&lt;");
		break;
	case '>':
		kgb_buf_adds(out, "&gt;");
		break;
	case '"':
		kgb_buf_adds(out, "&quot;");
		break;
	case '\r': /* a parser would make a line feed of it */
		kgb_buf_adds(out, "&#13;");
		break;
	case '\n':
	case '\t':
		if (is_attribute)
			kgb_buf_addf(out, "&#%d;", *s);
		else
			kgb_buf_addc(out, *s);
		break;
	default:
		kgb_buf_add(out, s, n);
	}
}

void kgb_xml_escape(struct kgb_buf *out, const char *text, bool is_attribute)
{
	const size_t len = strlen(text);
	for (size_t i = 0; i < len;) {
		const size_t valid = kgb_utf8_valid(text + i, len - i);
		for (size_t end = i + valid; i < end;) {
			size_t columns;
			const size_t n = kgb_utf8_char(text + i, &columns);
			add_char(out, text + i, n, is_attribute);
			i += n;
		}
		if (i < len)
			kgb_buf_addf(out, "\\x%02x", (unsigned)(unsigned char)text[i++]);
	}
}

static void add_attribute(struct kgb_buf *out, const char *name, const char *value)
{
	if (!value)
		return;
	kgb_buf_addf(out, " %s=\"", name);
	kgb_xml_escape(out, value, true);
	kgb_buf_addc(out, '"');
}

static void add_property(struct kgb_buf *out, const char *name, const char *value)
{
	if (!value)
		return;
	kgb_buf_addf(out, "      <property name=\"%s\"", name);
	add_attribute(out, "value", value);
	kgb_buf_adds(out, "/>\n");
}

/* ---- cases ---- */

/** The element of an operator that did not pass; NULL: it passed. */
static const char *element_of(const struct kgb_op_state *op)
{
	switch (op->status) {
	case KGB_OP_PASSED:
		return NULL;
	case KGB_OP_FAILED:
	case KGB_OP_REFUSED:
	case KGB_OP_CHEATED:
	case KGB_OP_TIMEOUT:
	case KGB_OP_BUDGET:
		return "failure";
	case KGB_OP_INFRA_ERROR:
		return "error";
	case KGB_OP_PLANNED:
	case KGB_OP_RUNNING:
	case KGB_OP_RETRYING:
	case KGB_OP_GENERATED:
	case KGB_OP_VERIFYING:
	case KGB_OP_CANCELLED:
	case KGB_OP_N_STATUSES:
		return "skipped";
	}
	KGB_UNREACHABLE();
}

/** The report on the final verdict, where it is on record. */
static void add_report(const struct kgb_run_record *record, const struct kgb_op_state *op,
		       struct kgb_buf *out)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_VERDICT);
	KGB_AUTO(buf) struct kgb_buf report = KGB_BUF_INIT(KGB_LIMIT_VERDICT);
	KGB_AUTO(json) cJSON *verdict = NULL;
	if (!op->verdict_path ||
	    kgb_run_record_read(record->dir.fd, op->verdict_path, KGB_LIMIT_VERDICT, &text, NULL) <
		    0 ||
	    kgb_json_parse(text.ptr, text.len, &verdict, NULL) < 0)
		return;
	kgb_verdict_report(verdict, &report);
	kgb_xml_escape(out, report.ptr, false);
}

static double seconds_of(const struct kgb_run_state *state, const struct kgb_op_state *op)
{
	const int64_t verify_ms = kgb_report__verify_ms(op);
	return (double)(kgb_report__agent_ms(state, op) + (verify_ms > 0 ? verify_ms : 0)) / 1000;
}

static void add_outcome(const struct kgb_run_record *record, const struct kgb_op_state *op,
			const char *element, struct kgb_buf *out)
{
	const char *status = kgb_op_status_name(op->status);
	KGB_AUTO(free)
	char *message =
		kgb_xasprintf("%s%s%s%s%s", status, op->error_code ? " " : "",
			      op->error_code ? op->error_code : "", op->error_message ? ": " : "",
			      op->error_message ? op->error_message : "");
	kgb_buf_addf(out, "      <%s", element);
	if (!kgb_str_eq(element, "skipped"))
		add_attribute(out, "type", op->error_code ? op->error_code : status);
	add_attribute(out, "message", message);
	if (kgb_str_eq(element, "skipped")) {
		kgb_buf_adds(out, "/>\n");
		return;
	}
	kgb_buf_addc(out, '>');
	add_report(record, op, out);
	kgb_buf_addf(out, "</%s>\n", element);
}

static void add_case(const struct kgb_run_record *record, const struct kgb_op_state *op,
		     struct kgb_buf *out, struct kgb_junit_totals *totals)
{
	const char *element = element_of(op);
	const double seconds = seconds_of(&record->state, op);
	totals->n_tests++;
	totals->n_failures += kgb_str_eq(element, "failure");
	totals->n_errors += kgb_str_eq(element, "error");
	totals->n_skipped += kgb_str_eq(element, "skipped");
	totals->seconds += seconds;
	kgb_buf_adds(out, "    <testcase");
	add_attribute(out, "name", op->name);
	add_attribute(out, "classname", record->dir.name);
	kgb_buf_addf(out, " time=\"%.3f\"", seconds);
	if (!element) {
		kgb_buf_adds(out, "/>\n");
		return;
	}
	kgb_buf_adds(out, ">\n");
	add_outcome(record, op, element, out);
	kgb_buf_adds(out, "    </testcase>\n");
}

static void add_counts(struct kgb_buf *out, const struct kgb_junit_totals *totals)
{
	kgb_buf_addf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\"",
		     totals->n_tests, totals->n_failures, totals->n_errors, totals->n_skipped);
	kgb_buf_addf(out, " time=\"%.3f\"", totals->seconds);
}

void kgb_junit_suite(const struct kgb_run_record *record, struct kgb_buf *out,
		     struct kgb_junit_totals *totals)
{
	enum { SECONDS_LEN = 19 }; /* the schema wants no fraction and no zone */
	const struct kgb_run_state *state = &record->state;
	const struct kgb_maker maker = kgb_run_maker(state);
	struct kgb_junit_totals own = {0};
	KGB_AUTO(buf) struct kgb_buf cases = KGB_BUF_INIT(0);
	for (size_t i = 0; i < state->n_ops; i++)
		add_case(record, &state->ops[i], &cases, &own);
	kgb_buf_adds(out, "  <testsuite");
	add_attribute(out, "name", record->dir.name);
	add_counts(out, &own);
	if (state->first_started_ms > 0)
		kgb_buf_addf(out, " timestamp=\"%.*s\"", SECONDS_LEN,
			     KGB_REPORT_TIME(state->first_started_ms));
	add_attribute(out, "hostname", state->host);
	kgb_buf_adds(out, ">\n    <properties>\n");
	add_property(out, "method", maker.method);
	add_property(out, "model", maker.model);
	add_property(out, "gateway", maker.gateway_mode);
	add_property(out, "dataset", state->dataset);
	add_property(out, "platform", state->platform);
	kgb_buf_adds(out, "    </properties>\n");
	kgb_buf_add(out, cases.ptr, cases.len);
	kgb_buf_adds(out, "  </testsuite>\n");
	totals->n_tests += own.n_tests;
	totals->n_failures += own.n_failures;
	totals->n_errors += own.n_errors;
	totals->n_skipped += own.n_skipped;
	totals->seconds += own.seconds;
}

void kgb_junit_document(const struct kgb_buf *suites, const struct kgb_junit_totals *totals,
			struct kgb_buf *out)
{
	kgb_buf_adds(out,
		     "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"kgb-agent\"");
	add_counts(out, totals);
	kgb_buf_adds(out, ">\n");
	kgb_buf_add(out, suites->ptr, suites->len);
	kgb_buf_adds(out, "</testsuites>\n");
}
