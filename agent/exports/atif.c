/* SPDX-License-Identifier: MIT */
#include "agent/exports/atif.h"

#include <math.h>

#include "agent/config/version.h"
#include "agent/exports/trajectory.h"
#include "agent/report/common.h"
#include "agent/store/chains.h"
#include "sandbox/meter/prices.h"

#define ATIF_VERSION "ATIF-v1.7"

/* ---- steps ---- */

/** Tokens of the prompt, those of the cache included; -1: not known. */
static int64_t prompt_tokens_of(const struct kgb_usage *usage)
{
	if (usage->input < 0 || usage->cache_creation < 0 || usage->cache_read < 0)
		return -1;
	const struct kgb_usage prompt = {usage->input, 0, usage->cache_creation, usage->cache_read};
	return kgb_usage_total(&prompt);
}

static void write_metrics(struct kgb_jsonw *w, const struct kgb_step *step)
{
	const struct kgb_usage *usage = &step->usage;
	const int64_t prompt = prompt_tokens_of(usage);
	if (prompt < 0 && usage->output < 0 && step->cost_nanos < 0)
		return;
	kgb_jsonw_put(
		w,
		"metrics: {prompt_tokens: %+ld, completion_tokens: %+ld, cached_tokens: %+ld, "
		"cost_usd: %g, extra: {cache_creation_tokens: %+ld}}",
		prompt, usage->output, usage->cache_read, kgb_report__dollars(step->cost_nanos),
		usage->cache_creation);
}

/** The id of a call; one that the CLI did not name gets one that is unique in the document. */
static const char *id_of(const struct kgb_tool_call *call, size_t step, size_t index, char *out,
			 size_t cap)
{
	if (*call->id)
		return call->id;
	snprintf(out, cap, "call_%zu_%zu", step, index + 1);
	return out;
}

static void write_calls(struct kgb_jsonw *w, const struct kgb_step *step, size_t number)
{
	char id[48];
	if (step->calls.n == 0)
		return;
	kgb_jsonw_put(w, "tool_calls: [");
	for (size_t i = 0; i < step->calls.n; i++) {
		const struct kgb_tool_call *call = &step->calls.items[i];
		kgb_jsonw_put(w, "{tool_call_id: %s, function_name: %s",
			      id_of(call, number, i, id, sizeof(id)), call->name);
		kgb_jsonw_key(w, "arguments");
		kgb_jsonw_raw(w, call->arguments);
		kgb_jsonw_object_end(w);
	}
	kgb_jsonw_array_end(w);
}

static void write_observation(struct kgb_jsonw *w, const struct kgb_step *step, size_t number)
{
	char id[48];
	size_t n_results = 0;
	KGB_VEC_FOREACH(call, &step->calls)
		n_results += call->result != NULL;
	if (n_results == 0)
		return;
	kgb_jsonw_put(w, "observation: {results: [");
	for (size_t i = 0; i < step->calls.n; i++) {
		const struct kgb_tool_call *call = &step->calls.items[i];
		if (!call->result)
			continue;
		kgb_jsonw_put(w, "{source_call_id: %s, content: %s",
			      id_of(call, number, i, id, sizeof(id)), call->result);
		if (call->exit_code >= 0)
			kgb_jsonw_put(w, "extra: {exit_code: %ld}", call->exit_code);
		kgb_jsonw_object_end(w);
	}
	kgb_jsonw_put(w, "]}");
}

static void write_step(struct kgb_jsonw *w, const struct kgb_step *step, size_t number)
{
	static const char *const sources[] = {
		[KGB_STEP_SYSTEM] = "system", [KGB_STEP_USER] = "user", [KGB_STEP_AGENT] = "agent"};
	kgb_jsonw_put(w, "{step_id: %zu, source: %s", number, sources[step->source]);
	if (step->time)
		kgb_jsonw_kstr(w, "timestamp", step->time);
	if (step->model)
		kgb_jsonw_kstr(w, "model_name", step->model);
	kgb_jsonw_kstr(w, "message", step->message.ptr);
	if (step->reasoning.len > 0)
		kgb_jsonw_kstr(w, "reasoning_content", step->reasoning.ptr);
	if (step->source == KGB_STEP_AGENT) {
		write_calls(w, step, number);
		write_observation(w, step, number);
		write_metrics(w, step);
	}
	kgb_jsonw_object_end(w);
}

