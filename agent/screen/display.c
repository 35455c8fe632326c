/* SPDX-License-Identifier: MIT */
#include "agent/screen/display.h"

#include <unistd.h>

#include "agent/report/terminal.h"
#include "agent/screen/block.h"
#include "agent/screen/event_line.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/system/fs.h"
#include "base/time.h"

#define REDRAW_MS 100
/* Shortest time between forecasts: one of a thousand operators blocks the loop for up to 100 ms. */
#define FORECAST_MS 5000

/** The listener to the log of one run. */
struct listener {
	struct kgb_display *display;
	const char *label; /* borrowed; NULL: none */
};

struct kgb_display {
	uv_timer_t timer;
	struct listener *listeners; /* owned; one for each run */
	struct kgb_shown_run *runs; /* owned */
	struct kgb_shown shown; /* of these runs */
	enum kgb_display_style style;
	bool dirty;
	bool closing;
	bool is_terse; /* on a terminal without -v: only ends and failures have a line */
	bool color;
	int64_t drawn_second;
	struct kgb_forecast forecast;
	int64_t forecast_ms; /* when it was made; 0: never */
	size_t rows, columns; /* of the screen when the block was drawn */
	KGB_VEC(size_t) drawn; /* the lines of the block on the screen: columns of each */
};

static enum kgb_display_style resolve_style(enum kgb_display_style style)
{
	if (style != KGB_DISPLAY_AUTO)
		return style;
	return kgb_terminal_is_capable(STDERR_FILENO) ? KGB_DISPLAY_BLOCK : KGB_DISPLAY_PLAIN;
}

/** Ask the terminal for its size; whether that has changed. No signal is needed. */
static bool update_screen(struct kgb_display *display)
{
	const size_t rows = display->rows, columns = display->columns;
	kgb_terminal_size(STDERR_FILENO, &display->rows, &display->columns);
	display->rows = display->rows > 0 ? display->rows : 24;
	display->columns = display->columns > 0 ? display->columns : 80;
	return display->rows != rows || display->columns != columns;
}

/** Write the block with one call, so that no half block appears. A terminal that is gone does not
 * stop a run. */
static void put(const struct kgb_buf *text)
{
	(void)!kgb_fs_write_all(STDERR_FILENO, text->ptr, text->len, NULL);
}

/** Move the cursor to the first row of the block. A terminal that has become narrower has broken
 * the lines of the block into several rows each. */
static void add_rewind(struct kgb_display *display, struct kgb_buf *out)
{
	const size_t columns = display->columns;
	size_t n_rows = 0;
	for (size_t i = 0; i < display->drawn.n; i++) {
		size_t width = display->drawn.items[i];
		n_rows += width > columns ? (width + columns - 1) / columns : 1;
	}
	display->drawn.n = 0;
	if (n_rows > 0)
		kgb_buf_addf(out, "\033[%zuA\r", n_rows);
}

static void erase(struct kgb_display *display)
{
	if (display->drawn.n == 0)
		return;
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	update_screen(display);
	add_rewind(display, &out);
	kgb_buf_adds(&out, "\033[J");
	put(&out);
}

static void add_lines(const struct kgb_display *display, const struct kgb_styled *lines,
		      struct kgb_buf *out)
{
	for (size_t i = 0; i < lines->columns.n; i++) {
		kgb_styled_print(lines, i, display->color, out);
		kgb_buf_adds(out, "\033[K\n");
	}
}

/** Replace the earlier block by lines that stay and the new block below them. A quarter of the
 * screen is left to those lines, and one row to the cursor. */
static void draw(struct kgb_display *display, const struct kgb_styled *above)
{
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	const int64_t now_ms = kgb_wall_ms();
	update_screen(display);
	if (now_ms >= display->forecast_ms + FORECAST_MS) {
		kgb_forecast(&display->shown, now_ms, &display->forecast);
		display->forecast_ms = now_ms;
	}
	/* The last column is left free: terminals differ in where the cursor is after it. */
	KGB_AUTO(styled) struct kgb_styled block = KGB_STYLED(display->columns - 1);
	const size_t rows = display->rows - display->rows / 4;
	const struct kgb_block_view view = {
		.rows = rows > 1 ? rows - 1 : 1, .now_ms = now_ms, .forecast = &display->forecast};
	kgb_block_lay(&display->shown, &view, &block);
	add_rewind(display, &out);
	if (above)
		add_lines(display, above, &out);
	add_lines(display, &block, &out);
	for (size_t i = 0; i < block.columns.n; i++)
		KGB_VEC_ADD(&display->drawn, block.columns.items[i]);
	kgb_buf_adds(&out, "\033[J");
	put(&out);
	display->dirty = false;
	display->drawn_second = now_ms / 1000;
}

