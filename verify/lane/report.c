/* SPDX-License-Identifier: MIT */
#include "verify/lane/report.h"

#include <string.h>

#include "base/formats/json.h"
#include "base/str.h"

enum { FAILURES_SHOWN = 3 };

static void add_text(struct kgb_buf *out, const char *text)
{
	kgb_escape(out, text, strlen(text));
}

static void add_line(struct kgb_buf *out, const char *label, const char *text)
{
	if (!text || !text[0])
		return;
	(void)kgb_buf_addf(out, "%s: ", label);
	add_text(out, text);
	(void)kgb_buf_addc(out, '\n');
}

/* A number, or the word that stands for one that JSON cannot write. */
static void add_value(struct kgb_buf *out, const cJSON *failure, const char *key)
{
	const cJSON *value = kgb_json_get(failure, key);

	if (cJSON_IsNumber(value))
		(void)kgb_buf_addf(out, "%.9g", value->valuedouble);
	else
		add_text(out, cJSON_IsString(value) ? value->valuestring : "?");
}

static void add_index(struct kgb_buf *out, const cJSON *failure)
{
	const cJSON *item;
	const char *separator = "";

	(void)kgb_buf_addc(out, '[');
	cJSON_ArrayForEach(item, kgb_json_get(failure, "index")) {
		(void)kgb_buf_addf(out, "%s%.0f", separator,
				   cJSON_IsNumber(item) ? item->valuedouble : -1.0);
		separator = ", ";
	}
	(void)kgb_buf_addc(out, ']');
}

/* Which elements are wrong, and by how much at one of them. */
static void add_wrong(struct kgb_buf *out, const cJSON *failure)
{
	int64_t n_wrong = kgb_json_i64(failure, "n_wrong", 0);
	const cJSON *error = kgb_json_get(failure, "max_abs_err");

	if (!kgb_json_get(failure, "index")) {
		add_line(out, "wrong", kgb_json_str(failure, "message", NULL));
		return;
	}
	if (n_wrong > 0)
		(void)kgb_buf_addf(out, "wrong: %lld of %lld elements, %s at ", (long long)n_wrong,
				   (long long)kgb_json_i64(failure, "n_elements", 0),
				   kgb_json_bool(failure, "index_is_first", true) ? "first"
										  : "worst");
	else
		(void)kgb_buf_adds(out, "wrong: the result as a whole, worst at ");
	add_index(out, failure);
	(void)kgb_buf_adds(out, ": expected ");
	add_value(out, failure, "expected");
	(void)kgb_buf_adds(out, ", got ");
	add_value(out, failure, "got");
	(void)kgb_buf_addc(out, '\n');
	if (cJSON_IsNumber(error) && error->valuedouble > 0) {
		(void)kgb_buf_addf(out, "error: largest absolute error %.3g, allowed there ",
				   error->valuedouble);
		add_value(out, failure, "allowed_abs_err");
		(void)kgb_buf_addc(out, '\n');
	}
}

static void add_failure(struct kgb_buf *out, const cJSON *failure)
{
	const char *name = kgb_json_str(failure, "case", NULL);
	const char *inputs = kgb_json_str(failure, "inputs", NULL);

	if (!name)
		return;
	(void)kgb_buf_adds(out, "\ncase: ");
	add_text(out, name);
	if (inputs) {
		(void)kgb_buf_adds(out, "  ");
		add_text(out, inputs);
	}
	(void)kgb_buf_addc(out, '\n');
	add_wrong(out, failure);
	add_line(out, "hint", kgb_json_str(failure, "hint", NULL));
}

static void add_failures(const cJSON *verdict, struct kgb_buf *out)
{
	const cJSON *failure;
	int n = 0;

	cJSON_ArrayForEach(failure, kgb_json_get(verdict, "failures")) {
		if (n++ == FAILURES_SHOWN)
			break;
		add_failure(out, failure);
	}
}

