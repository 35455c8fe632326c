/* SPDX-License-Identifier: MIT */
/** \file
 * journal.jsonl: the truth about a run. Append-only, one JSON object per line, one write(2) per
 * line, one writer (the holder of the run directory's lock).
 *
 * A line is exactly
 *
 *     {"seq":7,"time":"2026-11-21T08:43:48.123Z","type":"verified","data":{...},"crc":"0a1b2c3d"}
 *
 * in this order of members, without other blanks, ended by one newline. `seq` counts from 1 without
 * gaps. `crc` is CRC-32C, eight lower-case hex digits, over the bytes of the line with
 * `,"crc":"0a1b2c3d"` cut out and without the newline; that is, over {"seq":7,...,"data":{...}}.
 *
 * A crash can leave a torn tail: lines at the end that do not check and have no good line after
 * them. Opening for append copies the tail's bytes to journal.torn and cuts it off. A bad line with
 * a good line after it is corruption: refused with its line number, nothing is changed.
 */
#ifndef KGB_AGENT_STORE_JOURNAL_H
#define KGB_AGENT_STORE_JOURNAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/formats/json.h"

#define KGB_JOURNAL_NAME "journal.jsonl"
#define KGB_JOURNAL_TORN_NAME "journal.torn"

struct kgb_journal;

/** Whether the record must be on disk before append returns (state changes) or may be lost in a
 * power failure (ticks). */
enum kgb_journal_sync {
	KGB_JOURNAL_LAZY,
	KGB_JOURNAL_SYNC,
};

/** One record; pointers live until the callback returns. */
struct kgb_journal_record {
	int64_t seq;
	int64_t time_ms; /* wall clock */
	const char *type;
	const cJSON *data; /* an object */
};

/** Called for each record in order. A negative result ends the reading with that error. */
typedef int (*kgb_journal_fn)(void *payload, const struct kgb_journal_record *record,
			      struct kgb_err *err);

/** What reading found besides records. */
struct kgb_journal_scan {
	int64_t n_records;
	int64_t last_time_ms; /* 0: no record */
	size_t good_bytes; /* length of the prefix made of good lines */
	size_t torn_bytes; /* length of the torn tail */
};

/** Read text. `fn` and `scan` may be NULL. INVALID on corruption, naming `name` and the line. */
KGB_MUST_CHECK int kgb_journal_parse(const char *name, const char *text, size_t len,
				     kgb_journal_fn fn, void *payload,
				     struct kgb_journal_scan *scan, struct kgb_err *err);

/** Read the journal of the run directory `dir_fd` without changing it. NOT_FOUND when there is
 * none. */
KGB_MUST_CHECK int kgb_journal_read(int dir_fd, kgb_journal_fn fn, void *payload,
				    struct kgb_journal_scan *scan, struct kgb_err *err);

/** Read what was appended since `*scan` was filled; at first it is all zero. A line that is being
 * written is left for the next call. INVALID also when the journal has become shorter. */
KGB_MUST_CHECK int kgb_journal_read_on(int dir_fd, kgb_journal_fn fn, void *payload,
				       struct kgb_journal_scan *scan, struct kgb_err *err);

/** Open for append, creating it when absent; existing records go to `fn` first, a torn tail is cut
 * off (with a warning). The caller holds the run directory's lock. */
KGB_MUST_CHECK int kgb_journal_open(struct kgb_journal **out, int dir_fd, kgb_journal_fn fn,
				    void *payload, struct kgb_err *err);

/** Append one record. `data_json` is one JSON object on one line. `record_seq` and `time_ms` may be
 * NULL. After a failure the file is as before (a short write is cut back): LIMIT when the disk is
 * full or the line is over KGB_LIMIT_LINE. When even the cutting back failed, or a sync did, every
 * later append fails too. */
KGB_MUST_CHECK int kgb_journal_append(struct kgb_journal *journal, const char *type,
				      const char *data_json, enum kgb_journal_sync sync,
				      int64_t *seq_out, int64_t *time_ms_out, struct kgb_err *err);

void kgb_journal_close(struct kgb_journal *journal);

#endif
