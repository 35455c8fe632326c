/* SPDX-License-Identifier: MIT */
#include "agent/store/events_json.h"

#include "agent/store/events.h"
#include "base/formats/json.h"
#include "base/str.h"

void kgb_rows__write_object(struct kgb_jsonw *w, const char *key, const struct kgb_row *rows,
			    const void *from)
{
	kgb_jsonw_key(w, key);
	if (!from) {
		kgb_jsonw_null(w);
		return;
	}
	kgb_jsonw_object(w);
	kgb_rows_write(w, rows, from);
	kgb_jsonw_object_end(w);
}

/* The members that an event and the resulting state share. A later start keeps members that it does
 * not give. */
#define RUN_STARTED(container)                                             \
	KGB_ROW(KEPT_TEXT, container, run_name, "run"),                    \
		KGB_ROW(KEPT_TEXT, container, dataset, "dataset"),         \
		KGB_ROW(KEPT_TEXT, container, cli_name, "cli"),            \
		KGB_ROW(KEPT_TEXT, container, cli_version, "cli_version"), \
		KGB_ROW(KEPT_TEXT, container, isolation, "isolation"),     \
		KGB_ROW(KEPT_TEXT, container, platform, "platform"),       \
		KGB_ROW(OPTIONAL_TEXT, container, from_run, "from_run"),   \
		KGB_ROW(INT, container, device_count, "device_count"),     \
		KGB_ROW(INT, container, n_samples, "samples"),             \
		KGB_ROW(INT, container, n_rounds, "rounds"),               \
		KGB_ROW(BOOL, container, skip_gen, "skip_gen"),            \
		KGB_ROW(BOOL, container, skip_verify, "skip_verify")
const struct kgb_row kgb_run_started__rows[] = {RUN_STARTED(struct kgb_event_run_started),
						KGB_ROWS_END};
const struct kgb_row kgb_run_state__rows[] = {
	RUN_STARTED(struct kgb_run_state),
	KGB_ROW(KEPT_TEXT, struct kgb_run_state, host, "host"),
	KGB_ROW(KEPT_TEXT, struct kgb_run_state, version, "version"),
	KGB_ROWS_END,
};

#define ATTEMPT_FINISHED(container)                                       \
	KGB_ROW(BOOL, container, retry, "retry"),                         \
		KGB_ROW(INDEX, container, exit_code, "exit_code"),        \
		KGB_ROW(INT, container, term_signal, "term_signal"),      \
		KGB_ROW(TEXT, container, kernel_sha256, "kernel_sha256"), \
		KGB_ROW(TEXT, container, kernel_source, "kernel_source"), \
		KGB_ROW(TEXT, container, error_code, "error_code"),       \
		KGB_ROW(TEXT, container, error_message, "error_message"), \
		KGB_ROW(OPTIONAL_TEXT, container, stopped_by, "stopped_by"), KGB_ROWS_END
const struct kgb_row kgb_attempt_finished__rows[] = {
	ATTEMPT_FINISHED(struct kgb_event_attempt_finished)};
const struct kgb_row kgb_attempt_state__rows[] = {ATTEMPT_FINISHED(struct kgb_attempt_state)};

#define MAKER(field, name) KGB_ROW(KEPT_TEXT, struct kgb_maker, field, name)
const struct kgb_row kgb_maker__rows[] = {
	MAKER(method, "method"),
	MAKER(model, "model"),
	MAKER(gateway_mode, "gateway"),
	MAKER(endpoint, "endpoint"),
	KGB_ROW(OPTIONAL_TEXT, struct kgb_maker, sampling, "sampling"),
	KGB_ROW(OPTIONAL_TEXT, struct kgb_maker, prompts, "prompts"),
	KGB_ROWS_END,
};

void kgb_maker__read(const cJSON *node, struct kgb_arena *arena, struct kgb_maker *maker)
{
	if (kgb_json_str(node, "gateway", NULL))
		maker->endpoint = NULL; /* of an earlier start */
	kgb_rows_read(node, kgb_maker__rows, arena, maker);
}

#define PRICE(field) KGB_ROW(COUNT, struct kgb_price, field, #field)
const struct kgb_row kgb_price__rows[] = {
	PRICE(input), PRICE(output), PRICE(cache_write), PRICE(cache_read), KGB_ROWS_END,
};

