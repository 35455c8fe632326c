/* SPDX-License-Identifier: MIT */
/** \file
 * The summary of one exchange with a model: the gateway reports it and the cassette records it. */
#ifndef KGB_SANDBOX_METER_EXCHANGE_SUMMARY_H
#define KGB_SANDBOX_METER_EXCHANGE_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "sandbox/meter/usage.h"

/** One model request, reported at its end. Pointers live until the callback returns. */
struct kgb_exchange_summary {
	int64_t number; /* 1, 2, ...: traffic/0001.* */
	const char *path;
	const char *model; /* as answered, else as asked, else "" */
	const char *message_id; /* "" if none */
	int status; /* sent to the client; 0 if the client left before a status was known */
	bool billed; /* a model's answer with usage, seen for the first time */
	bool repeated; /* its message id was counted before */
	bool usage_complete;
	bool aborted_by_client;
	bool cut_upstream; /* the upstream died before the end of the answer */
	struct kgb_usage usage;
	int64_t ttfb_ms; /* -1: nothing came */
	int64_t total_ms;
	int64_t request_bytes;
	int64_t response_bytes;
	int64_t n_tools_removed; /* that the provider would have run */
	const char *error; /* NULL, or its error, one line */
	const char *record_error; /* NULL, or why the record of it is incomplete (disk full, ...) */
};

#endif
