/* SPDX-License-Identifier: MIT */
#include "methods/events.h"

#include <strings.h>

#include "base/formats/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/str.h"

/* Most bytes kept of one string of an event. */
#define STRING_BYTES (KGB_LIMIT_EVENT / 2)
/* Number of latest messages that are recognised when they repeat. A stream may have any number of
 * messages, but repeats one soon. */
#define COUNTED_MAX 1024

static const struct {
	const char *name;
	void (*on_event)(struct kgb_events *events, const cJSON *event); /* NULL: text, not JSON */
	kgb_classify_fn classify;
} adapters[KGB_N_ADAPTERS] = {
	[KGB_ADAPTER_CLAUDE] = {"claude", kgb_events__claude, kgb_events__claude_end},
	[KGB_ADAPTER_OPENCODE] = {"opencode", kgb_events__opencode, kgb_events__opencode_end},
	[KGB_ADAPTER_CODEX] = {"codex", kgb_events__codex, kgb_events__codex_end},
	[KGB_ADAPTER_EXIT] = {"exit", NULL, kgb_events__exit_end},
};

#define OF_REPORT(count, long_name) KGB_ROW(COUNT, struct kgb_report, usage.count, #count),
#define REPORT(type, field, name) KGB_ROW(type, struct kgb_report, field, name)
const struct kgb_row kgb_report_rows[] = {
	KGB_USAGE_COUNTS(OF_REPORT) REPORT(COUNT, cost_nanos, "cost_nanos"),
	REPORT(COUNT, n_turns, "turns"),
	REPORT(CHARS, session_id, "session_id"),
	REPORT(CHARS, model, "model"),
	REPORT(CHARS, cli_version, "version"),
	REPORT(CHARS, subtype, "subtype"),
	REPORT(I64, n_events, "events"),
	REPORT(I64, n_bad_lines, "bad_lines"),
	REPORT(I64, n_unknown_events, "unknown_events"),
	KGB_ROWS_END,
};

int kgb_events_init(struct kgb_events *events, const char *adapter, struct kgb_err *err)
{
	for (size_t i = 0; i < KGB_ARRAY_LEN(adapters); i++) {
		if (!kgb_str_eq(adapters[i].name, adapter))
			continue;
		*events = (struct kgb_events){.report.kind = (enum kgb_adapter_kind)i};
		events->report.usage = (struct kgb_usage)KGB_USAGE_UNKNOWN;
		events->report.n_turns = -1;
		events->report.cost_nanos = -1;
		events->report.api_error_status = -1;
		kgb_slim_init(&events->lines, KGB_LIMIT_EVENT, STRING_BYTES);
		return 0;
	}
	return kgb_fail(err, KGB_ERR_INVALID,
			"unknown event adapter '%s'; there are claude, opencode, codex and exit",
			adapter);
}

static void on_line(void *payload, const char *line, size_t len)
{
	struct kgb_events *events = payload;
	if (len == 0)
		return;
	struct kgb_report *report = &events->report;
	if (!adapters[report->kind].on_event) {
		report->n_events++;
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		kgb_utf8_repair(&text, line, len < 80 ? len : 80);
		snprintf(report->last_event, sizeof(report->last_event), "%s", text.ptr);
		return;
	}
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(json) cJSON *event = NULL;
	if (kgb_json_parse(line, len, &event, &err) < 0 || !cJSON_IsObject(event)) {
		events->report.n_bad_lines++;
		return;
	}
	events->report.n_events++;
	adapters[events->report.kind].on_event(events, event);
}

void kgb_events_feed(struct kgb_events *events, const char *data, size_t len)
{
	kgb_slim_feed(&events->lines, data, len, on_line, events);
}

void kgb_events_finish(struct kgb_events *events)
{
	kgb_slim_finish(&events->lines, on_line, events);
	events->report.n_bad_lines += events->lines.n_dropped;
	events->lines.n_dropped = 0;
}

void kgb_events_release(struct kgb_events *events)
{
	kgb_slim_release(&events->lines);
	kgb_strv_release(&events->counted);
	kgb_free(events->report.final_text);
	events->report.final_text = NULL;
}

