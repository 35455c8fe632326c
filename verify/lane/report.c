/* SPDX-License-Identifier: MIT */
#include "verify/lane/report.h"

#include <stdarg.h>
#include <string.h>

#include "base/formats/json.h"
#include "base/mem.h"
#include "base/str.h"

enum { FAILURES_SHOWN = 3 };

/* Append a line; control characters in quoted texts are escaped. */
KGB_PRINTF(2, 3)
static void add_line(struct kgb_buf *out, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	KGB_AUTO(free) char *line = kgb_xvasprintf(fmt, ap);
	va_end(ap);
	kgb_escape(out, line, strlen(line));
	(void)kgb_buf_addc(out, '\n');
}

static void add_hint(struct kgb_buf *out, const cJSON *node)
{
	const char *hint = kgb_json_str(node, "hint", "");

	if (hint[0])
		add_line(out, "hint: %s", hint);
}

/* A number, or the string in place of one that JSON cannot write. */
static char *value_text(const cJSON *failure, const char *key)
{
	const cJSON *value = kgb_json_get(failure, key);

	if (cJSON_IsNumber(value))
		return kgb_xasprintf("%.9g", value->valuedouble);
	return kgb_xstrdup(cJSON_IsString(value) ? value->valuestring : "?");
}

/* The wrong elements, and the error of one of them. */
static void add_wrong(struct kgb_buf *out, const cJSON *failure)
{
	KGB_AUTO(buf) struct kgb_buf index = KGB_BUF_INIT(0);
	KGB_AUTO(free) char *expected = value_text(failure, "expected");
	KGB_AUTO(free) char *got = value_text(failure, "got");
	KGB_AUTO(free) char *allowed = value_text(failure, "allowed_abs_err");
	const long long n_wrong = kgb_json_i64(failure, "n_wrong", 0);
	const double error = kgb_json_num(failure, "max_abs_err", 0);
	const char *message = kgb_json_str(failure, "message", "");
	const cJSON *item;

	if (!kgb_json_get(failure, "index")) {
		if (message[0])
			add_line(out, "wrong: %s", message);
		return;
	}
	cJSON_ArrayForEach(item, kgb_json_get(failure, "index")) {
		(void)kgb_buf_addf(&index, "%s%.0f", index.len > 0 ? ", " : "",
				   cJSON_IsNumber(item) ? item->valuedouble : -1.0);
	}
	if (n_wrong > 0)
		add_line(out, "wrong: %lld of %lld elements, %s at [%s]: expected %s, got %s",
			 n_wrong, (long long)kgb_json_i64(failure, "n_elements", 0),
			 kgb_json_bool(failure, "index_is_first", true) ? "first" : "worst",
			 index.ptr, expected, got);
	else
		add_line(out, "wrong: the result as a whole, worst at [%s]: expected %s, got %s",
			 index.ptr, expected, got);
	if (error > 0)
		add_line(out, "error: largest absolute error %.3g, allowed there %s", error,
			 allowed);
}

static void add_failures(const cJSON *verdict, struct kgb_buf *out)
{
	const cJSON *failure;
	int n = 0;

	cJSON_ArrayForEach(failure, kgb_json_get(verdict, "failures")) {
		const char *name = kgb_json_str(failure, "case", NULL);
		const char *inputs = kgb_json_str(failure, "inputs", NULL);
		if (n++ == FAILURES_SHOWN)
			break;
		if (!name)
			continue;
		(void)kgb_buf_addc(out, '\n');
		add_line(out, "case: %s%s%s", name, inputs ? "  " : "", inputs ? inputs : "");
		add_wrong(out, failure);
		add_hint(out, failure);
	}
}

static void add_counts(const cJSON *verdict, struct kgb_buf *out)
{
	const long long total = kgb_json_i64(verdict, "total_tests", 0);
	const long long passed = kgb_json_i64(verdict, "passed_tests", 0);
	const long long failed = kgb_json_i64(verdict, "failed_tests", 0);

	if (passed + failed > 0)
		add_line(out, "cases: %lld passed, %lld failed, %lld not run, of %lld", passed,
			 failed, total - passed - failed, total);
}

/* "1.25 (1.2 to 1.3)"; a lower bound of null is shown as 0, an upper one as "?". NULL: there is no
 * value. */
static char *interval_text(const cJSON *interval)
{
	const double value = kgb_json_num(interval, "value", 0);
	const double low = kgb_json_num(interval, "low", 0);
	const double high = kgb_json_num(interval, "high", 0);

	if (!(value > 0))
		return NULL;
	if (high > 0)
		return kgb_xasprintf("%.4g (%.4g to %.4g)", value, low > 0 ? low : 0, high);
	return kgb_xasprintf("%.4g (%.4g to ?)", value, low > 0 ? low : 0);
}

static void add_timed_case(struct kgb_buf *out, const cJSON *item)
{
	const double candidate_ms = kgb_json_num(item, "candidate_ms", 0);
	const double baseline_ms = kgb_json_num(item, "baseline_ms", 0);
	const char *name = kgb_json_str(item, "case", "?");
	const char *result = kgb_json_str(item, "result", "?");
	KGB_AUTO(free) char *speedup = interval_text(kgb_json_get(item, "speedup"));

	if (speedup && candidate_ms > 0 && baseline_ms > 0)
		add_line(out, "  %s %s %s, %.4g ms against %.4g ms", name, result, speedup,
			 candidate_ms, baseline_ms);
	else
		add_line(out, "  %s %s %s%s", name, result, speedup ? speedup : "",
			 kgb_json_str(item, "text", ""));
}

/* The speed of a kernel that passed, if measured. */
static void add_timing(const cJSON *verdict, struct kgb_buf *out)
{
	KGB_AUTO(free) char *speedup = interval_text(kgb_json_get(verdict, "timing.speedup"));
	const cJSON *item;

	if (!kgb_json_bool(verdict, "timing.comparable", false))
		return;
	const char *precision = kgb_json_str(verdict, "timing.precision", NULL);
	add_line(out, "speedup over %s: %s%s%s",
		 kgb_json_str(verdict, "timing.baseline", "the baseline"),
		 speedup ? speedup : "none, because not every case has one",
		 precision ? ", timing " : "", precision ? precision : "");
	cJSON_ArrayForEach(item, kgb_json_get(verdict, "timing.cases"))
		add_timed_case(out, item);
}

void kgb_verdict_report(const cJSON *verdict, struct kgb_buf *out)
{
	const char *status = kgb_json_str(verdict, "status", "infra_error");
	const char *word = kgb_str_eq(status, "failed")    ? "FAILED"
			   : kgb_str_eq(status, "refused") ? "REFUSED"
			   : kgb_str_eq(status, "cheated") ? "CHEATED"
							   : "ERROR";

	if (kgb_str_eq(status, "passed")) {
		add_line(out, "PASSED %lld/%lld cases",
			 (long long)kgb_json_i64(verdict, "passed_tests", 0),
			 (long long)kgb_json_i64(verdict, "total_tests", 0));
		add_timing(verdict, out);
		return;
	}
	add_line(out, "%s %s: %s", word, kgb_json_str(verdict, "code", "no code"),
		 kgb_json_str(verdict, "message", "no message"));
	add_counts(verdict, out);
	/* The failures have separate hints. */
	if (cJSON_GetArraySize(kgb_json_get(verdict, "failures")) == 0)
		add_hint(out, verdict);
	add_failures(verdict, out);
}
