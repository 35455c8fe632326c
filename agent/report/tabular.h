/* SPDX-License-Identifier: MIT */
/** \file
 * A table of figures, written for the eye, as Markdown, as CSV or as JSON. A cell has two forms: a
 * value for programs and a text for people, so that no format is a second implementation.
 */
#ifndef KGB_AGENT_REPORT_TABULAR_H
#define KGB_AGENT_REPORT_TABULAR_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/report/styled.h"
#include "base/buf.h"
#include "base/formats/jsonw.h"
#include "base/mem.h"
#include "base/vec.h"

struct kgb_table_column {
	const char *key; /* member of JSON, head of CSV */
	const char *title; /* for people; NULL: text for people omits the column */
	const char *part; /* heading of the part of the table that has it; NULL: each part has it.
			     Columns of one part stand together */
};

struct kgb_table_cell {
	const char *text; /* for people; in the table's arena */
	const char *word; /* value, where it is no number; NULL: `number` is the value */
	double number; /* NaN: unknown */
	enum kgb_style style; /* on a terminal, where the table is in colour */
};

struct kgb_table {
	const struct kgb_table_column *columns; /* borrowed */
	size_t n_columns;
	const char *const *dispensable; /* keys of columns that a narrow terminal omits, the first
					   one first; NULL ends the list; borrowed; NULL: none */
	bool color; /* on a terminal that shows the styles of cells */
	KGB_VEC(struct kgb_table_cell) cells; /* row by row */
	struct kgb_arena arena;
};
#define KGB_TABLE(columns_of)                                                    \
	{                                                                        \
		.columns = (columns_of), .n_columns = KGB_ARRAY_LEN(columns_of), \
		.arena = KGB_ARENA_INIT                                          \
	}

/** Add a cell, from left to right, row after row; the text is copied. NULL: unknown. */
void kgb_table_word(struct kgb_table *table, const char *word);
/** A number, and its format for people (printf). NaN: unknown, printed as "-". */
void kgb_table_number(struct kgb_table *table, double value, const char *format, ...)
	KGB_PRINTF(3, 4);

/** Give the last cell a style. */
void kgb_table_style(struct kgb_table *table, enum kgb_style style);

void kgb_table_count(struct kgb_table *table, size_t n);
/** A share as percent, "-" for NaN. */
void kgb_table_share(struct kgb_table *table, double share);
/** Three cells: a share with its bounds, printed for people as "43.3 [27.4, 60.8]". */
void kgb_table_interval(struct kgb_table *table, double share, double low, double high);
void kgb_table_speedup(struct kgb_table *table, double speedup);
void kgb_table_tokens(struct kgb_table *table, double tokens);
/** A duration, printed for people as "5 m 57 s". */
void kgb_table_seconds(struct kgb_table *table, double seconds);

size_t kgb_table_n_rows(const struct kgb_table *table);

/** Append the table for a terminal: columns of numbers flush right, one block for each part with
 * its heading. Where rows are wider than `width` (0: unlimited), dispensable columns are left out,
 * then the first column is cut with "~". */
void kgb_table_text(const struct kgb_table *table, size_t width, struct kgb_buf *out);
/** Append a literal text as Markdown: characters with a meaning in Markdown or HTML are escaped,
 * line breaks too. */
void kgb_markdown_add(struct kgb_buf *out, const char *text);
/** Append it as Markdown, one table for each part. */
void kgb_table_markdown(const struct kgb_table *table, struct kgb_buf *out);
/** Append it as one table by RFC 4180: a line of keys, then the values; an unknown one is empty.
 * Characters that drive a terminal are escaped as in the other tables, line breaks too, so that
 * each row is one line. A word that a spreadsheet would take for a formula gets a ' before it. */
void kgb_table_csv(const struct kgb_table *table, struct kgb_buf *out);
/** Write an array of objects with all columns; an unknown value is null. */
void kgb_table_json(const struct kgb_table *table, struct kgb_jsonw *w);
void kgb_table_release(struct kgb_table *table);
void kgb_auto_table(struct kgb_table *table);

#endif
