/* SPDX-License-Identifier: MIT */
#include "agent/cli/cmd.h"
#include "agent/cli/shared_options.h"
#include "base/codes.h"
#include "base/formats/jsonw.h"
#include "methods/method.h"
#include "verify/cases/cases.h"

/* The number of cases of each tier that decide on correctness. */
static int count_tiers(const struct kgb_spec *spec, size_t out[KGB_N_TIERS], struct kgb_err *err)
{
	struct kgb_cases cases;
	if (kgb_cases_expand(spec, NULL, &cases, err) < 0)
		return -1;
	for (size_t i = 0; i < cases.n; i++)
		out[cases.items[i].tier]++;
	kgb_cases_release(&cases);
	return 0;
}

static void add_spec(struct kgb_jsonw *w, const struct kgb_spec *spec, const size_t n[KGB_N_TIERS])
{
	kgb_jsonw_put(w,
		      "{name: %s, safe_name: %s, source: %s, category: %s, summary: %s, spec: %s, "
		      "spec_sha256: %s, dtypes: [",
		      spec->name, spec->safe_name, spec->source, spec->category, spec->summary,
		      spec->path, spec->sha256);
	for (size_t i = 0; i < spec->dtypes.n; i++)
		kgb_jsonw_str(w, spec->dtypes.items[i]);
	kgb_jsonw_put(w, "], interfaces: [");
	for (size_t i = 0; i < spec->n_interfaces; i++) {
		kgb_jsonw_put(w, "{entry: %s, schema: %s}", spec->interfaces[i].entry,
			      spec->interfaces[i].schema);
	}
	kgb_jsonw_put(w, "], cases: {core: %zu, edge: %zu}}", n[KGB_TIER_CORE], n[KGB_TIER_EDGE]);
}

static int wider(int width, const char *text)
{
	const int own = (int)strlen(text);
	return own > width ? own : width;
}

static int widest(const struct kgb_strv *names)
{
	int width = 0;
	for (size_t i = 0; i < names->n; i++)
		width = wider(width, names->items[i]);
	return width;
}

static void print_spec(const struct kgb_spec *spec, int width, const size_t n[KGB_N_TIERS],
		       bool more, struct kgb_buf *out)
{
	kgb_buf_addf(out, "%-*s  %2zu interface%s  %s\n", width, spec->name, spec->n_interfaces,
		     spec->n_interfaces == 1 ? " " : "s", spec->summary ? spec->summary : "");
	if (!more)
		return;
	int entry_width = 0;
	for (size_t i = 0; i < spec->n_interfaces; i++)
		entry_width = wider(entry_width, spec->interfaces[i].entry);
	kgb_buf_adds(out, "    types");
	for (size_t i = 0; i < spec->dtypes.n; i++)
		kgb_buf_addf(out, " %s", spec->dtypes.items[i]);
	kgb_buf_addc(out, '\n');
	for (size_t i = 0; i < spec->n_interfaces; i++)
		kgb_buf_addf(out, "    def %-*s  %s\n", entry_width, spec->interfaces[i].entry,
			     spec->interfaces[i].schema);
	kgb_buf_addf(out, "    cases %zu core, %zu edge\n", n[KGB_TIER_CORE], n[KGB_TIER_EDGE]);
	kgb_buf_addf(out, "    spec %s\n", spec->path);
}

static int list_operators(struct kgb_cli *cli, struct kgb_buf *out, struct kgb_err *err)
{
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;
	KGB_AUTO(strv) struct kgb_strv paths = KGB_STRV_INIT;
	if (kgb_cli_operators(cli, &names, &paths, err) < 0)
		return -1;
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, out, 2);
	if (cli->flags.json)
		kgb_jsonw_array(&w);
	for (size_t i = 0; i < names.n; i++) {
		struct kgb_spec spec;
		if (kgb_spec_load(paths.items[i], &spec, err) < 0)
			return -1;
		size_t n[KGB_N_TIERS] = {0};
		const bool more = cli->flags.json || cli->flags.verbose > 0;
		if (more && count_tiers(&spec, n, err) < 0)
			return -1;
		if (cli->flags.json)
			add_spec(&w, &spec, n);
		else
			print_spec(&spec, widest(&names), n, cli->flags.verbose > 0, out);
		kgb_spec_release(&spec);
	}
	if (cli->flags.json) {
		kgb_jsonw_array_end(&w);
		kgb_buf_addc(out, '\n');
	}
	return 0;
}