static void add_counts(const cJSON *verdict, struct kgb_buf *out)
{
	int64_t total = kgb_json_i64(verdict, "total_tests", 0);
	int64_t passed = kgb_json_i64(verdict, "passed_tests", 0);
	int64_t failed = kgb_json_i64(verdict, "failed_tests", 0);

	if (passed + failed > 0)
		(void)kgb_buf_addf(out, "cases: %lld passed, %lld failed, %lld not run, of %lld\n",
				   (long long)passed, (long long)failed,
				   (long long)(total - passed - failed), (long long)total);
}

/* A bound that is null is none. */
static void add_bound(struct kgb_buf *out, const cJSON *interval, const char *key, const char *none)
{
	double bound = kgb_json_num(interval, key, 0);

	if (bound > 0)
		(void)kgb_buf_addf(out, "%.4g", bound);
	else
		(void)kgb_buf_adds(out, none);
}

/* "1.25 (1.2 to 1.3)"; false when there is no such number. */
static bool add_interval(struct kgb_buf *out, const cJSON *interval)
{
	double value = kgb_json_num(interval, "value", 0);

	if (!(value > 0))
		return false;
	(void)kgb_buf_addf(out, "%.4g (", value);
	add_bound(out, interval, "low", "0");
	(void)kgb_buf_adds(out, " to ");
	add_bound(out, interval, "high", "?");
	(void)kgb_buf_addc(out, ')');
	return true;
}

static void add_timed_case(struct kgb_buf *out, const cJSON *item)
{
	double candidate_ms = kgb_json_num(item, "candidate_ms", 0);
	double baseline_ms = kgb_json_num(item, "baseline_ms", 0);
	const char *text = kgb_json_str(item, "text", NULL);

	(void)kgb_buf_adds(out, "  ");
	add_text(out, kgb_json_str(item, "case", "?"));
	(void)kgb_buf_addc(out, ' ');
	add_text(out, kgb_json_str(item, "result", "?"));
	(void)kgb_buf_addc(out, ' ');
	if (add_interval(out, kgb_json_get(item, "speedup")) && candidate_ms > 0 && baseline_ms > 0)
		(void)kgb_buf_addf(out, ", %.4g ms against %.4g ms", candidate_ms, baseline_ms);
	else if (text)
		add_text(out, text);
	(void)kgb_buf_addc(out, '\n');
}

/* How fast a kernel is that passed, where that was measured. */
static void add_timing(const cJSON *verdict, struct kgb_buf *out)
{
	const cJSON *item;

	if (!kgb_json_bool(verdict, "timing.comparable", false))
		return;
	(void)kgb_buf_adds(out, "speedup over ");
	add_text(out, kgb_json_str(verdict, "timing.baseline", "the baseline"));
	(void)kgb_buf_adds(out, ": ");
	if (!add_interval(out, kgb_json_get(verdict, "timing.speedup")))
		(void)kgb_buf_adds(out, "none, because not every case has one");
	(void)kgb_buf_addc(out, '\n');
	cJSON_ArrayForEach(item, kgb_json_get(verdict, "timing.cases"))
		add_timed_case(out, item);
}

void kgb_verdict_report(const cJSON *verdict, struct kgb_buf *out)
{
	const char *status = kgb_json_str(verdict, "status", "infra_error");
	const char *word = kgb_str_eq(status, "failed")    ? "FAILED"
			   : kgb_str_eq(status, "cheated") ? "CHEATED"
							   : "ERROR";

	if (kgb_str_eq(status, "passed")) {
		(void)kgb_buf_addf(out, "PASSED %lld/%lld cases\n",
				   (long long)kgb_json_i64(verdict, "passed_tests", 0),
				   (long long)kgb_json_i64(verdict, "total_tests", 0));
		add_timing(verdict, out);
		return;
	}
	(void)kgb_buf_addf(out, "%s ", word);
	add_text(out, kgb_json_str(verdict, "code", "infra.unknown"));
	(void)kgb_buf_adds(out, ": ");
	add_text(out, kgb_json_str(verdict, "message", "no message"));
	(void)kgb_buf_addc(out, '\n');
	add_counts(verdict, out);
	/* The failures carry their own hints. */
	if (cJSON_GetArraySize(kgb_json_get(verdict, "failures")) == 0)
		add_line(out, "hint", kgb_json_str(verdict, "hint", NULL));
	add_failures(verdict, out);
}
