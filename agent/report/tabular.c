/* SPDX-License-Identifier: MIT */
#include "agent/report/tabular.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "agent/report/common.h"
#include "base/formats/json.h"
#include "base/str.h"

#define GAP 2
#define CUT_MIN 12 /* columns that a cut first column keeps */
#define UNKNOWN "-"

void kgb_table_word(struct kgb_table *table, const char *word)
{
	const char *kept = word ? kgb_arena_strdup(&table->arena, word) : NULL;
	KGB_VEC_ADD(&table->cells, (struct kgb_table_cell){.text = kept ? kept : UNKNOWN,
							   .word = kept,
							   .number = (double)NAN});
}

void kgb_table_number(struct kgb_table *table, double value, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	KGB_AUTO(free) char *text = kgb_xvasprintf(format, args);
	va_end(args);
	KGB_VEC_ADD(&table->cells,
		    (struct kgb_table_cell){
			    .text = isnan(value) ? UNKNOWN : kgb_arena_strdup(&table->arena, text),
			    .number = value});
}

void kgb_table_style(struct kgb_table *table, enum kgb_style style)
{
	KGB_ASSERT(table->cells.n > 0);
	table->cells.items[table->cells.n - 1].style = style;
}

size_t kgb_table_n_rows(const struct kgb_table *table)
{
	return table->cells.n / table->n_columns;
}

static const struct kgb_table_cell *cell_at(const struct kgb_table *table, size_t row,
					    size_t column)
{
	return &table->cells.items[row * table->n_columns + column];
}

/* ---- for people ---- */

/** The columns of one part; a column that no row has a value for is left out. */
struct view {
	const struct kgb_table *table;
	const char *heading; /* NULL: the table has one part */
	size_t columns[32], widths[32], n;
	bool right[32];
};

static bool is_known(const struct kgb_table *table, size_t column)
{
	for (size_t row = 0; row < kgb_table_n_rows(table); row++) {
		const struct kgb_table_cell *cell = cell_at(table, row, column);
		if (cell->word || !isnan(cell->number))
			return true;
	}
	return false;
}

static size_t columns_of(const char *text)
{
	KGB_AUTO(buf) struct kgb_buf clean = KGB_BUF_INIT(0);
	return kgb_report__cut(&clean, text, SIZE_MAX);
}

static void add_column(struct view *view, size_t column)
{
	const struct kgb_table *table = view->table;
	size_t width = columns_of(table->columns[column].title);
	bool right = true;
	for (size_t row = 0; row < kgb_table_n_rows(table); row++) {
		const struct kgb_table_cell *cell = cell_at(table, row, column);
		const size_t wide = columns_of(cell->text);
		width = wide > width ? wide : width;
		right = right && !cell->word;
	}
	KGB_ASSERT(view->n < KGB_ARRAY_LEN(view->columns));
	view->columns[view->n] = column;
	view->widths[view->n] = width;
	view->right[view->n++] = right;
}

/** The part with this heading. Returns whether a column belongs to it alone. */
static bool make_view(const struct kgb_table *table, const char *heading, struct view *view)
{
	bool found = !heading;
	*view = (struct view){.table = table, .heading = heading};
	for (size_t i = 0; i < table->n_columns; i++) {
		const struct kgb_table_column *column = &table->columns[i];
		const bool own = column->part && kgb_str_eq(column->part, heading);
		if (!column->title || (column->part && !own) || !is_known(table, i))
			continue;
		found = found || own;
		add_column(view, i);
	}
	return found && view->n > 0;
}

/** Call `write` for each part. */
static void for_each_view(const struct kgb_table *table, size_t width,
			  void (*write)(struct view *view, size_t width, struct kgb_buf *out),
			  struct kgb_buf *out)
{
	const char *heading = NULL;
	bool has_parts = false;
	struct view view;
	const size_t before = out->len;
	for (size_t i = 0; i < table->n_columns; i++) {
		const char *part = table->columns[i].part;
		if (!part || kgb_str_eq(part, heading))
			continue;
		heading = part;
		has_parts = true;
		if (!make_view(table, part, &view))
			continue;
		if (out->len > before)
			kgb_buf_addc(out, '\n');
		write(&view, width, out);
	}
	if (!has_parts && make_view(table, NULL, &view))
		write(&view, width, out);
}

static size_t width_of(const struct view *view)
{
	size_t total = 0;
	for (size_t i = 0; i < view->n; i++)
		total += view->widths[i] + (i > 0 ? GAP : 0);
	return total;
}

/** Leave out a column of the table, if the view has it. */
static void drop_column(struct view *view, const char *key)
{
	size_t n = 0;
	for (size_t i = 0; i < view->n; i++) {
		if (kgb_str_eq(view->table->columns[view->columns[i]].key, key))
			continue;
		view->columns[n] = view->columns[i];
		view->widths[n] = view->widths[i];
		view->right[n++] = view->right[i];
	}
	view->n = n;
}

static void fit(struct view *view, size_t width)
{
	const char *const *key = view->table->dispensable;
	for (; key && *key && width_of(view) > width; key++)
		drop_column(view, *key);
	const size_t total = width_of(view), over = total > width ? total - width : 0;
	const size_t most = view->widths[0] > CUT_MIN ? view->widths[0] - CUT_MIN : 0;
	view->widths[0] -= over < most ? over : most;
}

