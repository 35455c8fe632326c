/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/str.h"

static struct {
	const char *program; /* borrowed; NULL: none */
	enum kgb_log_level level;
	void (*before)(void *);
	void (*after)(void *);
	void *payload;
} log_state = {.program = "kgb", .level = KGB_LOG_INFO};

void kgb_log_init(const char *program, enum kgb_log_level level)
{
	log_state.program = program;
	log_state.level = level;
}

void kgb_log_set_program(const char *program)
{
	log_state.program = program;
}

bool kgb_log_enabled(enum kgb_log_level level)
{
	return level <= log_state.level;
}

void kgb_log_set_hook(void (*before)(void *), void (*after)(void *), void *payload)
{
	log_state.before = before;
	log_state.after = after;
	log_state.payload = payload;
}

static const char *level_prefix(enum kgb_log_level level)
{
	switch (level) {
	case KGB_LOG_ERROR:
		return "error: ";
	case KGB_LOG_WARN:
		return "warning: ";
	case KGB_LOG_DEBUG:
		return "debug: ";
	case KGB_LOG_INFO:
	case KGB_LOG_VERBOSE:
	default:
		return "";
	}
}

/* Longer messages are cut; each byte may become four when it is escaped. */
enum { LOG_TEXT_MAX = KGB_LIMIT_LINE / 4 - 256 };

/* Narrower terminals break lines themselves. */
enum { WRAP_COLUMNS_MIN = 30, WRAP_INDENT = 4 };

/* On a terminal, lines break between words. */
static void wrap_for_terminal(struct kgb_buf *line)
{
	struct winsize size = {0};

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < WRAP_COLUMNS_MIN)
		return;
	KGB_AUTO(free) char *text = kgb_buf_take(line);
	kgb_utf8_wrap(line, text, strlen(text), size.ws_col, WRAP_INDENT);
}

/* One write per line, so that lines of several processes do not mix. Without a stderr the error has
 * no reader. */
static void write_line(enum kgb_log_level level, const char *text, size_t len)
{
	KGB_AUTO(buf) struct kgb_buf line = KGB_BUF_INIT(0);
	bool cut = len > LOG_TEXT_MAX;

	if (log_state.program)
		kgb_buf_addf(&line, "%s: ", log_state.program);
	kgb_buf_adds(&line, level_prefix(level));
	kgb_escape(&line, text, cut ? LOG_TEXT_MAX : len);
	kgb_buf_adds(&line, cut ? "..." : "");
	wrap_for_terminal(&line);
	kgb_buf_addc(&line, '\n');
	if (log_state.before)
		log_state.before(log_state.payload);
	ssize_t n = write(STDERR_FILENO, line.ptr, line.len);
	(void)n;
	if (log_state.after)
		log_state.after(log_state.payload);
}

void kgb_log(enum kgb_log_level level, const char *fmt, ...)
{
	va_list ap;

	if (!kgb_log_enabled(level))
		return;
	va_start(ap, fmt);
	KGB_AUTO(free) char *text = kgb_xvasprintf(fmt, ap);
	va_end(ap);
	write_line(level, text, strlen(text));
}

void kgb_log_err(const struct kgb_err *err)
{
	kgb_log(KGB_LOG_ERROR, "%s", err->msg);
	for (uint32_t i = 0; i < err->depth && i < KGB_ARRAY_LEN(err->trace); i++)
		kgb_log(KGB_LOG_DEBUG, "at %s:%d", err->trace[i].file, err->trace[i].line);
}
