/* SPDX-License-Identifier: MIT */
#include "agent/answers/sheet.h"

#include <unistd.h>

#include "agent/report/terminal.h"

int kgb_sheet_check_form(const struct kgb_cli *cli, struct kgb_err *err)
{
	if (cli->flags.json + cli->flags.csv + cli->flags.markdown > 1)
		return kgb_fail(err, KGB_ERR_INVALID, "choose one of --json, --csv and --markdown");
	return 0;
}

/** Read the runs that a word added to those found before. */
static int read_found(const struct kgb_strv *paths, const char *word, struct kgb_runs *out,
		      struct kgb_err *err)
{
	while (out->list.n < paths->n) {
		if (kgb_runs_read(out, paths->items[out->list.n], err) < 0)
			return -1;
		out->list.items[out->list.n - 1].word = word;
	}
	return 0;
}

int kgb_runs_open(struct kgb_cli *cli, struct kgb_runs *out, struct kgb_err *err)
{
	KGB_AUTO(free) char *dir = kgb_config_runs(&cli->config);
	KGB_AUTO(strv) struct kgb_strv paths = KGB_STRV_INIT;
	if (kgb_sheet_check_form(cli, err) < 0)
		return -1;
	/* Called once with NULL if there is no word: the latest run. */
	for (size_t i = 0; i == 0 || i < cli->operators.n; i++) {
		const struct kgb_strv word = {.items = cli->operators.items + i,
					      .n = cli->operators.n > 0};
		if (kgb_runs_find(dir, &word, &paths, err) < 0 ||
		    read_found(&paths, word.n > 0 ? *word.items : NULL, out, err) < 0)
			return -1;
	}
	return 0;
}

static void write_json(const struct kgb_sheet *sheet, struct kgb_buf *out)
{
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, out, 2);
	kgb_jsonw_put(&w, "{schema: %s, notes: [", sheet->schema);
	for (size_t i = 0; i < sheet->notes.n; i++)
		kgb_jsonw_str(&w, sheet->notes.items[i]);
	kgb_jsonw_array_end(&w);
	for (size_t i = 0; sheet->tables[i].member; i++) {
		kgb_jsonw_key(&w, sheet->tables[i].member);
		kgb_table_json(&sheet->tables[i].table, &w);
	}
	kgb_jsonw_object_end(&w);
	kgb_buf_addc(out, '\n');
}

static void write_notes(const struct kgb_sheet *sheet, bool markdown, struct kgb_buf *out)
{
	for (size_t i = 0; i < sheet->notes.n; i++) {
		const char *note = sheet->notes.items[i];
		if (markdown) {
			kgb_buf_adds(out, "- ");
			kgb_markdown_add(out, note);
		} else {
			kgb_escape(out, note, strlen(note));
		}
		kgb_buf_addc(out, '\n');
	}
	if (sheet->notes.n > 0)
		kgb_buf_addc(out, '\n');
}

static void write_tables(const struct kgb_sheet *sheet, bool markdown, struct kgb_buf *out)
{
	const size_t before = out->len;
	for (size_t i = 0; sheet->tables[i].member; i++) {
		const struct kgb_table *table = &sheet->tables[i].table;
		if (kgb_table_n_rows(table) == 0)
			continue;
		if (out->len > before)
			kgb_buf_addc(out, '\n');
		if (markdown)
			kgb_table_markdown(table, out);
		else
			kgb_table_text(table, kgb_terminal_width(STDOUT_FILENO), out);
	}
}

int kgb_sheet_print(const struct kgb_cli *cli, const struct kgb_sheet *sheet)
{
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	const bool markdown = cli->flags.markdown;
	if (cli->flags.json) {
		write_json(sheet, &out);
	} else if (cli->flags.csv) {
		kgb_table_csv(&sheet->tables[0].table, &out);
	} else {
		write_notes(sheet, markdown, &out);
		write_tables(sheet, markdown, &out);
	}
	return kgb_cli_print(&out, KGB_EXIT_OK);
}

void kgb_sheet_release(struct kgb_sheet *sheet)
{
	kgb_strv_release(&sheet->notes);
	for (size_t i = 0; sheet->tables[i].member; i++)
		kgb_table_release(&sheet->tables[i].table);
}

int kgb_sheet_end(const struct kgb_cli *cli, struct kgb_sheet *sheet, int rc,
		  const struct kgb_err *err)
{
	const int exit_code =
		rc < 0 ? kgb_cli_fail(err, KGB_EXIT_USAGE) : kgb_sheet_print(cli, sheet);
	kgb_sheet_release(sheet);
	return exit_code;
}
