/* SPDX-License-Identifier: MIT */
/** \file
 * Reads the report of a coding CLI from its stdout: one JSON event a line, read as it grows. The
 * format is foreign and loose, so everything is optional here: unknown events are counted, broken
 * lines are counted, nothing is fatal, and a line may be of any length. One adapter
 * (events_<cli>.c) per kind of stream; programs without a stream have the adapter "exit". */
#ifndef KGB_METHODS_EVENTS_H
#define KGB_METHODS_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/codes.h"
#include "base/err.h"
#include "base/str.h"
#include "methods/slim.h"
#include "sandbox/meter/usage.h"

enum kgb_adapter_kind {
	KGB_ADAPTER_CLAUDE,
	KGB_ADAPTER_OPENCODE,
	KGB_ADAPTER_CODEX,
	KGB_ADAPTER_EXIT,
	KGB_N_ADAPTERS,
};

/** A CLI's report on one session. */
struct kgb_report {
	enum kgb_adapter_kind kind;
	char session_id[64];
	char cli_version[32];
	char model[96];
	char last_event[96]; /* for the status line: "Bash: kgb-verify", "text", "api_retry 2/3" */
	int64_t n_events; /* lines that were JSON objects; of a program without events: lines */
	int64_t n_unknown_events; /* of these, of a type that is unknown to the adapter */
	int64_t n_bad_lines; /* not JSON, not UTF-8, too long, or cut off at the end */
	int64_t n_turns; /* as reported; -1 unknown */
	int64_t n_tool_calls;
	int64_t n_api_retries;
	int64_t n_permission_denials;
	struct kgb_usage usage; /* -1: not reported */
	int64_t cost_nanos; /* billionths of a dollar by the CLI's price list; -1 unknown */
	bool has_result; /* the closing event came, and nothing after it */
	bool is_error; /* from the closing event */
	char subtype[48]; /* "success", "error_max_turns", ... */
	char terminal_reason[48]; /* "completed", "api_error", ... */
	char stop_reason[48];
	char error[256]; /* its error, one line */
	char assistant_error[48]; /* last error kind of an assistant event: "max_output_tokens", ...
				   */
	int64_t api_error_status; /* HTTP status; -1 none */
	bool connection_failed;
	char *final_text; /* owned; last message for the user, NULL if none */
};

/** The fields of a report in the journal. */
extern const struct kgb_row kgb_report_rows[];

/** Reader of one stream. */
struct kgb_events {
	struct kgb_slim lines;
	struct kgb_report report;
	struct kgb_strv counted; /* ids of the messages whose usage is in the report */
	size_t n_forgotten; /* of these, to make room for later ones */
};

/** INVALID names the adapters when `adapter` is unknown. */
KGB_MUST_CHECK int kgb_events_init(struct kgb_events *events, const char *adapter,
				   struct kgb_err *err);
void kgb_events_feed(struct kgb_events *events, const char *data, size_t len);
/** End of the stream: an unterminated last line is read too, and counted bad if it is not whole. */
void kgb_events_finish(struct kgb_events *events);
void kgb_events_release(struct kgb_events *events);

/** The end of an attempt's process, by the harness. */
struct kgb_agent_exit {
	bool started;
	bool timed_out; /* the harness ended it */
	bool cancelled; /* the user ended it */
	int status; /* exit status, -1 if a signal ended it */
	int signal; /* 0 if none */
};

enum kgb_agent_end {
	KGB_AGENT_OK, /* it finished and reported that */
	KGB_AGENT_LIMIT, /* the CLI's limit on turns or budget */
	KGB_AGENT_CONTEXT, /* the prompt or conversation became too long */
	KGB_AGENT_REFUSED, /* the model refused */
	KGB_AGENT_TRUNCATED, /* the model's output limit */
	KGB_AGENT_DENIED, /* a tool was refused permission: a fault of the harness */
	KGB_AGENT_AUTH, /* 401, 403 */
	KGB_AGENT_CREDIT, /* 402 */
	KGB_AGENT_MODEL, /* 404: no such model */
	KGB_AGENT_REQUEST, /* other 4xx */
	KGB_AGENT_TRANSIENT, /* 429, 5xx */
	KGB_AGENT_NETWORK, /* connection failed */
	KGB_AGENT_INTERRUPTED, /* it was interrupted and reported that */
	KGB_AGENT_TIMEOUT,
	KGB_AGENT_BUDGET, /* the harness's budget in tokens, dollars or time is used up */
	KGB_AGENT_CANCELLED,
	KGB_AGENT_DISK, /* it wrote more than it may */
	KGB_AGENT_MEMORY, /* it was ended for lack of memory */
	KGB_AGENT_PROCESSES, /* it started more processes than it may */
	KGB_AGENT_HUNG, /* no sign of life */
	KGB_AGENT_KILLED, /* a signal, not from the harness */
	KGB_AGENT_CRASHED, /* ended without its closing event */
	KGB_AGENT_NO_REQUEST, /* it sent the model none */
	KGB_AGENT_SANDBOX_DIED, /* bwrap or kgb-launch was killed */
	KGB_AGENT_NOT_STARTED,
	KGB_N_AGENT_ENDS,
};
/** "agent.timeout", "provider.auth", "infra.not_started", ...; "agent.ok" for KGB_AGENT_OK. */
const char *kgb_agent_end_code(enum kgb_agent_end end);
/** The status that its code leads to. */
enum kgb_status kgb_agent_end_status(enum kgb_agent_end end);
/** Whether another attempt could do better: only faults of the provider, the network or our
 * infrastructure. */
bool kgb_agent_end_retryable(enum kgb_agent_end end);
/** Classify an end. The exit status alone never decides, because CLIs exit with 0 after errors. */
enum kgb_agent_end kgb_agent_classify(const struct kgb_report *report,
				      const struct kgb_agent_exit *exit);

/* ---- internal to methods/ ---- */

/** The end of a CLI that the harness did not end. */
typedef enum kgb_agent_end (*kgb_classify_fn)(const struct kgb_report *report,
					      const struct kgb_agent_exit *exit);
struct cJSON;
/* The adapter of a stream: reads one event at a time, and classifies the whole. */
void kgb_events__claude(struct kgb_events *events, const struct cJSON *event);
enum kgb_agent_end kgb_events__claude_end(const struct kgb_report *report,
					  const struct kgb_agent_exit *exit);
void kgb_events__opencode(struct kgb_events *events, const struct cJSON *event);
enum kgb_agent_end kgb_events__opencode_end(const struct kgb_report *report,
					    const struct kgb_agent_exit *exit);
void kgb_events__codex(struct kgb_events *events, const struct cJSON *event);
enum kgb_agent_end kgb_events__codex_end(const struct kgb_report *report,
					 const struct kgb_agent_exit *exit);
enum kgb_agent_end kgb_events__exit_end(const struct kgb_report *report,
					const struct kgb_agent_exit *exit);
/** The end for an HTTP status of the API. */
enum kgb_agent_end kgb_events__status_end(int64_t status);
/** No closing event came: killed or crashed. */
enum kgb_agent_end kgb_events__silent_end(const struct kgb_agent_exit *exit);
/** Copy a text into a field of the report, cut to size. */
#define KGB_EVENTS_COPY(field, text) snprintf(field, sizeof(field), "%s", text)
/** Whether the usage of this message is in the report already; from now on it is. Other messages
 * may have come since. */
bool kgb_events__was_counted(struct kgb_events *events, const char *id);
/** Keep the last message to the user. */
void kgb_events__final_text(struct kgb_report *report, const char *text);

#endif