static void on_timer(uv_timer_t *timer)
{
	struct kgb_display *display = timer->data;
	if (update_screen(display) || display->dirty ||
	    kgb_wall_ms() / 1000 != display->drawn_second)
		draw(display, NULL);
}

static void on_log_before(void *payload)
{
	erase(payload);
}

static void on_log_after(void *payload)
{
	struct kgb_display *display = payload;
	if (!display->closing)
		draw(display, NULL);
}

static void print_plain(const struct kgb_event_line *line, const char *label)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	kgb_event_line_print(line, &text);
	kgb_info("%s%s%s", label ? label : "", label ? " " : "", text.ptr);
}

static void print_in_columns(const struct listener *listener, const struct kgb_event_line *line,
			     int64_t elapsed_ms)
{
	struct kgb_display *display = listener->display;
	update_screen(display);
	KGB_AUTO(styled) struct kgb_styled lines = KGB_STYLED(display->columns - 1);
	kgb_event_line_lay(line, elapsed_ms, listener->label,
			   kgb_block_columns(&display->shown, lines.width), &lines);
	draw(display, &lines);
}

static void on_event(void *payload, const struct kgb_run_state *state,
		     const struct kgb_op_state *op, const char *type)
{
	const struct listener *listener = payload;
	struct kgb_display *display = listener->display;
	if (display->closing)
		return;
	display->dirty = true;
	struct kgb_event_line line;
	if (!kgb_event_line_make(state, op, type, &line))
		return;
	const bool wanted = line.is_end || !display->is_terse;
	if (wanted && display->style == KGB_DISPLAY_PLAIN)
		print_plain(&line, listener->label);
	else if (wanted)
		print_in_columns(listener, &line,
				 state->updated_ms - kgb_shown_started_ms(&display->shown));
	kgb_event_line_release(&line);
}

static void add_runs(struct kgb_display *display, const struct kgb_display_spec *spec)
{
	display->listeners = kgb_xcalloc(spec->n_runs, sizeof(*display->listeners));
	display->runs = kgb_xcalloc(spec->n_runs, sizeof(*display->runs));
	for (size_t i = 0; i < spec->n_runs; i++) {
		const struct kgb_display_run *run = &spec->runs[i];
		display->listeners[i] = (struct listener){display, run->label};
		display->runs[i] = (struct kgb_shown_run){.state = kgb_run_log_state(run->log),
							  .label = run->label};
		if (display->style != KGB_DISPLAY_QUIET)
			kgb_run_log_listen(run->log, on_event, &display->listeners[i]);
	}
	display->shown = (struct kgb_shown){spec->series, display->runs, spec->n_runs};
}

int kgb_display_start(struct kgb_display **out, uv_loop_t *loop,
		      const struct kgb_display_spec *spec, struct kgb_err *err)
{
	struct kgb_display *display = kgb_xcalloc(1, sizeof(*display));
	display->style = resolve_style(spec->style);
	display->is_terse =
		kgb_terminal_is_capable(STDERR_FILENO) && !kgb_log_enabled(KGB_LOG_VERBOSE);
	display->color = kgb_terminal_allows_color();
	int rc = uv_timer_init(loop, &display->timer);
	if (rc < 0) {
		kgb_free(display);
		return kgb_fail_code(err, KGB_ERR_DOMAIN_UV, KGB_ERR_FAILED, rc,
				     "display timer: %s", uv_strerror(rc));
	}
	display->timer.data = display;
	if (display->style == KGB_DISPLAY_BLOCK) {
		rc = uv_timer_start(&display->timer, on_timer, REDRAW_MS, REDRAW_MS);
		KGB_ASSERT(rc == 0);
		kgb_log_set_hook(on_log_before, on_log_after, display);
	}
	/* The block's timer must not keep the loop alive. */
	uv_unref((uv_handle_t *)&display->timer);
	add_runs(display, spec);
	*out = display;
	return 0;
}

static void on_closed(uv_handle_t *handle)
{
	struct kgb_display *display = handle->data;
	KGB_VEC_RELEASE(&display->drawn);
	kgb_free(display->listeners);
	kgb_free(display->runs);
	kgb_free(display);
}

void kgb_display_close(struct kgb_display *display)
{
	if (!display)
		return;
	display->closing = true;
	if (display->style == KGB_DISPLAY_BLOCK) {
		erase(display);
		kgb_log_set_hook(NULL, NULL, NULL);
	}
	uv_close((uv_handle_t *)&display->timer, on_closed);
}
