/* SPDX-License-Identifier: MIT */
/** \file
 * `watch [RUN]`: follows a run from another terminal.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "agent/cli/cmd.h"
#include "agent/cli/shared_options.h"
#include "agent/follow/followed.h"
#include "agent/follow/full_screen.h"
#include "agent/report/progress.h"
#include "agent/report/terminal.h"
#include "agent/screen/block.h"
#include "agent/screen/event_line.h"
#include "agent/store/series.h"
#include "base/formats/jsonw.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/system/fs.h"
#include "base/time.h"

#define POLL_MS 200
#define DEFAULT_COLUMNS 80
/* Of a process that ended without recording it, as the shell has it for SIGKILL. */
#define EXIT_CUT_OFF 137

static volatile sig_atomic_t signal_seen;

static void on_signal(int signo)
{
	signal_seen = signo;
}

/** ncurses gives the terminal back, before the signal has its effect. */
static void catch_signals(void)
{
	static const int signos[] = {SIGINT, SIGTERM, SIGHUP};
	const struct sigaction action = {.sa_handler = on_signal};
	for (size_t i = 0; i < KGB_ARRAY_LEN(signos); i++)
		sigaction(signos[i], &action, NULL);
}

static void lay(const struct kgb_followed *followed, size_t rows, struct kgb_styled *out)
{
	struct kgb_forecast forecast;
	const struct kgb_block_view view = {
		.rows = rows, .now_ms = kgb_wall_ms(), .forecast = &forecast};
	kgb_forecast(&followed->shown, view.now_ms, &forecast);
	kgb_block_lay(&followed->shown, &view, out);
}

/** -1: stdout takes no more, which is no fault where a reader has gone. */
static int print(const struct kgb_buf *text, int *exit_code)
{
	struct kgb_err err = KGB_ERR_INIT;
	if (kgb_fs_write_all(STDOUT_FILENO, text->ptr, text->len, &err) == 0)
		return 0;
	*exit_code = err.code == EPIPE ? KGB_EXIT_OK : kgb_cli_fail(&err, KGB_EXIT_INTERNAL);
	return -1;
}

/** On a terminal as much as it shows at once, elsewhere all. */
static int print_block(const struct kgb_followed *followed, int *exit_code)
{
	size_t rows = 0, columns = 0;
	kgb_terminal_size(STDOUT_FILENO, &rows, &columns);
	KGB_AUTO(styled)
	struct kgb_styled block = KGB_STYLED(columns > 0 ? columns : DEFAULT_COLUMNS);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	lay(followed, rows > 1 ? rows - 1 : SIZE_MAX, &block);
	kgb_styled_print_all(&block,
			     kgb_terminal_is_capable(STDOUT_FILENO) && kgb_terminal_allows_color(),
			     &text);
	return print(&text, exit_code);
}

/** The exit status of the run, or the worst of the series; 0 while a process works on them. */
static int status_of(const struct kgb_cli *cli, const struct kgb_followed *followed)
{
	int exit_code = KGB_EXIT_OK;
	if (kgb_followed_is_held(followed))
		return exit_code;
	if (kgb_followed_is_cut_off(followed)) {
		const char *what = followed->shown.name ? "series" : "run";
		KGB_AUTO(free) char *name = kgb_series_run_name(followed->path);
		KGB_AUTO(free) char *word = kgb_cli_run_word(cli, followed->path);
		kgb_warn(
			"%s '%s' was cut off: it has no end, and no process works on it; continue with: kgb-agent resume %s",
			what, name, word);
		return EXIT_CUT_OFF;
	}
	for (size_t i = 0; i < followed->n; i++)
		if (followed->runs[i].state.exit_code > exit_code)
			exit_code = followed->runs[i].state.exit_code;
	return exit_code;
}

/* ---- one document ---- */

static void put_remaining(struct kgb_jsonw *w, const char *key, const struct kgb_remaining *r,
			  double scale)
{
	kgb_jsonw_key(w, key);
	kgb_jsonw_put(w, "{median: %g, low: %g, high: %g}", r->median * scale, r->low * scale,
		      r->high * scale);
}

