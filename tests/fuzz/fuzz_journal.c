/* SPDX-License-Identifier: MIT */
/** \file
 * The journal reader and the fold: a file that anything could have happened to. Input that starts
 * with '{' is read as it is; the lines of other input ("type data") get a number and a right
 * checksum, so that the fold is reached. What was folded must be renderable.
 */
#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "agent/report/progress.h"
#include "agent/report/results.h"
#include "agent/screen/block.h"
#include "agent/screen/event_line.h"
#include "agent/store/events.h"
#include "base/hash.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** The block of one run, or of a series of two, keeps to its rows and columns, whatever the journal
 * holds. */
static void draw_block(const struct kgb_run_state *state, size_t n_runs)
{
	KGB_AUTO(styled) struct kgb_styled block = KGB_STYLED(60);
	struct kgb_forecast forecast;
	const struct kgb_block_view view = {
		.rows = 12, .now_ms = 1800000000000, .forecast = &forecast};
	const struct kgb_shown_run runs[] = {{.state = state, .label = "a-1"},
					     {.state = state, .label = "b-1", .is_cut_off = true}};
	const struct kgb_shown shown = {
		.name = n_runs > 1 ? "series" : NULL, .runs = runs, .n = n_runs};
	kgb_forecast(&shown, view.now_ms, &forecast);
	kgb_block_lay(&shown, &view, &block);
	KGB_ASSERT(block.columns.n <= view.rows);
	KGB_VEC_FOREACH(columns, &block.columns)
		KGB_ASSERT(*columns <= block.width);
}

static void read_all(const char *text, size_t len)
{
	KGB_AUTO(run_state) struct kgb_run_state state = KGB_RUN_STATE_INIT;
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_journal_scan scan = {0};
	int rc = kgb_journal_parse("fuzz", text, len, kgb_run_state_fold, &state, &scan, &err);
	KGB_ASSERT(rc < 0 || scan.good_bytes + scan.torn_bytes == len);
	if (state.n_ops == 0)
		return;
	/* Also a journal that is refused half way leaves a state that can be shown. */
	kgb_progress_render(&state, &out);
	kgb_results_render(&state, 0, &out);
	kgb_results_table(&state, "/run", 60, false, &out);
	draw_block(&state, 1);
	draw_block(&state, 2);
	struct kgb_run_counts counts;
	kgb_run_state_count(&state, &counts);
	KGB_ASSERT(counts.completed + counts.failed + counts.running + counts.pending ==
		   counts.total);
	for (size_t i = 0; i < state.n_ops; i++) {
		struct kgb_event_line line;
		if (state.ops[i].n_calls > 0 &&
		    kgb_event_line_make(&state, &state.ops[i], "verify_call", &line)) {
			kgb_event_line_print(&line, &out);
			kgb_event_line_release(&line);
		}
	}
	(void)kgb_results_exit_code(&state);
}

/** Lines of "type data" become records. */
static void add_record(struct kgb_buf *out, int64_t seq, const char *line, size_t len)
{
	const char *blank = memchr(line, ' ', len);
	if (!blank)
		return;
	size_t start = out->len;
	kgb_buf_addf(out,
		     "{\"seq\":%" PRId64 ",\"time\":\"2026-11-21T08:00:%02d.000Z\",\"type\":\"",
		     seq, (int)(seq % 60));
	kgb_buf_add(out, line, (size_t)(blank - line));
	kgb_buf_adds(out, "\",\"data\":");
	kgb_buf_add(out, blank + 1, len - (size_t)(blank - line) - 1);
	kgb_buf_addc(out, '}');
	uint32_t crc = kgb_crc32c(out->ptr + start, out->len - start);
	kgb_buf_truncate(out, out->len - 1);
	kgb_buf_addf(out, ",\"crc\":\"%08" PRIx32 "\"}\n", crc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	if (size > 0 && text[0] == '{') {
		read_all(text, size);
		return 0;
	}
	KGB_AUTO(buf) struct kgb_buf journal = KGB_BUF_INIT(0);
	int64_t seq = 0;
	for (size_t pos = 0; pos < size;) {
		const char *newline = memchr(text + pos, '\n', size - pos);
		size_t len = newline ? (size_t)(newline - text) - pos : size - pos;
		size_t before = journal.len;
		add_record(&journal, seq + 1, text + pos, len);
		seq += journal.len > before;
		pos += len + 1;
	}
	read_all(journal.ptr, journal.len);
	return 0;
}
