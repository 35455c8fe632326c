/* SPDX-License-Identifier: MIT */
/** \file
 * Abilities of a terminal. Each call reads the environment and the terminal again. */
#ifndef KGB_AGENT_REPORT_TERMINAL_H
#define KGB_AGENT_REPORT_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

/** Whether fd is a terminal that handles escape sequences: TERM is set and not "dumb". */
bool kgb_terminal_is_capable(int fd);
/** NO_COLOR is not set, or empty (https://no-color.org). */
bool kgb_terminal_allows_color(void);
/** Its size; both 0 when fd is no terminal. */
void kgb_terminal_size(int fd, size_t *rows, size_t *columns);
/** Its columns; 80 when fd is no terminal. */
size_t kgb_terminal_width(int fd);

#endif