static void put_run(struct kgb_jsonw *w, const struct kgb_followed_run *run)
{
	KGB_AUTO(buf) struct kgb_buf progress = KGB_BUF_INIT(0);
	kgb_progress_render(&run->state, &progress);
	kgb_jsonw_put(w, "{run: %s, path: %s, is_held: %hhd, is_cut_off: %hhd, progress:",
		      run->dir.name, run->dir.path, run->is_held, kgb_followed_run_is_cut_off(run));
	kgb_jsonw_raw(w, progress.ptr);
	kgb_jsonw_object_end(w);
}

static int print_json(const struct kgb_cli *cli, const struct kgb_followed *followed)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	struct kgb_forecast forecast;
	struct kgb_jsonw w;
	kgb_forecast(&followed->shown, kgb_wall_ms(), &forecast);
	kgb_jsonw_init(&w, &text, 2);
	kgb_jsonw_put(
		&w, "{schema: 'kgb.watch/1', path: %s, status: %s, is_held: %hhd, is_cut_off: %hhd",
		followed->path, kgb_shown_status(&followed->shown), kgb_followed_is_held(followed),
		kgb_followed_is_cut_off(followed));
	put_remaining(&w, "seconds_left", &forecast.ms, 1e-3);
	kgb_jsonw_put(&w, "cost_usd: %g", forecast.usd_spent);
	put_remaining(&w, "cost_usd_in_all", &forecast.usd, 1);
	kgb_jsonw_put(&w, "runs: [");
	for (size_t i = 0; i < followed->n; i++)
		put_run(&w, &followed->runs[i]);
	kgb_jsonw_put(&w, "]}");
	kgb_buf_addc(&text, '\n');
	return kgb_cli_print(&text, status_of(cli, followed));
}

/* ---- plain lines ---- */

struct plain {
	bool is_series; /* a line begins with the label of its run */
	int exit_code;
	bool is_over; /* stdout takes no more */
};

static void on_event(void *payload, const struct kgb_followed_run *run,
		     const struct kgb_op_state *op, const char *type)
{
	struct plain *plain = payload;
	struct kgb_event_line line;
	KGB_AUTO(buf) struct kgb_buf raw = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	if (plain->is_over || !kgb_event_line_make(&run->state, op, type, &line))
		return;
	if (plain->is_series)
		kgb_buf_addf(&raw, "%s ", run->dir.name);
	kgb_event_line_print(&line, &raw);
	kgb_event_line_release(&line);
	kgb_escape(&text, raw.ptr, raw.len);
	kgb_buf_addc(&text, '\n');
	plain->is_over = print(&text, &plain->exit_code) < 0;
}

/** Whether the reader of stdout has gone while we waited. */
static bool wait_or_lose_reader(void)
{
	struct pollfd reader = {.fd = STDOUT_FILENO};
	return poll(&reader, 1, POLL_MS) > 0;
}

/** The block, a line for each event from now on, and the block at the end. */
static int follow_plainly(const struct kgb_cli *cli, struct kgb_followed *followed)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct plain plain = {.is_series = followed->shown.name != NULL};
	plain.is_over = print_block(followed, &plain.exit_code) < 0;
	const bool has_news = kgb_followed_is_held(followed);
	while (kgb_followed_is_held(followed) && !plain.is_over && !signal_seen) {
		plain.is_over = wait_or_lose_reader();
		if (kgb_followed_read(followed, on_event, &plain, &err) < 0)
			return kgb_cli_fail(&err, KGB_EXIT_USAGE);
	}
	if (plain.is_over ||
	    (has_news && !signal_seen && print_block(followed, &plain.exit_code) < 0))
		return plain.exit_code;
	return signal_seen ? 128 + (int)signal_seen : status_of(cli, followed);
}

/* ---- the whole terminal ---- */

static void draw(const struct kgb_followed *followed)
{
	size_t rows = 0, columns = 0;
	kgb_full_screen_size(&rows, &columns);
	KGB_AUTO(styled) struct kgb_styled block = KGB_STYLED(columns);
	lay(followed, rows > 1 ? rows - 1 : 1, &block);
	kgb_full_screen_draw(&block, rows == 1              ? ""
				     : followed->shown.name ? "q leaves; the series goes on"
							    : "q leaves; the run goes on");
}

