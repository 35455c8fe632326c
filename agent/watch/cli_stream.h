/* SPDX-License-Identifier: MIT */
/** \file
 * Reads stdout.jsonl while the CLI of a round writes it. Loop thread only. */
#ifndef KGB_AGENT_WATCH_CLI_STREAM_H
#define KGB_AGENT_WATCH_CLI_STREAM_H

#include "methods/events.h"

struct kgb_cli_stream {
	struct kgb_events events;
	int fd; /* -1: not open */
	int64_t offset; /* of what was read */
};

/** A stream without a file and with an empty report. */
KGB_MUST_CHECK int kgb_cli_stream_init(struct kgb_cli_stream *stream, const char *adapter,
				       struct kgb_err *err);
/** Release and init: the report of the last round is gone. */
KGB_MUST_CHECK int kgb_cli_stream_reset(struct kgb_cli_stream *stream, const char *adapter,
					struct kgb_err *err);
/** Read the next pieces, for a limited time. */
void kgb_cli_stream_read(struct kgb_cli_stream *stream);
/** Read the rest after the CLI's end; of a flood only the last part, where the closing event is.
 * Returns how many bytes were skipped. */
int64_t kgb_cli_stream_finish(struct kgb_cli_stream *stream);
void kgb_cli_stream_release(struct kgb_cli_stream *stream);

#endif
