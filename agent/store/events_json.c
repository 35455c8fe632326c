/* SPDX-License-Identifier: MIT */
#include "agent/store/events_json.h"

#include <math.h>

#include "base/formats/json.h"
#include "base/str.h"

static const char *copy_member(const cJSON *node, const char *key, struct kgb_arena *arena)
{
	const char *text = kgb_json_str(node, key, NULL);
	return text && arena ? kgb_arena_strdup(arena, text) : NULL;
}

void kgb_usage__write_members(struct kgb_jsonw *w, const struct kgb_usage *usage)
{
	kgb_jsonw_kcount(w, "input", usage->input);
	kgb_jsonw_kcount(w, "output", usage->output);
	kgb_jsonw_kcount(w, "cache_creation", usage->cache_creation);
	kgb_jsonw_kcount(w, "cache_read", usage->cache_read);
}

void kgb_usage__read(const cJSON *node, struct kgb_usage *out)
{
	out->input = kgb_json_i64(node, "input", -1);
	out->output = kgb_json_i64(node, "output", -1);
	out->cache_creation = kgb_json_i64(node, "cache_creation", -1);
	out->cache_read = kgb_json_i64(node, "cache_read", -1);
}

void kgb_maker__write_members(struct kgb_jsonw *w, const struct kgb_maker *maker)
{
	kgb_jsonw_kstr(w, "method", maker->method);
	kgb_jsonw_kstr(w, "model", maker->model);
	kgb_jsonw_kstr(w, "gateway", maker->gateway_mode);
	kgb_jsonw_kstr(w, "endpoint", maker->endpoint);
}

void kgb_maker__read(const cJSON *node, struct kgb_arena *arena, struct kgb_maker *maker)
{
	const struct {
		const char *key, **field;
	} members[] = {{"method", &maker->method},
		       {"model", &maker->model},
		       {"gateway", &maker->gateway_mode},
		       {"endpoint", &maker->endpoint}};
	if (kgb_json_str(node, "gateway", NULL))
		maker->endpoint = NULL; /* of an earlier start */
	for (size_t i = 0; i < KGB_ARRAY_LEN(members); i++) {
		const char *text = copy_member(node, members[i].key, arena);
		if (text)
			*members[i].field = text;
	}
}

void kgb_price__write(struct kgb_jsonw *w, const struct kgb_price *price)
{
	kgb_jsonw_key(w, "price_nanos");
	if (!price) {
		kgb_jsonw_null(w);
		return;
	}
	kgb_jsonw_object(w);
	kgb_jsonw_kcount(w, "input", price->input);
	kgb_jsonw_kcount(w, "output", price->output);
	kgb_jsonw_kcount(w, "cache_write", price->cache_write);
	kgb_jsonw_kcount(w, "cache_read", price->cache_read);
	kgb_jsonw_object_end(w);
}

struct kgb_price kgb_price__read(const cJSON *node)
{
	return (struct kgb_price){.input = kgb_json_i64(node, "price_nanos.input", -1),
				  .output = kgb_json_i64(node, "price_nanos.output", -1),
				  .cache_write = kgb_json_i64(node, "price_nanos.cache_write", -1),
				  .cache_read = kgb_json_i64(node, "price_nanos.cache_read", -1)};
}

