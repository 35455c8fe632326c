/* SPDX-License-Identifier: MIT */
#include "agent/attempt/model_session.h"

#include <inttypes.h>

#include "base/log.h"
#include "base/mem.h"

void kgb_model_session_flush(struct kgb_model_session *model)
{
	const struct kgb_attempt_facts *facts = model->facts;
	struct kgb_err err = KGB_ERR_INIT;
	if (!model->usage_changed)
		return;
	model->usage_changed = false;
	if (kgb_event_usage(facts->env->log, facts->spec->name, facts->number, &model->sums->totals,
			    &err) < 0)
		model->callbacks.on_fatal(model->payload, &err);
}

static void on_usage(void *payload, const struct kgb_totals *totals)
{
	struct kgb_model_session *model = payload;
	kgb_round_sums_set_round(model->sums, totals);
	model->usage_changed = true;
}

/** A record that cannot be written (full disk) loses evidence: stop the run. */
static void on_exchange(void *payload, const struct kgb_exchange_summary *exchange)
{
	struct kgb_model_session *model = payload;
	struct kgb_err err = KGB_ERR_INIT;
	kgb_debug("%s: request %" PRId64 " to %s: status %d after %" PRId64 " ms, %" PRId64
		  " tokens in %" PRId64 " out%s%s",
		  model->facts->spec->name, exchange->number, exchange->path, exchange->status,
		  exchange->total_ms, exchange->usage.input, exchange->usage.output,
		  exchange->error ? ": " : "", exchange->error ? exchange->error : "");
	if (!exchange->record_error)
		return;
	kgb_fail(&err, KGB_ERR_LIMIT, "%s: record of a model request: %s", model->facts->spec->name,
		 exchange->record_error);
	model->callbacks.on_fatal(model->payload, &err);
}

/** Journal a reservation before the request leaves, so that a killed run counts it as spent.
 * Journal the departure too, so that the run counts the provider's calls. */
static void on_leave(void *payload, const struct kgb_totals *totals)
{
	on_usage(payload, totals);
	kgb_model_session_flush(payload);
}

static void on_budget(void *payload, const char *why)
{
	struct kgb_model_session *model = payload;
	model->callbacks.on_budget(model->payload, why);
}

static void on_hopeless(void *payload)
{
	struct kgb_model_session *model = payload;
	model->callbacks.on_hopeless(model->payload);
}

static void on_activity(void *payload)
{
	struct kgb_model_session *model = payload;
	if (model->watcher)
		kgb_watcher_note_request(model->watcher);
}

static void on_probe(void *payload, const char *what, const char *method, const char *path)
{
	struct kgb_model_session *model = payload;
	if (model->watcher)
		kgb_watcher_count_probe(model->watcher, what, path);
	kgb_verbose("%s: refused at the gateway (%s): %s %s", model->facts->spec->name, what,
		    method, path);
}

/** In a replay: the record has no answer to a request. */
static void on_miss(void *payload, const char *why)
{
	const struct kgb_model_session *model = payload;
	kgb_error("%s: attempt %d: %s", model->facts->spec->name, model->facts->number, why);
}

static void on_verify(void *payload, struct kgb_verify_request *request, const char *kernel,
		      size_t len)
{
	struct kgb_model_session *model = payload;
	model->callbacks.on_verify(model->payload, request, kernel, len);
}

int kgb_model_session_open(struct kgb_model_session *model, const struct kgb_model_source *source,
			   int take_listen_fd, struct kgb_err *err)
{
	const struct kgb_attempt_facts *facts = model->facts;
	const struct kgb_method *method = facts->env->method;
	int64_t max_requests = method->limits.model_requests;
	const struct kgb_session_spec spec = {
		.take_listen_fd = take_listen_fd,
		.token = facts->token,
		/* A replay compares requests as the CLI sent them. */
		.model = facts->env->gateway_mode == KGB_GATEWAY_REPLAY ? NULL : facts->env->model,
		.traffic_dir = source->traffic_dir,
		.offline = source->offline,
		/* Some servers give all answers one id but bill each of them. Only a CLI can
		 * receive the same answer twice. */
		.counts_each_answer = method->program.builtin,
		.protocols = kgb_program_protocols(&method->program),
		.batches = method->program.builtin,
		.max_exchanges =
			max_requests > 0 ? max_requests - model->sums->totals.n_exchanges : 0,
		.cassette = source->cassette,
		.budget = &model->budget,
		.callbacks = {.on_usage = on_usage,
			      .on_leave = on_leave,
			      .on_budget = on_budget,
			      .on_hopeless = on_hopeless,
			      .on_miss = on_miss,
			      .on_exchange = on_exchange,
			      .on_probe = on_probe,
			      .on_activity = on_activity,
			      .on_verify = method->verify_tool ? on_verify : NULL},
		.payload = model,
	};
	return kgb_session_open(&model->session, facts->env->gateway, &spec, err);
}

static void on_closed(void *payload, const struct kgb_totals *totals)
{
	struct kgb_model_session *model = payload;
	on_usage(model, totals);
	model->session = NULL;
	model->callbacks.on_closed(model->payload);
}

void kgb_model_session_close(struct kgb_model_session *model)
{
	if (model->session)
		kgb_session_close(model->session, on_closed, model);
}

int64_t kgb_model_session_n_open(const struct kgb_model_session *model)
{
	struct kgb_totals totals = model->sums->totals;
	if (model->session)
		kgb_session_totals(model->session, &totals);
	return totals.n_open;
}
