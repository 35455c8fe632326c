/* SPDX-License-Identifier: MIT */
#include "agent/report/styled.h"

#include <stdarg.h>
#include <string.h>

#include "agent/report/common.h"
#include "base/mem.h"
#include "base/str.h"

enum kgb_style kgb_style_of_status(enum kgb_op_status status)
{
	switch (status) {
	case KGB_OP_PASSED:
		return KGB_STYLE_GOOD;
	case KGB_OP_FAILED:
	case KGB_OP_REFUSED:
	case KGB_OP_TIMEOUT:
	case KGB_OP_BUDGET:
	case KGB_OP_INFRA_ERROR:
		return KGB_STYLE_BAD;
	case KGB_OP_CHEATED:
		return KGB_STYLE_CHEAT;
	case KGB_OP_RUNNING:
	case KGB_OP_RETRYING:
	case KGB_OP_VERIFYING:
	case KGB_OP_GENERATED:
		return KGB_STYLE_LIVE;
	case KGB_OP_PLANNED:
	case KGB_OP_CANCELLED:
		return KGB_STYLE_FAINT;
	case KGB_OP_N_STATUSES:
		break;
	}
	KGB_UNREACHABLE();
}

const char *kgb_style_ansi(enum kgb_style style)
{
	static const char *const codes[KGB_N_STYLES] = {
		[KGB_STYLE_PLAIN] = "",         [KGB_STYLE_STRONG] = "\033[1m",
		[KGB_STYLE_FAINT] = "\033[2m",  [KGB_STYLE_LIVE] = "\033[36m",
		[KGB_STYLE_GOOD] = "\033[32m",  [KGB_STYLE_BAD] = "\033[31m",
		[KGB_STYLE_CHEAT] = "\033[35m",
	};
	return codes[style];
}

void kgb_styled_line(struct kgb_styled *styled)
{
	KGB_VEC_ADD(&styled->columns, 0);
}

static size_t *used_columns(const struct kgb_styled *styled)
{
	KGB_ASSERT(styled->columns.n > 0);
	return &styled->columns.items[styled->columns.n - 1];
}

size_t kgb_styled_room(const struct kgb_styled *styled)
{
	return styled->width - *used_columns(styled);
}

/** Returns the columns taken. */
static size_t add_cut(struct kgb_styled *styled, enum kgb_style style, const char *text,
		      size_t columns)
{
	const size_t start = styled->text.len;
	const size_t room = kgb_styled_room(styled);
	const size_t taken = kgb_report__cut(&styled->text, text, columns < room ? columns : room);
	*used_columns(styled) += taken;
	if (styled->text.len > start)
		KGB_VEC_ADD(&styled->spans,
			    (struct kgb_styled_span){styled->columns.n - 1, start,
						     styled->text.len - start, style});
	return taken;
}

void kgb_styled_add(struct kgb_styled *styled, enum kgb_style style, const char *text)
{
	add_cut(styled, style, text, styled->width);
}

void kgb_styled_addf(struct kgb_styled *styled, enum kgb_style style, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	KGB_AUTO(free) char *text = kgb_xvasprintf(format, args);
	va_end(args);
	kgb_styled_add(styled, style, text);
}

void kgb_styled_cell(struct kgb_styled *styled, enum kgb_style style, const char *text,
		     size_t columns)
{
	const size_t taken = add_cut(styled, style, text, columns);
	kgb_styled_addf(styled, KGB_STYLE_PLAIN, "%*s", (int)(columns - taken), "");
}

void kgb_styled_wrap(struct kgb_styled *styled, const char *text, size_t n_lines)
{
	const size_t room = kgb_styled_room(styled);
	const size_t indent = *used_columns(styled);
	KGB_AUTO(buf) struct kgb_buf clean = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf broken = KGB_BUF_INIT(0);
	kgb_report__cut(&clean, text, n_lines * room);
	kgb_utf8_wrap(&broken, clean.ptr, clean.len, room, 0);
	char *line = broken.ptr;
	for (size_t i = 1; line; i++) {
		char *newline = i < n_lines ? strchr(line, '\n') : NULL;
		if (newline)
			*newline = '\0';
		for (char *blank = line; (blank = strchr(blank, '\n'));)
			*blank = ' '; /* text beyond the last line is cut */
		if (i > 1) {
			kgb_styled_line(styled);
			kgb_styled_addf(styled, KGB_STYLE_PLAIN, "%*s", (int)indent, "");
		}
		kgb_styled_add(styled, KGB_STYLE_PLAIN, line);
		line = newline ? newline + 1 : NULL;
	}
}

void kgb_styled_print(const struct kgb_styled *styled, size_t line, bool color, struct kgb_buf *out)
{
	KGB_VEC_FOREACH(span, &styled->spans) {
		if (span->line != line)
			continue;
		const char *code = color ? kgb_style_ansi(span->style) : "";
		kgb_buf_adds(out, code);
		kgb_buf_add(out, styled->text.ptr + span->start, span->len);
		kgb_buf_adds(out, *code ? "\033[0m" : "");
	}
}

void kgb_styled_print_all(const struct kgb_styled *styled, bool color, struct kgb_buf *out)
{
	for (size_t i = 0; i < styled->columns.n; i++) {
		kgb_styled_print(styled, i, color, out);
		kgb_buf_addc(out, '\n');
	}
}

void kgb_styled_release(struct kgb_styled *styled)
{
	kgb_buf_release(&styled->text);
	KGB_VEC_RELEASE(&styled->spans);
	KGB_VEC_RELEASE(&styled->columns);
}

void kgb_auto_styled(struct kgb_styled *styled)
{
	kgb_styled_release(styled);
}