void kgb_totals__write(struct kgb_jsonw *w, const struct kgb_totals *totals)
{
	kgb_jsonw_object(w);
	kgb_usage__write_members(w, &totals->usage);
	kgb_jsonw_ki64(w, "exchanges", totals->n_exchanges);
	kgb_jsonw_ki64(w, "errors", totals->n_errors);
	kgb_jsonw_ki64(w, "incomplete", totals->n_incomplete);
	kgb_jsonw_ki64(w, "repeated", totals->n_repeated);
	kgb_jsonw_ki64(w, "open", totals->n_open);
	kgb_jsonw_ki64(w, "verify_calls", totals->n_verify);
	kgb_jsonw_ki64(w, "probes", totals->n_probes);
	kgb_jsonw_ki64(w, "busy_ms", totals->busy_ms);
	kgb_jsonw_ki64(w, "wait_ms", totals->wait_ms);
	kgb_jsonw_ki64(w, "retries", totals->n_retries);
	kgb_jsonw_ki64(w, "cost_nanos", totals->cost_nanos);
	kgb_jsonw_ki64(w, "unpriced", totals->n_unpriced);
	kgb_jsonw_ki64(w, "charged_tokens", totals->charged_tokens);
	kgb_jsonw_ki64(w, "charged_nanos", totals->charged_nanos);
	kgb_jsonw_ki64(w, "misses", totals->n_misses);
	kgb_jsonw_key(w, "models");
	kgb_jsonw_array(w);
	for (size_t i = 0; i < totals->n_models; i++) {
		kgb_jsonw_object(w);
		kgb_jsonw_kstr(w, "name", totals->models[i].name);
		kgb_usage__write_members(w, &totals->models[i].usage);
		kgb_jsonw_ki64(w, "messages", totals->models[i].n_messages);
		kgb_jsonw_object_end(w);
	}
	kgb_jsonw_array_end(w);
	kgb_jsonw_object_end(w);
}

void kgb_totals__read(const cJSON *node, struct kgb_totals *out)
{
	*out = (struct kgb_totals){0};
	kgb_usage__read(node, &out->usage);
	out->n_exchanges = kgb_json_i64(node, "exchanges", 0);
	out->n_errors = kgb_json_i64(node, "errors", 0);
	out->n_incomplete = kgb_json_i64(node, "incomplete", 0);
	out->n_repeated = kgb_json_i64(node, "repeated", 0);
	out->n_open = kgb_json_i64(node, "open", 0);
	out->n_verify = kgb_json_i64(node, "verify_calls", 0);
	out->n_probes = kgb_json_i64(node, "probes", 0);
	out->busy_ms = kgb_json_i64(node, "busy_ms", 0);
	out->wait_ms = kgb_json_i64(node, "wait_ms", 0);
	out->n_retries = kgb_json_i64(node, "retries", 0);
	out->cost_nanos = kgb_json_i64(node, "cost_nanos", 0);
	/* Journals from before there were prices. */
	out->n_unpriced = kgb_json_i64(node, "unpriced", out->n_exchanges);
	out->charged_tokens = kgb_json_i64(node, "charged_tokens", 0);
	out->charged_nanos = kgb_json_i64(node, "charged_nanos", 0);
	out->n_misses = kgb_json_i64(node, "misses", 0);
	const cJSON *model = NULL;
	cJSON_ArrayForEach(model, kgb_json_get(node, "models")) {
		if (out->n_models == KGB_USAGE_MODELS)
			break;
		snprintf(out->models[out->n_models].name, sizeof(out->models[0].name), "%s",
			 kgb_json_str(model, "name", ""));
		kgb_usage__read(model, &out->models[out->n_models].usage);
		out->models[out->n_models].n_messages = kgb_json_i64(model, "messages", 0);
		out->n_models++;
	}
}

void kgb_cli_report__write(struct kgb_jsonw *w, const struct kgb_cli_report *report)
{
	kgb_jsonw_object(w);
	kgb_usage__write_members(w, &report->usage);
	kgb_jsonw_kcount(w, "cost_nanos", report->cost_nanos);
	kgb_jsonw_kcount(w, "turns", report->n_turns);
	kgb_jsonw_kstr(w, "session_id", report->session_id);
	kgb_jsonw_kstr(w, "model", report->model);
	kgb_jsonw_kstr(w, "version", report->version);
	kgb_jsonw_kstr(w, "subtype", report->subtype);
	kgb_jsonw_ki64(w, "events", report->n_events);
	kgb_jsonw_ki64(w, "bad_lines", report->n_bad_lines);
	kgb_jsonw_ki64(w, "unknown_events", report->n_unknown_events);
	kgb_jsonw_object_end(w);
}

