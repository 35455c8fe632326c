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
#include "agent/follow/followed_run.h"
#include "agent/follow/full_screen.h"
#include "agent/report/progress.h"
#include "agent/report/terminal.h"
#include "agent/screen/block.h"
#include "agent/screen/event_line.h"
#include "base/formats/jsonw.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/system/fs.h"
#include "base/time.h"

#define POLL_MS 200
#define DEFAULT_COLUMNS 80
/* Of a process that ended without a word, as the shell has it for SIGKILL. */
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

static void lay(const struct kgb_followed_run *run, size_t rows, struct kgb_styled *out)
{
	struct kgb_forecast forecast;
	const struct kgb_block_view view = {.rows = rows,
					    .now_ms = kgb_wall_ms(),
					    .forecast = &forecast,
					    .is_cut_off = kgb_followed_run_is_cut_off(run)};
	kgb_forecast(&run->state, view.now_ms, &forecast);
	kgb_block_lay(&run->state, &view, out);
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
static int print_block(const struct kgb_followed_run *run, int *exit_code)
{
	size_t rows = 0, columns = 0;
	kgb_terminal_size(STDOUT_FILENO, &rows, &columns);
	KGB_AUTO(styled)
	struct kgb_styled block = KGB_STYLED(columns > 0 ? columns : DEFAULT_COLUMNS);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	lay(run, rows > 1 ? rows - 1 : SIZE_MAX, &block);
	kgb_styled_print_all(&block,
			     kgb_terminal_is_capable(STDOUT_FILENO) && kgb_terminal_allows_color(),
			     &text);
	return print(&text, exit_code);
}

/** Its own exit status; of a run that lives 0. */
static int status_of(const struct kgb_followed_run *run)
{
	if (run->is_held)
		return KGB_EXIT_OK;
	if (!kgb_followed_run_is_cut_off(run))
		return run->state.exit_code;
	kgb_warn(
		"run '%s' was cut off: it has no end, and no process works on it; continue with: kgb-agent resume %s",
		run->dir.name, run->dir.name);
	return EXIT_CUT_OFF;
}

/* ---- one document ---- */

static void put_remaining(struct kgb_jsonw *w, const char *key, const struct kgb_remaining *r,
			  double scale)
{
	kgb_jsonw_key(w, key);
	kgb_jsonw_put(w, "{median: %g, low: %g, high: %g}", r->median * scale, r->low * scale,
		      r->high * scale);
}

static int print_json(const struct kgb_followed_run *run)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf progress = KGB_BUF_INIT(0);
	struct kgb_forecast forecast;
	struct kgb_jsonw w;
	kgb_forecast(&run->state, kgb_wall_ms(), &forecast);
	kgb_progress_render(&run->state, &progress);
	kgb_jsonw_init(&w, &text, 2);
	kgb_jsonw_put(&w, "{schema: 'kgb.watch/1', path: %s, is_held: %hhd, is_cut_off: %hhd",
		      run->dir.path, run->is_held, kgb_followed_run_is_cut_off(run));
	put_remaining(&w, "seconds_left", &forecast.ms, 1e-3);
	kgb_jsonw_put(&w, "cost_usd: %g", forecast.usd_spent);
	put_remaining(&w, "cost_usd_in_all", &forecast.usd, 1);
	kgb_jsonw_put(&w, "progress:");
	kgb_jsonw_raw(&w, progress.ptr);
	kgb_jsonw_object_end(&w);
	kgb_buf_addc(&text, '\n');
	return kgb_cli_print(&text, status_of(run));
}

/* ---- plain lines ---- */

struct plain {
	int exit_code;
	bool is_over; /* stdout takes no more */
};

static void on_event(void *payload, const struct kgb_run_state *state,
		     const struct kgb_op_state *op, const char *type)
{
	struct plain *plain = payload;
	struct kgb_event_line line;
	KGB_AUTO(buf) struct kgb_buf raw = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	if (plain->is_over || !kgb_event_line_make(state, op, type, &line))
		return;
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
static int follow_plainly(struct kgb_followed_run *run)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct plain plain = {0};
	plain.is_over = print_block(run, &plain.exit_code) < 0;
	const bool has_news = run->is_held;
	while (run->is_held && !plain.is_over && !signal_seen) {
		plain.is_over = wait_or_lose_reader();
		if (kgb_followed_run_read(run, on_event, &plain, &err) < 0)
			return kgb_cli_fail(&err, KGB_EXIT_USAGE);
	}
	if (plain.is_over || (has_news && !signal_seen && print_block(run, &plain.exit_code) < 0))
		return plain.exit_code;
	return signal_seen ? 128 + (int)signal_seen : status_of(run);
}

