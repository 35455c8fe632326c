# SPDX-License-Identifier: MIT
"""Runs a command on a terminal that this program plays, and prints what the terminal shows at its end.

    python3 terminal.py [--resize TEXT=COLUMNSxROWS]... COLUMNSxROWS COMMAND...

The terminal knows what kgb-agent writes: text, \\n, \\r, CSI A, J, K and m. Like those of today it breaks lines again when its
width changes. When TEXT appears on it, it takes the size that --resize names, and a second later prints the rows of the screen
after a line "== COLUMNSxROWS"; after the last of them it presses Ctrl-C twice. After the line "== end" come all rows of the
session.
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

SETTLE_S = 1.2
TOKEN = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|\x1b|\r|\n|[^\x1b\r\n]", re.DOTALL)


class Terminal:
    """Lines of text, each broken into rows of the terminal's width; the cursor is a line and a place in it."""

    def __init__(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.lines = [""]
        self.line = self.at = 0
        self.rest = ""

    def n_rows(self, text):
        return max(1, -(-len(text) // self.columns))

    def up(self, n):
        """To the row n above, at the most to the first of the screen."""
        row = self.at // self.columns if self.at < len(self.lines[self.line]) or self.at == 0 else \
            (self.at - 1) // self.columns
        below = sum(self.n_rows(text) for text in self.lines[self.line:]) - row
        n = min(n, self.rows - below)
        while n > row and self.line > 0:
            n -= row + 1
            self.line -= 1
            row = self.n_rows(self.lines[self.line]) - 1
        self.at = max(0, row - n) * self.columns

    def feed(self, data):
        data = self.rest + data
        cut = data.rfind("\x1b")
        self.rest = data[cut:] if cut >= 0 and not re.match(r"\x1b\[[0-9;?]*[A-Za-z]", data[cut:]) else ""
        for token in TOKEN.finditer(data[:len(data) - len(self.rest)]):
            text, (count, command) = token.group(), token.groups()
            line = self.lines[self.line]
            if text == "\r":
                self.at -= self.at % self.columns
            elif text == "\n":
                self.line, self.at = self.line + 1, 0
                if self.line == len(self.lines):
                    self.lines.append("")
            elif command == "A":
                self.up(int(count or 1))
            elif command == "K":
                self.lines[self.line] = line[:self.at]
            elif command == "J":
                self.lines[self.line] = line[:self.at]
                del self.lines[self.line + 1:]
            elif command == "m":
                pass
            elif text[0] == "\x1b":
                raise SystemExit(f"terminal.py: unknown sequence {text!r}")
            else:
                self.lines[self.line] = line[:self.at].ljust(self.at) + text + line[self.at + 1:]
                self.at += 1

    def show(self, title, n_rows):
        rows = [text[start:start + self.columns].rstrip() for text in self.lines
                for start in range(0, max(1, len(text)), self.columns)]
        print(f"== {title}", *rows[-n_rows:], sep="\n", flush=True)


def size_of(text):
    return tuple(map(int, text.split("x")))


def set_size(fd, columns, rows):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def main(args):
    resizes = []
    while args[0] == "--resize":
        text, _, size = args[1].rpartition("=")
        resizes.append((text, size_of(size)))
        args = args[2:]
    columns, rows = size_of(args[0])
    pid, fd = pty.fork()
    if pid == 0:
        set_size(0, columns, rows)
        os.environ["TERM"] = "xterm"
        os.execvp(args[1], args[1:])
    terminal = Terminal(columns, rows)
    show_at = None
    while True:
        ready = select.select([fd], [], [], 0.1)[0]
        if ready:
            try:
                data = os.read(fd, 65536)
            except OSError:
                break
            terminal.feed(data.decode(errors="replace").replace("\r\n", "\n"))
        if show_at and time.monotonic() >= show_at:
            terminal.show(f"{terminal.columns}x{terminal.rows}", terminal.rows)
            show_at = None
            if not resizes:
                os.write(fd, b"\x03\x03")
        if resizes and not show_at and any(resizes[0][0] in line for line in terminal.lines):
            terminal.columns, terminal.rows = resizes.pop(0)[1]
            set_size(fd, terminal.columns, terminal.rows)
            show_at = time.monotonic() + SETTLE_S
    terminal.show("end", 0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main(sys.argv[1:]))
