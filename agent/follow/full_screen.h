/* SPDX-License-Identifier: MIT */
/** \file
 * The whole terminal as a page that is drawn anew, by ncurses. One at a time: ncurses has one.
 */
#ifndef KGB_AGENT_FOLLOW_FULL_SCREEN_H
#define KGB_AGENT_FOLLOW_FULL_SCREEN_H

#include "agent/report/styled.h"

/** Take over the terminal on stdin and stdout. False: they are no terminal that ncurses can draw
 * on. */
bool kgb_full_screen_open(void);
void kgb_full_screen_size(size_t *rows, size_t *columns);
/** Show lines from the top, and `last` in the last row. */
void kgb_full_screen_draw(const struct kgb_styled *lines, const char *last);
enum kgb_full_screen_wake {
	KGB_FULL_SCREEN_TIME, /* the time is over */
	KGB_FULL_SCREEN_SIZE, /* the terminal has another size */
	KGB_FULL_SCREEN_LEAVE, /* q was pressed, or the terminal is gone */
};
/** Wait so long at most; a signal is as TIME. */
enum kgb_full_screen_wake kgb_full_screen_wait(int ms);
/** Give the terminal back as it was. */
void kgb_full_screen_close(void);

#endif
