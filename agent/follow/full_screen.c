/* SPDX-License-Identifier: MIT */
#include "agent/follow/full_screen.h"

#include <errno.h>
#include <locale.h>
#include <ncurses.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/report/terminal.h"

/* Pairs of colours count from 1. */
#define PAIR_OF(style) ((short)((style) + 1))

static struct {
	SCREEN *screen;
	bool color;
} full; /* as ncurses itself */

/** Print UTF-8 in every locale, as without ncurses. */
static void choose_encoding(void)
{
	setlocale(LC_CTYPE, "");
	if (MB_CUR_MAX == 1)
		setlocale(LC_CTYPE, "C.UTF-8");
}

static void choose_colors(void)
{
	static const short colors[KGB_N_STYLES] = {
		[KGB_STYLE_PLAIN] = -1,
		[KGB_STYLE_STRONG] = -1,
		[KGB_STYLE_FAINT] = -1,
		[KGB_STYLE_LIVE] = COLOR_CYAN,
		[KGB_STYLE_GOOD] = COLOR_GREEN,
		[KGB_STYLE_BAD] = COLOR_RED,
		[KGB_STYLE_CHEAT] = COLOR_MAGENTA,
	};
	full.color = kgb_terminal_allows_color() && has_colors() && start_color() == OK &&
		     use_default_colors() == OK;
	for (short style = 0; full.color && style < KGB_N_STYLES; style++)
		init_pair(PAIR_OF(style), colors[style], -1);
}

bool kgb_full_screen_open(void)
{
	if (!kgb_terminal_is_capable(STDIN_FILENO) || !kgb_terminal_is_capable(STDOUT_FILENO))
		return false;
	choose_encoding();
	full.screen = newterm(NULL, stdout, stdin);
	if (!full.screen)
		return false; /* no entry for $TERM */
	choose_colors();
	cbreak();
	noecho();
	curs_set(0);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	return true;
}

void kgb_full_screen_size(size_t *rows, size_t *columns)
{
	*rows = LINES > 0 ? (size_t)LINES : 1;
	*columns = COLS > 0 ? (size_t)COLS : 1;
}

static attr_t attributes_of(enum kgb_style style)
{
	const attr_t weight = style == KGB_STYLE_STRONG  ? A_BOLD
			      : style == KGB_STYLE_FAINT ? A_DIM
							 : A_NORMAL;
	return weight | (full.color ? (attr_t)COLOR_PAIR(PAIR_OF(style)) : A_NORMAL);
}

void kgb_full_screen_draw(const struct kgb_styled *lines, const char *last)
{
	size_t line = 0;
	werase(stdscr);
	wmove(stdscr, 0, 0);
	KGB_VEC_FOREACH(span, &lines->spans) {
		if (span->line != line)
			wmove(stdscr, (int)span->line, 0);
		line = span->line;
		wattrset(stdscr, (int)attributes_of(span->style));
		waddnstr(stdscr, lines->text.ptr + span->start, (int)span->len);
	}
	wattrset(stdscr, (int)attributes_of(KGB_STYLE_FAINT));
	mvwaddnstr(stdscr, LINES - 1, 0, last, COLS - 1);
	wattrset(stdscr, A_NORMAL);
	wrefresh(stdscr);
}

enum kgb_full_screen_wake kgb_full_screen_wait(int ms)
{
	enum kgb_full_screen_wake wake = KGB_FULL_SCREEN_TIME;
	struct pollfd keys = {.fd = STDIN_FILENO, .events = POLLIN};
	if (poll(&keys, 1, ms) > 0 && !(keys.revents & POLLIN))
		return KGB_FULL_SCREEN_LEAVE;
	for (int key = wgetch(stdscr); key != ERR; key = wgetch(stdscr)) {
		if (key == 'q' || key == 'Q')
			return KGB_FULL_SCREEN_LEAVE;
		if (key == KEY_RESIZE)
			wake = KGB_FULL_SCREEN_SIZE;
	}
	return wake;
}

void kgb_full_screen_close(void)
{
	if (!full.screen)
		return;
	endwin();
	delscreen(full.screen);
	full.screen = NULL;
}
