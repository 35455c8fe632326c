/* SPDX-License-Identifier: MIT */
#include "agent/report/display.h"

#include <unistd.h>

#include "agent/report/terminal.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/system/fs.h"
#include "base/time.h"
#include "base/vec.h"

#define REDRAW_MS 100
#define NOTE_LIMIT 160

struct kgb_display {
	uv_timer_t timer;
	struct kgb_run_log *log; /* borrowed */
	const char *label; /* borrowed; NULL: none */
	enum kgb_display_style style;
	bool dirty;
	bool closing;
	int64_t drawn_second;
	struct kgb_display_screen screen; /* when the block was drawn */
	KGB_VEC(size_t) drawn; /* the lines of the block on the screen: columns of each */
	char **notes; /* owned; by index in the plan */
	size_t n_notes;
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
	const struct kgb_display_screen before = display->screen;
	size_t rows = 0, columns = 0;
	kgb_terminal_size(STDERR_FILENO, &rows, &columns);
	display->screen.rows = rows > 0 ? rows : 24;
	display->screen.columns = columns > 0 ? columns : 80;
	return display->screen.rows != before.rows || display->screen.columns != before.columns;
}

/** One write, so that the eye never sees half a block. A terminal that is gone is no reason to stop
 * a run. */
static void put(const struct kgb_buf *text)
{
	(void)!kgb_fs_write_all(STDERR_FILENO, text->ptr, text->len, NULL);
}

/** To the first row of the block. A terminal that has become narrower has broken the lines of the
 * block into several rows each. */
static void add_rewind(const struct kgb_display *display, struct kgb_buf *out)
{
	const size_t columns = display->screen.columns;
	size_t n_rows = 0;
	for (size_t i = 0; i < display->drawn.n; i++) {
		size_t width = display->drawn.items[i];
		n_rows += width > columns ? (width + columns - 1) / columns : 1;
	}
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
	display->drawn.n = 0;
}

/** Columns of a line in which only colours are escape sequences. */
static size_t count_columns(const char *line, const char *end)
{
	size_t sum = 0;
	while (line < end) {
		size_t columns = 0;
		if (*line == '\033') {
			line += strcspn(line, "m") + 1;
			continue;
		}
		line += kgb_utf8_char(line, &columns);
		sum += columns;
	}
	return sum;
}

static void draw(struct kgb_display *display)
{
	KGB_AUTO(buf) struct kgb_buf block = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	const struct kgb_run_state *state = kgb_run_log_state(display->log);
	int64_t now_ms = kgb_wall_ms();
	/* Notes are kept for planned operators only, so there may be fewer of them than operators
	 * before the first. */
	const char *const *notes =
		display->n_notes == state->n_ops ? (const char *const *)display->notes : NULL;
	update_screen(display);
	kgb_display_render(state, notes, now_ms, &display->screen, &block);
	add_rewind(display, &out);
	display->drawn.n = 0;
	const char *line = block.ptr;
	for (const char *end; (end = strchr(line, '\n')); line = end + 1) {
		kgb_buf_add(&out, line, (size_t)(end - line));
		kgb_buf_adds(&out, "\033[K\n");
		KGB_VEC_ADD(&display->drawn, count_columns(line, end));
	}
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
		draw(display);
}

static void on_log_before(void *payload)
{
	erase(payload);
}

static void on_log_after(void *payload)
{
	struct kgb_display *display = payload;
	if (!display->closing)
		draw(display);
}

static void on_event(void *payload, const struct kgb_run_state *state,
		     const struct kgb_op_state *op, const char *type)
{
	struct kgb_display *display = payload;
	if (display->closing)
		return;
	display->dirty = true;
	KGB_AUTO(buf) struct kgb_buf line = KGB_BUF_INIT(0);
	kgb_display_line(state, op, type, &line);
	if (line.len > 0)
		kgb_info("%s%s%s", display->label ? display->label : "", display->label ? " " : "",
			 line.ptr);
}

int kgb_display_start(struct kgb_display **out, uv_loop_t *loop,
		      const struct kgb_display_spec *spec, struct kgb_err *err)
{
	struct kgb_display *display = kgb_xcalloc(1, sizeof(*display));
	display->log = spec->log;
	display->label = spec->label;
	display->style = resolve_style(spec->style);
	display->screen.color = kgb_terminal_allows_color();
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
	/* The block shows a run, it does not keep one alive. */
	uv_unref((uv_handle_t *)&display->timer);
	if (display->style != KGB_DISPLAY_QUIET)
		kgb_run_log_listen(spec->log, on_event, display);
	*out = display;
	return 0;
}

void kgb_display_note(struct kgb_display *display, const char *operator, const char * text)
{
	const struct kgb_run_state *state = kgb_run_log_state(display->log);
	const struct kgb_op_state *op = kgb_run_state_op(state, operator);
	if (!op || display->style != KGB_DISPLAY_BLOCK)
		return;
	if (display->n_notes < state->n_ops) {
		display->notes =
			kgb_xreallocarray(display->notes, state->n_ops, sizeof(*display->notes));
		while (display->n_notes < state->n_ops)
			display->notes[display->n_notes++] = NULL;
	}
	char **note = &display->notes[op - state->ops];
	if (*note && strncmp(*note, text, NOTE_LIMIT) == 0)
		return;
	kgb_free(*note);
	*note = kgb_xstrndup(text, strnlen(text, NOTE_LIMIT));
	display->dirty = true;
}

static void on_closed(uv_handle_t *handle)
{
	struct kgb_display *display = handle->data;
	for (size_t i = 0; i < display->n_notes; i++)
		kgb_free(display->notes[i]);
	kgb_free(display->notes);
	KGB_VEC_RELEASE(&display->drawn);
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