const struct kgb_row kgb_gpu_times__rows[] = {
	KGB_ROW(OPTIONAL_TEXT, struct kgb_gpu_times, name, "name"),
	KGB_ROW(I64, struct kgb_gpu_times, alone_ms, "alone_ms"),
	KGB_ROW(I64, struct kgb_gpu_times, shared_ms, "shared_ms"),
	KGB_ROW(I64, struct kgb_gpu_times, idle_ms, "idle_ms"),
	KGB_ROWS_END,
};

void kgb_cli_report__read(const cJSON *node, struct kgb_report *out)
{
	*out = (struct kgb_report){0};
	kgb_rows_read(node, kgb_report_rows, NULL, out);
	const int64_t micros = kgb_json_i64(node, "cost_usd_micros", -1); /* of runs before 0.2 */
	if (out->cost_nanos < 0 && micros >= 0)
		out->cost_nanos = 1000 * micros;
}

#define VERDICT(type, field, name) KGB_ROW(type, struct kgb_verdict_summary, field, name)
/* 0 is an unknown speedup, or a missing bound. */
#define SPEEDUP_ROWS                                                                          \
	VERDICT(POSITIVE, speedup, "speedup"), VERDICT(POSITIVE, speedup_low, "speedup_low"), \
		VERDICT(POSITIVE, speedup_high, "speedup_high"),                              \
		VERDICT(CHARS, timing_note, "timing_note"), KGB_ROWS_END
static const struct kgb_row speedup_rows[] = {SPEEDUP_ROWS};
const struct kgb_row kgb_verdict_summary__rows[] = {
	VERDICT(TEXT, status, "status"),
	VERDICT(TEXT, code, "code"),
	VERDICT(TEXT, stage, "stage"),
	VERDICT(TEXT, reached, "reached"),
	VERDICT(TEXT, message, "message"),
	VERDICT(TEXT, failing_case, "failing_case"),
	VERDICT(TEXT, kernel_sha256, "kernel_sha256"),
	VERDICT(TEXT, spec_sha256, "spec_sha256"),
	VERDICT(TEXT, seed, "seed"),
	VERDICT(TEXT, platform, "platform"),
	VERDICT(COUNT, wall_ms, "wall_ms"),
	VERDICT(COUNT, total_tests, "total_tests"),
	VERDICT(COUNT, passed_tests, "passed_tests"),
	VERDICT(COUNT, failed_tests, "failed_tests"),
	VERDICT(COUNT, noted, "noted"),
	VERDICT(TREE, tiers, "tiers"),
	VERDICT(TREE, modes, "modes"),
	VERDICT(TREE, dtypes, "dtypes"),
	VERDICT(TREE, interfaces, "interfaces"),
	VERDICT(TREE, timed_cases, "timed_cases"),
	VERDICT(TEXT, gpu, "gpu"),
	VERDICT(TEXT, baseline, "baseline"),
	VERDICT(TEXT, timing_precision, "timing_precision"),
	SPEEDUP_ROWS,
};

void kgb_verdict_summary__write_speedup(struct kgb_jsonw *w,
					const struct kgb_verdict_summary *summary)
{
	const struct kgb_verdict_summary none = {0};
	kgb_rows_write(w, speedup_rows, summary ? summary : &none);
}

static bool is_verdict_status(const char *status)
{
	const enum kgb_status found = kgb_status_find(status);
	return kgb_status_is_decided(found) || found == KGB_STATUS_INFRA_ERROR;
}

int kgb_verdict_summary__read(const cJSON *node, struct kgb_arena *arena,
			      struct kgb_verdict_summary *out, struct kgb_err *err)
{
	const char *status = kgb_json_str(node, "status", "");
	if (!is_verdict_status(status))
		return kgb_fail(err, KGB_ERR_INVALID, "'%s' is not the status of a verdict",
				status);
	kgb_rows_read(node, kgb_verdict_summary__rows, arena, out);
	return 0;
}

