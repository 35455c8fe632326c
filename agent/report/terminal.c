/* SPDX-License-Identifier: MIT */
#include "agent/report/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "base/str.h"

#define DEFAULT_WIDTH 80

bool kgb_terminal_is_capable(int fd)
{
	const char *term = getenv("TERM");
	return isatty(fd) && term && *term && !kgb_str_eq(term, "dumb");
}

bool kgb_terminal_allows_color(void)
{
	const char *no_color = getenv("NO_COLOR");
	return !no_color || !*no_color;
}

void kgb_terminal_size(int fd, size_t *rows, size_t *columns)
{
	struct winsize size = {0};
	if (ioctl(fd, TIOCGWINSZ, &size) < 0)
		size = (struct winsize){0};
	*rows = size.ws_row;
	*columns = size.ws_col;
}

size_t kgb_terminal_width(int fd)
{
	size_t rows = 0, columns = 0;
	kgb_terminal_size(fd, &rows, &columns);
	return columns > 0 ? columns : DEFAULT_WIDTH;
}