void kgb_cli_report__read(const cJSON *node, struct kgb_arena *arena, struct kgb_cli_report *out)
{
	kgb_usage__read(node, &out->usage);
	out->cost_nanos = kgb_json_i64(node, "cost_nanos", -1);
	const int64_t micros = kgb_json_i64(node, "cost_usd_micros", -1); /* of runs before 0.2 */
	if (out->cost_nanos < 0 && micros >= 0)
		out->cost_nanos = 1000 * micros;
	out->n_turns = kgb_json_i64(node, "turns", -1);
	out->session_id = copy_member(node, "session_id", arena);
	out->model = copy_member(node, "model", arena);
	out->version = copy_member(node, "version", arena);
	out->subtype = copy_member(node, "subtype", arena);
	out->n_events = kgb_json_i64(node, "events", 0);
	out->n_bad_lines = kgb_json_i64(node, "bad_lines", 0);
	out->n_unknown_events = kgb_json_i64(node, "unknown_events", 0);
}

/** 0 is a number that is not known, and a bound that is none. */
static void write_known(struct kgb_jsonw *w, const char *key, double number)
{
	kgb_jsonw_knum(w, key, number > 0 ? number : (double)NAN);
}

void kgb_verdict_summary__write_speedup(struct kgb_jsonw *w,
					const struct kgb_verdict_summary *summary)
{
	write_known(w, "speedup", summary ? summary->speedup : 0);
	write_known(w, "speedup_low", summary ? summary->speedup_low : 0);
	write_known(w, "speedup_high", summary ? summary->speedup_high : 0);
	kgb_jsonw_kstr(w, "timing_note",
		       summary && *summary->timing_note ? summary->timing_note : NULL);
}

void kgb_verdict_summary__write(struct kgb_jsonw *w, const struct kgb_verdict_summary *summary)
{
	kgb_jsonw_object(w);
	kgb_jsonw_kstr(w, "status", summary->status);
	kgb_jsonw_kstr(w, "code", summary->code);
	kgb_jsonw_kstr(w, "stage", summary->stage);
	kgb_jsonw_kstr(w, "message", summary->message);
	kgb_jsonw_kstr(w, "failing_case", summary->failing_case);
	kgb_jsonw_kstr(w, "kernel_sha256", summary->kernel_sha256);
	kgb_jsonw_kstr(w, "spec_sha256", summary->spec_sha256);
	kgb_jsonw_kstr(w, "seed", summary->seed);
	kgb_jsonw_kstr(w, "platform", summary->platform);
	kgb_jsonw_kcount(w, "wall_ms", summary->wall_ms);
	kgb_jsonw_kcount(w, "total_tests", summary->total_tests);
	kgb_jsonw_kcount(w, "passed_tests", summary->passed_tests);
	kgb_jsonw_kcount(w, "failed_tests", summary->failed_tests);
	kgb_jsonw_kstr(w, "gpu", summary->gpu);
	kgb_jsonw_kstr(w, "baseline", summary->baseline);
	kgb_verdict_summary__write_speedup(w, summary);
	kgb_jsonw_object_end(w);
}

static bool is_verdict_status(const char *status)
{
	return kgb_str_eq(status, "passed") || kgb_str_eq(status, "failed") ||
	       kgb_str_eq(status, "cheated") || kgb_str_eq(status, "infra_error");
}