/* ---- documents ---- */

/** The parts of a document besides its steps. */
struct document {
	const struct kgb_run_record *record;
	const struct kgb_op_state *op;
	const struct kgb_attempt_state *attempt;
	int sample; /* 0: an attempt of a CLI */
	const char *session_id;
	struct kgb_usage usage;
	int64_t cost_nanos;
};

static void write_agent(struct kgb_jsonw *w, const struct document *d)
{
	const struct kgb_run_state *state = &d->record->state;
	const bool is_cli = d->sample == 0 && state->cli_name;
	const char *cli_version = d->attempt->cli.cli_version;
	const char *version = *cli_version ? cli_version : state->cli_version;
	kgb_jsonw_put(w, "agent: {name: %s, version: %s", is_cli ? state->cli_name : "kgb-agent",
		      is_cli && version ? version : kgb_version());
	kgb_jsonw_kstr(w, "model_name", d->attempt->maker.model);
	kgb_jsonw_put(w, "extra: {method: %s, gateway: %s}}", d->attempt->maker.method,
		      d->attempt->maker.gateway_mode);
}

static void write_notes(struct kgb_jsonw *w, const struct document *d,
			const struct kgb_steps *steps)
{
	KGB_AUTO(buf) struct kgb_buf notes = KGB_BUF_INIT(0);
	if (kgb_maker_is_offline(&d->attempt->maker))
		kgb_buf_adds(&notes, "OFFLINE: a built-in script, not a model. ");
	if (d->attempt->ended_ms < 0)
		kgb_buf_adds(&notes, "The attempt has not ended. ");
	if (steps->n_bad_lines > 0)
		kgb_buf_addf(&notes, "%lld lines of the event stream are not JSON. ",
			     (long long)steps->n_bad_lines);
	if (steps->n_unknown_events > 0)
		kgb_buf_addf(&notes, "%lld events are of a type that is not known. ",
			     (long long)steps->n_unknown_events);
	if (steps->n_left_out > 0)
		kgb_buf_addf(&notes, "%lld texts are left out: the trajectory is too long. ",
			     (long long)steps->n_left_out);
	if (notes.len > 0)
		kgb_jsonw_strn((kgb_jsonw_key(w, "notes"), w), notes.ptr, notes.len - 1);
}

static void write_extra(struct kgb_jsonw *w, const struct document *d)
{
	const struct kgb_op_state *op = d->op;
	const struct kgb_attempt_state *attempt = d->attempt;
	const bool counts = attempt == kgb_op_counting_attempt(op);
	kgb_jsonw_put(w, "extra: {run: %s, dataset: %s, operator: %s, source: %s, category: %s",
		      d->record->dir.name, d->record->state.dataset, op->name, op->source,
		      op->category);
	kgb_jsonw_put(w, "spec_sha256: %s, prompt_sha256: %s, attempt: %d, end: %s, counts: %hhd",
		      op->spec_sha256, attempt->prompt_sha256, attempt->number,
		      attempt->ended_ms < 0 ? NULL : kgb_agent_end_code(attempt->end), counts);
	kgb_jsonw_put(w, "operator_status: %s, operator_code: %s, operator_speedup: %g",
		      kgb_op_status_name(op->status), op->error_code,
		      op->has_verdict && op->verdict.speedup > 0 ? op->verdict.speedup
								 : (double)NAN);
	if (d->sample > 0) {
		const struct kgb_sample *last = NULL;
		for (int round = 1; kgb_op_sample(op, d->sample, round); round++)
			last = kgb_op_sample(op, d->sample, round);
		kgb_jsonw_put(w, "sample: %d, status: %s, code: %s, reached: %s", d->sample,
			      last ? last->status : NULL, last ? last->code : NULL,
			      last ? last->reached : NULL);
	}
	kgb_jsonw_object_end(w);
}

