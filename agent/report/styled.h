/* SPDX-License-Identifier: MIT */
/** \file
 * Lines of styled text of a fixed width. They are laid out once and drawn with escape sequences, as
 * plain text, or by ncurses. A style only repeats what the words state. */
#ifndef KGB_AGENT_REPORT_STYLED_H
#define KGB_AGENT_REPORT_STYLED_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/store/state.h"
#include "base/buf.h"
#include "base/vec.h"

enum kgb_style {
	KGB_STYLE_PLAIN,
	KGB_STYLE_STRONG,
	KGB_STYLE_FAINT,
	KGB_STYLE_LIVE,
	KGB_STYLE_GOOD,
	KGB_STYLE_BAD,
	KGB_STYLE_CHEAT,
	KGB_N_STYLES,
};
enum kgb_style kgb_style_of_status(enum kgb_op_status status);
/** The escape sequence that begins it; "" for plain. "\033[0m" ends it. */
const char *kgb_style_ansi(enum kgb_style style);

struct kgb_styled_span {
	size_t line;
	size_t start, len; /* in the text */
	enum kgb_style style;
};

struct kgb_styled {
	size_t width; /* columns of a line at most */
	struct kgb_buf text;
	KGB_VEC(struct kgb_styled_span) spans;
	KGB_VEC(size_t) columns; /* that each line takes */
};
#define KGB_STYLED(columns_of_a_line)                                 \
	{                                                             \
		.width = (columns_of_a_line), .text = KGB_BUF_INIT(0) \
	}

/** Begin a line; text that is added belongs to it. */
void kgb_styled_line(struct kgb_styled *styled);
/** Add text of any origin: escaped, and cut with "~" at the end of the line. */
void kgb_styled_add(struct kgb_styled *styled, enum kgb_style style, const char *text);
void kgb_styled_addf(struct kgb_styled *styled, enum kgb_style style, const char *format, ...)
	KGB_PRINTF(3, 4);
/** Add the text in a column of `columns`, cut or filled with blanks. */
void kgb_styled_cell(struct kgb_styled *styled, enum kgb_style style, const char *text,
		     size_t columns);
/** Add text in up to n_lines lines that begin at the present column; words stay whole. */
void kgb_styled_wrap(struct kgb_styled *styled, const char *text, size_t n_lines);
/** Columns that are left of the line. */
size_t kgb_styled_room(const struct kgb_styled *styled);

/** Append a line without its end, with escape sequences for its styles or plain. */
void kgb_styled_print(const struct kgb_styled *styled, size_t line, bool color,
		      struct kgb_buf *out);
/** Append all lines, each ended by "\n". */
void kgb_styled_print_all(const struct kgb_styled *styled, bool color, struct kgb_buf *out);
void kgb_styled_release(struct kgb_styled *styled);
void kgb_auto_styled(struct kgb_styled *styled);

#endif