/** Blanks are written before the next cell, so that no line ends in blanks. */
static size_t add_padded(const struct view *view, size_t i, const char *text, const char *ansi,
			 size_t owed, struct kgb_buf *out)
{
	const size_t width = view->widths[i];
	KGB_AUTO(buf) struct kgb_buf clean = KGB_BUF_INIT(0);
	const size_t used = kgb_report__cut(&clean, text, width);
	kgb_buf_addf(out, "%*s%s", (int)(owed + (view->right[i] ? width - used : 0)), "", ansi);
	kgb_buf_add(out, clean.ptr, clean.len);
	kgb_buf_adds(out, *ansi ? "\033[0m" : "");
	return GAP + (view->right[i] ? 0 : width - used);
}

static void write_text(struct view *view, size_t width, struct kgb_buf *out)
{
	const struct kgb_table *table = view->table;
	size_t owed = 0;
	if (width > 0)
		fit(view, width);
	if (view->heading)
		kgb_buf_addf(out, "%s\n", view->heading);
	for (size_t i = 0; i < view->n; i++)
		owed = add_padded(view, i, table->columns[view->columns[i]].title, "", owed, out);
	kgb_buf_addc(out, '\n');
	for (size_t row = 0; row < kgb_table_n_rows(table); row++) {
		owed = 0;
		for (size_t i = 0; i < view->n; i++) {
			const struct kgb_table_cell *cell = cell_at(table, row, view->columns[i]);
			owed = add_padded(view, i, cell->text,
					  table->color ? kgb_style_ansi(cell->style) : "", owed,
					  out);
		}
		kgb_buf_addc(out, '\n');
	}
}

void kgb_table_text(const struct kgb_table *table, size_t width, struct kgb_buf *out)
{
	for_each_view(table, width, write_text, out);
}

void kgb_markdown_add(struct kgb_buf *out, const char *text)
{
	KGB_AUTO(buf) struct kgb_buf clean = KGB_BUF_INIT(0);
	kgb_escape(&clean, text, strlen(text));
	for (const char *at = clean.ptr; *at; at++) {
		if (strchr("|\\`*_<[", *at))
			kgb_buf_addc(out, '\\');
		kgb_buf_addc(out, *at);
	}
}

static void write_markdown(struct view *view, size_t width, struct kgb_buf *out)
{
	(void)width;
	if (view->heading)
		kgb_buf_addf(out, "%s:\n\n", view->heading);
	for (size_t i = 0; i < view->n; i++)
		kgb_buf_addf(out, "| %s ", view->table->columns[view->columns[i]].title);
	kgb_buf_adds(out, "|\n");
	for (size_t i = 0; i < view->n; i++)
		kgb_buf_adds(out, view->right[i] ? "|--:" : "|---");
	kgb_buf_adds(out, "|\n");
	for (size_t row = 0; row < kgb_table_n_rows(view->table); row++) {
		for (size_t i = 0; i < view->n; i++) {
			kgb_buf_adds(out, "| ");
			kgb_markdown_add(out, cell_at(view->table, row, view->columns[i])->text);
			kgb_buf_addc(out, ' ');
		}
		kgb_buf_adds(out, "|\n");
	}
}

void kgb_table_markdown(const struct kgb_table *table, struct kgb_buf *out)
{
	for_each_view(table, 0, write_markdown, out);
}

/* ---- for programs ---- */

static void add_csv(struct kgb_buf *out, const char *word)
{
	KGB_AUTO(buf) struct kgb_buf clean = KGB_BUF_INIT(0);
	kgb_escape(&clean, word, strlen(word));
	const bool is_formula = *clean.ptr && strchr("=+-@", *clean.ptr);
	if (!is_formula && !strpbrk(clean.ptr, ",\"")) {
		kgb_buf_add(out, clean.ptr, clean.len);
		return;
	}
	kgb_buf_adds(out, is_formula ? "\"'" : "\"");
	for (const char *at = clean.ptr; *at; at++) {
		if (*at == '"')
			kgb_buf_addc(out, '"');
		kgb_buf_addc(out, *at);
	}
	kgb_buf_addc(out, '"');
}

void kgb_table_csv(const struct kgb_table *table, struct kgb_buf *out)
{
	char number[KGB_JSON_NUM_LEN];
	KGB_ASSERT(table->n_columns > 0);
	for (size_t i = 0; i < table->n_columns; i++)
		kgb_buf_addf(out, "%s%s", i > 0 ? "," : "", table->columns[i].key);
	kgb_buf_adds(out, "\n");
	for (size_t i = 0; i < table->cells.n; i++) {
		const struct kgb_table_cell *cell = &table->cells.items[i];
		if (cell->word)
			add_csv(out, cell->word);
		else if (isfinite(cell->number))
			kgb_buf_adds(out, kgb_json_format_num(cell->number, number));
		kgb_buf_addc(out, (i + 1) % table->n_columns == 0 ? '\n' : ',');
	}
}

void kgb_table_json(const struct kgb_table *table, struct kgb_jsonw *w)
{
	kgb_jsonw_array(w);
	for (size_t row = 0; row < kgb_table_n_rows(table); row++) {
		kgb_jsonw_object(w);
		for (size_t i = 0; i < table->n_columns; i++) {
			const struct kgb_table_cell *cell = cell_at(table, row, i);
			kgb_jsonw_key(w, table->columns[i].key);
			if (cell->word)
				kgb_jsonw_str(w, cell->word);
			else
				kgb_jsonw_num(w, cell->number);
		}
		kgb_jsonw_object_end(w);
	}
	kgb_jsonw_array_end(w);
}

void kgb_table_release(struct kgb_table *table)
{
	KGB_VEC_RELEASE(&table->cells);
	kgb_arena_release(&table->arena);
}

void kgb_auto_table(struct kgb_table *table)
{
	kgb_table_release(table);
}