#define ROUND(type, field, name) KGB_ROW(type, struct kgb_round, field, name)
#define SAMPLE(type, field) KGB_ROW(type, struct kgb_sample, field, #field)
#define SAMPLE_USAGE(field, name) KGB_ROW(COUNT, struct kgb_sample, usage.field, name),
const struct kgb_row kgb_sample__rows[] = {
	KGB_ROW(INT, struct kgb_sample, number, "sample"),
	SAMPLE(INT, round),
	SAMPLE(COUNT, wall_ms),
	SAMPLE(TEXT, finish),
	SAMPLE(TEXT, sent),
	SAMPLE(COUNT, thinking_bytes),
	SAMPLE(INT, choice),
	SAMPLE(TEXT, kernel_sha256),
	SAMPLE(TEXT, kernel_source),
	SAMPLE(TEXT, kernel_tree),
	KGB_USAGE_COUNTS(SAMPLE_USAGE) SAMPLE(COUNT, cost_nanos),
	KGB_ROWS_END,
};
const struct kgb_row kgb_sample_check__rows[] = {
	KGB_ROW(TEXT, struct kgb_sample, check_status, "status"),
	KGB_ROW(TEXT, struct kgb_sample, check_code, "code"),
	KGB_ROWS_END,
};
const struct kgb_row kgb_sample_verdict__rows[] = {
	SAMPLE(INT, same_as),  SAMPLE(INT, same_as_round), SAMPLE(TEXT, status), SAMPLE(TEXT, code),
	SAMPLE(TEXT, reached), SAMPLE(POSITIVE, speedup),  KGB_ROWS_END,
};

const struct kgb_row kgb_round__rows[] = {
	ROUND(INDEX, number, "round"),
	ROUND(TEXT, category, "category"),
	ROUND(TEXT, end, "end"),
	ROUND(TEXT, code, "code"),
	ROUND(INT, check, "check"),
	ROUND(BOOL, kept, "kept"),
	ROUND(TEXT, commit, "commit"),
	ROUND(TEXT, summary, "summary"),
	ROUND(TEXT, session_id, "session_id"),
	ROUND(TEXT, prompt_sha256, "prompt_sha256"),
	KGB_ROWS_END,
};

void kgb_round__write_members(struct kgb_jsonw *w, const struct kgb_round *round)
{
	kgb_rows_write(w, kgb_round__rows, round);
	kgb_rows__write_object(w, "verdict", kgb_verdict_summary__rows,
			       round->has_verdict ? &round->verdict : NULL);
	kgb_rows__write_object(w, "gateway", kgb_usage_rows, &round->gateway);
	kgb_rows__write_object(w, "cli", kgb_usage_rows, &round->cli);
}

int kgb_round__read(const cJSON *node, struct kgb_arena *arena, struct kgb_round *out,
		    struct kgb_err *err)
{
	const cJSON *verdict = kgb_json_get(node, "verdict");
	*out = (struct kgb_round){.has_verdict = cJSON_IsObject(verdict)};
	kgb_rows_read(node, kgb_round__rows, arena, out);
	kgb_rows_read(kgb_json_get(node, "gateway"), kgb_usage_rows, NULL, &out->gateway);
	kgb_rows_read(kgb_json_get(node, "cli"), kgb_usage_rows, NULL, &out->cli);
	if (out->number < 0)
		return kgb_fail(err, KGB_ERR_INVALID, "'round' is missing");
	if (out->kept && !out->has_verdict)
		return kgb_fail(err, KGB_ERR_INVALID, "round %d is kept without a verdict",
				out->number);
	return out->has_verdict ? kgb_verdict_summary__read(verdict, arena, &out->verdict, err) : 0;
}

/** Why a kernel that passed on a GPU has no speedup: it was not timed, or a case has none. */
static void explain_timing(const cJSON *verdict, struct kgb_verdict_summary *out)
{
	const cJSON *item = NULL;
	cJSON_ArrayForEach(item, kgb_json_get(verdict, "stages")) {
		if (!kgb_str_eq(kgb_json_str(item, "name", ""), "timing") ||
		    kgb_str_eq(kgb_json_str(item, "status", ""), "passed"))
			continue;
		snprintf(out->timing_note, sizeof(out->timing_note), "not timed: %s",
			 kgb_json_str(item, "message", "no reason given"));
		return;
	}
	snprintf(out->timing_note, sizeof(out->timing_note), "%s",
		 kgb_json_str(verdict, "timing.reason", "the verdict has no speedup"));
	cJSON_ArrayForEach(item, kgb_json_get(verdict, "timing.cases")) {
		if (kgb_json_num(item, "speedup.value", 0) > 0)
			continue;
		snprintf(out->timing_note, sizeof(out->timing_note), "%s %s: %s",
			 kgb_json_str(item, "case", "?"), kgb_json_str(item, "result", "?"),
			 kgb_json_str(item, "text", kgb_json_str(item, "why", "?")));
		return;
	}
}