/** Until nothing works on the runs or the user leaves: whether the user did. */
static int follow_on_screen(struct kgb_followed *followed, bool *left, struct kgb_err *err)
{
	enum kgb_full_screen_wake wake = KGB_FULL_SCREEN_SIZE;
	int64_t drawn_second = 0, n_drawn = 0;
	while (kgb_followed_is_held(followed) && wake != KGB_FULL_SCREEN_LEAVE && !signal_seen) {
		const int64_t second = kgb_wall_ms() / 1000;
		const int64_t n_records = kgb_followed_n_records(followed);
		if (wake == KGB_FULL_SCREEN_SIZE || second != drawn_second || n_records != n_drawn)
			draw(followed);
		drawn_second = second;
		n_drawn = n_records;
		wake = kgb_full_screen_wait(POLL_MS);
		if (kgb_followed_read(followed, NULL, NULL, err) < 0)
			return -1;
	}
	*left = wake == KGB_FULL_SCREEN_LEAVE;
	return 0;
}

/** The terminal keeps what was seen last. */
static int leave_screen(const struct kgb_cli *cli, struct kgb_followed *followed, int rc, bool left,
			const struct kgb_err *err)
{
	int exit_code = KGB_EXIT_OK;
	kgb_full_screen_close();
	if (rc < 0)
		return kgb_cli_fail(err, KGB_EXIT_USAGE);
	if (signal_seen == SIGHUP)
		return 128 + SIGHUP; /* the terminal is gone */
	if (print_block(followed, &exit_code) < 0)
		return exit_code;
	if (signal_seen)
		return 128 + (int)signal_seen;
	return left ? KGB_EXIT_OK : status_of(cli, followed);
}

static int follow(const struct kgb_cli *cli, struct kgb_followed *followed)
{
	struct kgb_err err = KGB_ERR_INIT;
	bool left = false;
	catch_signals();
	if (!kgb_full_screen_open())
		return follow_plainly(cli, followed);
	const int rc = follow_on_screen(followed, &left, &err);
	return leave_screen(cli, followed, rc, left, &err);
}

static int watch(struct kgb_cli *cli)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_followed followed;
	const char *name = cli->operators.n > 0 ? cli->operators.items[0] : NULL;
	KGB_AUTO(free) char *runs = kgb_config_runs(&cli->config);
	int exit_code = KGB_EXIT_OK;
	if (kgb_followed_open(&followed, runs, name, &err) < 0)
		return kgb_cli_fail(&err, KGB_EXIT_USAGE);
	if (cli->flags.json) {
		exit_code = print_json(cli, &followed);
	} else if (cli->flags.once || !kgb_followed_is_held(&followed)) {
		if (print_block(&followed, &exit_code) == 0)
			exit_code = status_of(cli, &followed);
	} else {
		exit_code = follow(cli, &followed);
	}
	kgb_followed_release(&followed);
	return exit_code;
}

static const struct kgb_opt options[] = {
	KGB_OPTION_OF_FLAG("once", 0, FLAG, once, NULL,
			   "print the present state of the run, and end"),
	KGB_OPTION_RUNS_DIR,
	{0},
};

static const char help[] =
	"Follows a run or a series from another terminal until it ends: a bar, the time that is left and the cost, each with its\n"
	"range, the runs of a series, the operators that did not pass, and those that are worked on. It disturbs no run; q or\n"
	"Ctrl-C leaves the run alone. Without a terminal, or with TERM=dumb, each event is a line. Without RUN: the latest,\n"
	"with its series.\n"
	"\n"
	"examples:\n"
	"  kgb-agent watch\n"
	"  kgb-agent watch runs/normal_cc_KernelGenBench_20261121T080000Z_0a1b --once\n"
	"  kgb-agent watch series_KernelGenBench_20261121T080000Z_0a1b\n"
	"  ssh -t machine kgb-agent watch --runs-dir /data/runs\n"
	"\n"
	"exit status: of the run when it ends (of a series the worst); 0 when you leave, or --once shows a run that goes on; 137\n"
	"when its process left no record of its end (kill -9, loss of power); 130 after Ctrl-C; 2 usage, or the run was removed\n";

const struct kgb_command kgb_watch_command = {
	.usage = {.name = "watch",
		  .positional = "[RUN]",
		  .max_positional = 1,
		  .summary = "Follow a run or series from another terminal",
		  .help = help,
		  .options = options},
	.one = "run",
	.run = watch,
};