static void write_document(const struct document *d, const struct kgb_steps *steps,
			   struct kgb_buf *out)
{
	struct kgb_jsonw w;
	KGB_AUTO(free)
	char *id = d->sample > 0 ? kgb_xasprintf("%s/%s/sample-%04d", d->record->dir.name,
						 d->op->safe_name, d->sample)
				 : kgb_xasprintf("%s/%s/%03d", d->record->dir.name,
						 d->op->safe_name, d->attempt->number);
	kgb_jsonw_init(&w, out, 0);
	kgb_jsonw_put(&w, "{schema_version: %s, session_id: %s, trajectory_id: %s", ATIF_VERSION,
		      d->session_id && *d->session_id ? d->session_id : id, id);
	write_agent(&w, d);
	kgb_jsonw_put(&w, "steps: [");
	for (size_t i = 0; i < steps->list.n; i++)
		write_step(&w, &steps->list.items[i], i + 1);
	kgb_jsonw_array_end(&w);
	write_notes(&w, d, steps);
	kgb_jsonw_put(&w,
		      "final_metrics: {total_prompt_tokens: %+ld, total_completion_tokens: %+ld, "
		      "total_cached_tokens: %+ld, total_cost_usd: %g, total_steps: %zu}",
		      prompt_tokens_of(&d->usage), d->usage.output, d->usage.cache_read,
		      kgb_report__dollars(d->cost_nanos), steps->list.n);
	write_extra(&w, d);
	kgb_jsonw_object_end(&w);
	kgb_buf_addc(out, '\n');
}

int kgb_atif_of_attempt(const struct kgb_run_record *record, const struct kgb_op_state *op,
			const struct kgb_attempt_state *attempt, struct kgb_buf *out,
			struct kgb_err *err)
{
	KGB_AUTO(steps) struct kgb_steps steps = {0};
	const bool is_counted = attempt->has_gateway && kgb_usage_complete(&attempt->gateway.usage);
	const struct document document = {.record = record,
					  .op = op,
					  .attempt = attempt,
					  .session_id = attempt->cli.session_id,
					  .usage = is_counted ? attempt->gateway.usage
							      : attempt->cli.usage,
					  .cost_nanos = kgb_attempt_cost_nanos(attempt)};
	if (kgb_trajectory_of_attempt(&steps, record, attempt, err) < 0)
		return kgb_ctx(err, "run '%s': %s", record->dir.name, attempt->dir);
	write_document(&document, &steps, out);
	return 0;
}

int kgb_atif_of_sample(const struct kgb_run_record *record, const struct kgb_op_state *op,
		       int number, struct kgb_buf *out, struct kgb_err *err)
{
	KGB_AUTO(steps) struct kgb_steps steps = {0};
	const struct kgb_sample *first = kgb_op_sample(op, number, 1), *sample = NULL;
	struct kgb_usage usage = KGB_USAGE_UNKNOWN;
	int64_t cost_nanos = 0;
	for (int round = 1; (sample = kgb_op_sample(op, number, round)); round++) {
		kgb_usage_add(&usage, &sample->usage);
		cost_nanos = cost_nanos < 0 || sample->cost_nanos < 0
				     ? -1
				     : cost_nanos + sample->cost_nanos;
	}
	if (!first || first->attempt < 1 || (size_t)first->attempt > op->n_attempts)
		return kgb_fail(err, KGB_ERR_INVALID, "run '%s': %s: sample %d has no attempt",
				record->dir.name, op->name, number);
	const struct document document = {.record = record,
					  .op = op,
					  .attempt = &op->attempts[first->attempt - 1],
					  .sample = number,
					  .usage = usage,
					  .cost_nanos = cost_nanos};
	if (kgb_trajectory_of_sample(&steps, record, op, number, err) < 0)
		return kgb_ctx(err, "run '%s': %s", record->dir.name, op->name);
	write_document(&document, &steps, out);
	return 0;
}