/** The verdict's own figures; nothing is computed here. */
static void read_timing(const cJSON *verdict, struct kgb_verdict_summary *out)
{
	if (!kgb_str_eq(out->status, "passed") || !out->platform ||
	    kgb_str_eq(out->platform, "cpu"))
		return;
	out->gpu = kgb_json_str(verdict, "timing.machine.name", NULL);
	out->baseline = kgb_json_str(verdict, "timing.baseline", NULL);
	out->timing_precision = kgb_json_str(verdict, "timing.precision", NULL);
	out->speedup = kgb_json_num(verdict, "timing.speedup.value", 0);
	if (out->speedup > 0) {
		out->speedup_low = kgb_json_num(verdict, "timing.speedup.low", 0);
		out->speedup_high = kgb_json_num(verdict, "timing.speedup.high", 0);
	} else {
		explain_timing(verdict, out);
	}
}

/** A member that a judge leaves empty when it is unknown. */
static const char *known_text(const cJSON *node, const char *key)
{
	const char *text = kgb_json_str(node, key, "");
	return *text ? text : NULL;
}

static const cJSON *known_object(const cJSON *node, const char *key)
{
	const cJSON *object = kgb_json_get(node, key);
	return cJSON_IsObject(object) ? object : NULL;
}

int kgb_verdict_summarise(const cJSON *verdict, struct kgb_verdict_summary *out,
			  struct kgb_err *err)
{
	const char *schema = kgb_json_str(verdict, "schema", "");
	if (!kgb_str_eq(schema, "kgb.verdict/1"))
		return kgb_fail(err, KGB_ERR_INVALID,
				"'%s' is not a verdict's schema (kgb.verdict/1)", schema);
	const char *status = kgb_json_str(verdict, "status", "");
	if (!is_verdict_status(status))
		return kgb_fail(err, KGB_ERR_INVALID, "'%s' is not the status of a verdict",
				status);
	const cJSON *failures = kgb_json_get(verdict, "failures");
	*out = (struct kgb_verdict_summary){
		.status = status,
		.code = kgb_json_str(verdict, "code", NULL),
		.stage = kgb_json_str(verdict, "stage", NULL),
		.reached = kgb_json_str(verdict, "reached", NULL),
		.message = kgb_json_str(verdict, "message", NULL),
		.failing_case = kgb_json_str(cJSON_GetArrayItem(failures, 0), "case", NULL),
		.kernel_sha256 = known_text(verdict, "kernel_sha256"),
		.spec_sha256 = known_text(verdict, "spec_sha256"),
		.seed = known_text(verdict, "seed"),
		.platform = known_text(verdict, "platform"),
		.wall_ms = kgb_json_i64(verdict, "wall_ms", -1),
		.total_tests = kgb_json_i64(verdict, "total_tests", -1),
		.passed_tests = kgb_json_i64(verdict, "passed_tests", -1),
		.failed_tests = kgb_json_i64(verdict, "failed_tests", -1),
		.noted = kgb_json_i64(verdict, "noted.total", -1),
		.tiers = known_object(verdict, "tiers"),
		.modes = known_object(verdict, "modes"),
		.dtypes = known_object(verdict, "dtypes"),
		.interfaces = known_object(verdict, "interfaces"),
		.timed_cases = known_object(verdict, "timed_cases"),
	};
	read_timing(verdict, out);
	return 0;
}

int kgb_enum__find(const char *name, const char *(*name_of)(int value), int n)
{
	for (int i = 0; i < n; i++)
		if (kgb_str_eq(name, name_of(i)))
			return i;
	return -1;
}