int kgb_verdict_summary__read(const cJSON *node, struct kgb_arena *arena,
			      struct kgb_verdict_summary *out, struct kgb_err *err)
{
	const char *status = kgb_json_str(node, "status", "");
	if (!is_verdict_status(status))
		return kgb_fail(err, KGB_ERR_INVALID, "'%s' is not the status of a verdict",
				status);
	*out = (struct kgb_verdict_summary){
		.status = copy_member(node, "status", arena),
		.code = copy_member(node, "code", arena),
		.stage = copy_member(node, "stage", arena),
		.message = copy_member(node, "message", arena),
		.failing_case = copy_member(node, "failing_case", arena),
		.kernel_sha256 = copy_member(node, "kernel_sha256", arena),
		.spec_sha256 = copy_member(node, "spec_sha256", arena),
		.seed = copy_member(node, "seed", arena),
		.platform = copy_member(node, "platform", arena),
		.wall_ms = kgb_json_i64(node, "wall_ms", -1),
		.total_tests = kgb_json_i64(node, "total_tests", -1),
		.passed_tests = kgb_json_i64(node, "passed_tests", -1),
		.failed_tests = kgb_json_i64(node, "failed_tests", -1),
		.gpu = copy_member(node, "gpu", arena),
		.baseline = copy_member(node, "baseline", arena),
		.speedup = kgb_json_num(node, "speedup", 0),
		.speedup_low = kgb_json_num(node, "speedup_low", 0),
		.speedup_high = kgb_json_num(node, "speedup_high", 0),
	};
	snprintf(out->timing_note, sizeof(out->timing_note), "%s",
		 kgb_json_str(node, "timing_note", ""));
	return 0;
}

static void write_usage(struct kgb_jsonw *w, const char *key, const struct kgb_usage *usage)
{
	kgb_jsonw_key(w, key);
	kgb_jsonw_object(w);
	kgb_usage__write_members(w, usage);
	kgb_jsonw_object_end(w);
}

void kgb_round__write_members(struct kgb_jsonw *w, const struct kgb_round *round)
{
	kgb_jsonw_ki64(w, "round", round->number);
	kgb_jsonw_kstr(w, "category", round->category);
	kgb_jsonw_kstr(w, "end", round->end);
	kgb_jsonw_kstr(w, "code", round->code);
	kgb_jsonw_key(w, "verdict");
	if (round->has_verdict)
		kgb_verdict_summary__write(w, &round->verdict);
	else
		kgb_jsonw_null(w);
	kgb_jsonw_ki64(w, "check", round->check);
	kgb_jsonw_kbool(w, "kept", round->kept);
	kgb_jsonw_kstr(w, "commit", round->commit);
	kgb_jsonw_kstr(w, "summary", round->summary);
	kgb_jsonw_kstr(w, "session_id", round->session_id);
	kgb_jsonw_kstr(w, "prompt_sha256", round->prompt_sha256);
	write_usage(w, "gateway", &round->gateway);
	write_usage(w, "cli", &round->cli);
}

int kgb_round__read(const cJSON *node, struct kgb_arena *arena, struct kgb_round *out,
		    struct kgb_err *err)
{
	const cJSON *verdict = kgb_json_get(node, "verdict");
	*out = (struct kgb_round){
		.number = (int)kgb_json_i64(node, "round", -1),
		.category = copy_member(node, "category", arena),
		.end = copy_member(node, "end", arena),
		.code = copy_member(node, "code", arena),
		.has_verdict = cJSON_IsObject(verdict),
		.check = (int)kgb_json_i64(node, "check", 0),
		.kept = kgb_json_bool(node, "kept", false),
		.commit = copy_member(node, "commit", arena),
		.summary = copy_member(node, "summary", arena),
		.session_id = copy_member(node, "session_id", arena),
		.prompt_sha256 = copy_member(node, "prompt_sha256", arena),
	};
	kgb_usage__read(kgb_json_get(node, "gateway"), &out->gateway);
	kgb_usage__read(kgb_json_get(node, "cli"), &out->cli);
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
	out->speedup = kgb_json_num(verdict, "timing.speedup.value", 0);
	if (out->speedup > 0) {
		out->speedup_low = kgb_json_num(verdict, "timing.speedup.low", 0);
		out->speedup_high = kgb_json_num(verdict, "timing.speedup.high", 0);
	} else {
		explain_timing(verdict, out);
	}
}

/** A member that a judge leaves empty when it does not know. */
static const char *known_text(const cJSON *node, const char *key)
{
	const char *text = kgb_json_str(node, key, "");
	return *text ? text : NULL;
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