/* ---- the whole terminal ---- */

static void draw(const struct kgb_followed_run *run)
{
	size_t rows = 0, columns = 0;
	kgb_full_screen_size(&rows, &columns);
	KGB_AUTO(styled) struct kgb_styled block = KGB_STYLED(columns);
	lay(run, rows > 1 ? rows - 1 : 1, &block);
	kgb_full_screen_draw(&block, rows > 1 ? "q leaves; the run goes on" : "");
}

/** Until the run ends or the user leaves: whether the user did. */
static int follow_on_screen(struct kgb_followed_run *run, bool *left, struct kgb_err *err)
{
	enum kgb_full_screen_wake wake = KGB_FULL_SCREEN_SIZE;
	int64_t drawn_second = 0, n_drawn = 0;
	while (run->is_held && wake != KGB_FULL_SCREEN_LEAVE && !signal_seen) {
		const int64_t second = kgb_wall_ms() / 1000;
		if (wake == KGB_FULL_SCREEN_SIZE || second != drawn_second ||
		    run->read.n_records != n_drawn)
			draw(run);
		drawn_second = second;
		n_drawn = run->read.n_records;
		wake = kgb_full_screen_wait(POLL_MS);
		if (kgb_followed_run_read(run, NULL, NULL, err) < 0)
			return -1;
	}
	*left = wake == KGB_FULL_SCREEN_LEAVE;
	return 0;
}

/** The terminal keeps what was seen last. */
static int leave_screen(struct kgb_followed_run *run, int rc, bool left, const struct kgb_err *err)
{
	int exit_code = KGB_EXIT_OK;
	kgb_full_screen_close();
	if (rc < 0)
		return kgb_cli_fail(err, KGB_EXIT_USAGE);
	if (signal_seen == SIGHUP)
		return 128 + SIGHUP; /* the terminal is gone */
	if (print_block(run, &exit_code) < 0)
		return exit_code;
	if (signal_seen)
		return 128 + (int)signal_seen;
	return left ? KGB_EXIT_OK : status_of(run);
}

static int watch(struct kgb_cli *cli)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_followed_run run;
	const char *name = cli->operators.n > 0 ? cli->operators.items[0] : NULL;
	KGB_AUTO(free) char *runs = kgb_config_runs(&cli->config);
	bool left = false;
	int exit_code = KGB_EXIT_OK;
	if (kgb_followed_run_open(&run, runs, name, &err) < 0)
		return kgb_cli_fail(&err, KGB_EXIT_USAGE);
	if (cli->flags.json) {
		exit_code = print_json(&run);
	} else if (cli->flags.once || !run.is_held) {
		if (print_block(&run, &exit_code) == 0)
			exit_code = status_of(&run);
	} else {
		catch_signals();
		if (kgb_full_screen_open()) {
			const int rc = follow_on_screen(&run, &left, &err);
			exit_code = leave_screen(&run, rc, left, &err);
		} else {
			exit_code = follow_plainly(&run);
		}
	}
	kgb_followed_run_release(&run);
	return exit_code;
}

static const struct kgb_opt options[] = {
	KGB_OPTION_OF_FLAG("once", 0, FLAG, once, NULL, "print how the run stands, and end"),
	KGB_OPTION_RUNS_DIR,
	{0},
};

static const char help[] =
	"Follows a run from another terminal until it ends: a bar, the time that is left and the cost, each with its range, the\n"
	"operators that did not pass, and those that are worked on. The run is not disturbed; q or Ctrl-C leaves it alone.\n"
	"Without a terminal, or with TERM=dumb, each event is a line. Without RUN: the latest.\n"
	"\n"
	"examples:\n"
	"  kgb-agent watch\n"
	"  kgb-agent watch runs/normal_cc_KernelGenBench_20261121T080000Z_0a1b --once\n"
	"  ssh -t machine kgb-agent watch --runs-dir /data/runs\n"
	"\n"
	"exit status: of the run when it ends; 0 when you leave, or --once shows a run that goes on; 137 when its process ended\n"
	"without a word (kill -9, loss of power); 130 after Ctrl-C; 2 usage\n";

const struct kgb_command kgb_watch_command = {
	.usage = {.name = "watch",
		  .positional = "[RUN]",
		  .max_positional = 1,
		  .summary = "Follow a run from another terminal",
		  .help = help,
		  .options = options},
	.one = "run",
	.run = watch,
};