static int list_methods(const struct kgb_cli *cli, struct kgb_buf *out, struct kgb_err *err)
{
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;
	if (kgb_method_names(cli->data_dir, &names, err) < 0)
		return -1;
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, out, 2);
	if (cli->flags.json)
		kgb_jsonw_array(&w);
	for (size_t i = 0; i < names.n; i++) {
		struct kgb_method method = {0};
		if (kgb_method_load(cli->data_dir, names.items[i], &method, err) < 0)
			return -1;
		if (cli->flags.json) {
			kgb_jsonw_put(
				&w,
				"{name: %s, cli: %s, verify_tool: %hhd, verify_timing: %hhd, rounds: %ld, "
				"summary: %s}",
				method.name, method.cli, method.verify_tool, method.verify_timing,
				method.loop.iterations > 0 ? method.loop.iterations : 1,
				method.summary);
		} else {
			kgb_buf_addf(out, "%-*s  %s\n", widest(&names), method.name,
				     method.summary ? method.summary : "");
		}
		kgb_method_release(&method);
	}
	if (cli->flags.json) {
		kgb_jsonw_array_end(&w);
		kgb_buf_addc(out, '\n');
	}
	return 0;
}

/* Print Markdown, which is readable in a terminal too: the output is docs/codes.md. */
static void print_codes(struct kgb_buf *out)
{
	kgb_buf_adds(
		out,
		"# Codes\n"
		"\n"
		"A verdict, an attempt and an operator end with one of these codes. This page is "
		"`kgb-agent list --codes`; the source is\n"
		"`base/codes.h`. *Status* is what the code leads to, *blame* who is at fault, and "
		"*again* marks what is tried once more.\n"
		"\n"
		"| code | status | blame | again | meaning |\n"
		"|---|---|---|---|---|\n");
	for (int code = KGB_CODE_NONE + 1; code < KGB_N_CODES; code++) {
		const struct kgb_code_row *row = kgb_code_row((enum kgb_code)code);
		kgb_buf_addf(out, "| `%s` | %s | %s | %s | %s |\n", row->name,
			     row->status ? kgb_status_name(row->status) : "-",
			     kgb_blame_name(row->blame), row->is_tried_again ? "yes" : "-",
			     row->sentence);
	}
}

static void write_codes(struct kgb_buf *out)
{
	struct kgb_jsonw w;

	kgb_jsonw_init(&w, out, 2);
	kgb_jsonw_array(&w);
	for (int code = KGB_CODE_NONE + 1; code < KGB_N_CODES; code++) {
		const struct kgb_code_row *row = kgb_code_row((enum kgb_code)code);
		kgb_jsonw_put(&w,
			      "{code: %s, status: %s, blame: %s, tried_again: %hhd, meaning: %s}",
			      row->name, kgb_status_name(row->status),
			      row->blame ? kgb_blame_name(row->blame) : NULL, row->is_tried_again,
			      row->sentence);
	}
	kgb_jsonw_array_end(&w);
	kgb_buf_addc(out, '\n');
}

static int list_codes(const struct kgb_cli *cli)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);

	if (cli->flags.json)
		write_codes(&text);
	else
		print_codes(&text);
	return kgb_cli_print(&text, KGB_EXIT_OK);
}

static int list(struct kgb_cli *cli)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	if (cli->flags.codes)
		return list_codes(cli);
	int rc = cli->flags.methods ? list_methods(cli, &text, &err)
				    : list_operators(cli, &text, &err);
	if (rc < 0)
		return kgb_cli_fail(&err, KGB_EXIT_USAGE);
	return kgb_cli_print(&text, KGB_EXIT_OK);
}

static const struct kgb_opt options[] = {
	KGB_OPTION_DATASET,
	KGB_OPTIONS_OF_SELECTION,
	KGB_OPTION_RUNS_DIR,
	KGB_OPTION_OF_FLAG("methods", 0, FLAG, methods, NULL, "list methods instead of operators"),
	KGB_OPTION_OF_FLAG("codes", 0, FLAG, codes, NULL,
			   "list the codes that verdicts and attempts end with"),
	{0},
};

static const char help[] =
	"Operators of the dataset, or those named; -v also shows their types and the functions of a kernel file.\n"
	"Names may be patterns, and @FILE has one on each line.\n"
	"\n"
	"examples:\n"
	"  kgb-agent list\n"
	"  kgb-agent list add softmax -v\n"
	"  kgb-agent list '*softmax*' --source aten\n"
	"  kgb-agent list --failed-of RUN\n"
	"  kgb-agent list --methods\n"
	"  kgb-agent list --codes\n"
	"\n"
	"exit status: 0, 2 usage\n";

const struct kgb_command kgb_list_command = {
	.usage = {.name = "list",
		  .positional = "[OPERATOR...]",
		  .max_positional = SIZE_MAX,
		  .summary = "Show operators, methods or codes",
		  .help = help,
		  .options = options},
	.run = list,
};