static const enum kgb_code end_codes[KGB_N_AGENT_ENDS] = {
	[KGB_AGENT_OK] = KGB_CODE_AGENT_OK,
	[KGB_AGENT_LIMIT] = KGB_CODE_AGENT_LIMIT,
	[KGB_AGENT_CONTEXT] = KGB_CODE_AGENT_CONTEXT_FULL,
	[KGB_AGENT_REFUSED] = KGB_CODE_AGENT_REFUSED,
	[KGB_AGENT_TRUNCATED] = KGB_CODE_AGENT_TRUNCATED,
	[KGB_AGENT_DENIED] = KGB_CODE_INFRA_PERMISSION_DENIED,
	[KGB_AGENT_AUTH] = KGB_CODE_PROVIDER_AUTH,
	[KGB_AGENT_CREDIT] = KGB_CODE_PROVIDER_CREDIT,
	[KGB_AGENT_MODEL] = KGB_CODE_PROVIDER_UNKNOWN_MODEL,
	[KGB_AGENT_REQUEST] = KGB_CODE_PROVIDER_BAD_REQUEST,
	[KGB_AGENT_TRANSIENT] = KGB_CODE_PROVIDER_TRANSIENT,
	[KGB_AGENT_NETWORK] = KGB_CODE_PROVIDER_NETWORK,
	[KGB_AGENT_INTERRUPTED] = KGB_CODE_AGENT_INTERRUPTED,
	[KGB_AGENT_TIMEOUT] = KGB_CODE_AGENT_TIMEOUT,
	[KGB_AGENT_BUDGET] = KGB_CODE_BUDGET_REACHED,
	[KGB_AGENT_CANCELLED] = KGB_CODE_AGENT_CANCELLED,
	[KGB_AGENT_DISK] = KGB_CODE_AGENT_DISK,
	[KGB_AGENT_MEMORY] = KGB_CODE_AGENT_MEMORY,
	[KGB_AGENT_PROCESSES] = KGB_CODE_AGENT_PROCESSES,
	[KGB_AGENT_HUNG] = KGB_CODE_AGENT_HUNG,
	[KGB_AGENT_KILLED] = KGB_CODE_AGENT_KILLED,
	[KGB_AGENT_CRASHED] = KGB_CODE_AGENT_CRASHED,
	[KGB_AGENT_NO_REQUEST] = KGB_CODE_INFRA_NO_REQUEST,
	[KGB_AGENT_SANDBOX_DIED] = KGB_CODE_INFRA_SANDBOX,
	[KGB_AGENT_NOT_STARTED] = KGB_CODE_INFRA_NOT_STARTED,
};

const char *kgb_agent_end_code(enum kgb_agent_end end)
{
	return kgb_code_name(end_codes[end]);
}

enum kgb_status kgb_agent_end_status(enum kgb_agent_end end)
{
	return kgb_code_status(end_codes[end]);
}

bool kgb_agent_end_retryable(enum kgb_agent_end end)
{
	return kgb_code_row(end_codes[end])->is_tried_again;
}

enum kgb_agent_end kgb_events__status_end(int64_t status)
{
	if (status == 401 || status == 403)
		return KGB_AGENT_AUTH;
	if (status == 402)
		return KGB_AGENT_CREDIT;
	if (status == 404)
		return KGB_AGENT_MODEL;
	if (status == 429 || status >= 500)
		return KGB_AGENT_TRANSIENT;
	return KGB_AGENT_REQUEST;
}

enum kgb_agent_end kgb_events__silent_end(const struct kgb_agent_exit *exit)
{
	/* 128 + signal is how bubblewrap reports a signal of its child. */
	return exit->signal != 0 || exit->status > 128 ? KGB_AGENT_KILLED : KGB_AGENT_CRASHED;
}

enum kgb_agent_end kgb_events__exit_end(const struct kgb_report *report,
					const struct kgb_agent_exit *exit)
{
	(void)report;
	return exit->status == 0 && exit->signal == 0 ? KGB_AGENT_OK : kgb_events__silent_end(exit);
}

bool kgb_events__was_counted(struct kgb_events *events, const char *id)
{
	char known[96];
	KGB_EVENTS_COPY(known, id);
	if (kgb_strv_has(&events->counted, known))
		return true;
	if (events->counted.n < COUNTED_MAX) {
		kgb_strv_add(&events->counted, known);
		return false;
	}
	char **oldest = &events->counted.items[events->n_forgotten++ % COUNTED_MAX];
	kgb_free(*oldest);
	*oldest = kgb_xstrdup(known);
	return false;
}

void kgb_events__final_text(struct kgb_report *report, const char *text)
{
	kgb_free(report->final_text);
	report->final_text = kgb_xstrdup(text);
}

enum kgb_agent_end kgb_agent_classify(const struct kgb_report *report,
				      const struct kgb_agent_exit *exit)
{
	if (!exit->started)
		return KGB_AGENT_NOT_STARTED;
	if (exit->cancelled)
		return KGB_AGENT_CANCELLED;
	if (exit->timed_out)
		return KGB_AGENT_TIMEOUT;
	return adapters[report->kind].classify(report, exit);
}
