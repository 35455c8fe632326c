# SPDX-License-Identifier: MIT
"""The kernels of tests/honest and tests/redteam and the contents of their headers.

A header is comment lines among the first eight of a file:
    # operator: aten::add       (all)
    # style: ...                (honest) the style that a naive checker might flag
    # expect: REGEX             (redteam) matches the whole code of the rejection; `passed`: the attack has no effect, and its
                                kernel does the work
    # catalogue: 52, 82         (redteam) numbers of catalogue.tsv
    # open: ...                 (redteam) known to succeed, and why
    # device: cpu               (redteam) can be tried only without a GPU
    # triton: below 3.9         uses a feature that later versions of Triton do not have
"""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = re.compile(r"^# (operator|expect|catalogue|open|style|device|triton): *(.+)$")


def header_of(path):
    header = {}
    for line in path.read_text(encoding="utf-8").splitlines()[:8]:
        match = HEADER.match(line)
        if match:
            header[match.group(1)] = match.group(2).strip()
    return header


def numbers(header):
    return [int(number) for number in header.get("catalogue", "").split(",") if number.strip()]


class Kernel:
    """One file that the corpus runs."""

    def __init__(self, path, honest):
        self.path, self.honest = path, honest
        self.name = "%s %s/%s" % ("honest" if honest else "redteam", path.parent.name, path.name)
        self.header = header_of(path)
        if not {"operator", "style"} <= self.header.keys() if honest else not {"operator", "expect",
                                                                               "catalogue"} <= self.header.keys():
            raise SystemExit("%s: the header must name operator and %s" % (path, "style" if honest else "expect and catalogue"))
        self.expect = None if honest else re.compile(self.header["expect"])
        self.needs_cpu = self.header.get("device") == "cpu"
        self.harmless = not honest and self.header["expect"] == "passed"
        # An attack that stops with an error where none is expected was not tried.
        self.may_raise = not honest and self.expect.fullmatch("verify.exception") is not None
        # Which fault of a wrong kernel is met first depends on the data.
        self.is_wrong = not honest and "verify" in self.header["expect"]
        self.hangs = "timeout" in self.header.get("expect", "")
        # A cheat in any case decides the verdict. Otherwise the first failing case decides, and the others need not run.
        self.first_failure_decides = not honest and "cheat" not in self.header["expect"]

    def too_new(self, triton):
        """Whether this version of Triton lacks a feature that the kernel uses."""
        limit = re.fullmatch(r"below (\d+)\.(\d+)", self.header.get("triton", ""))
        version = re.match(r"(\d+)\.(\d+)", triton or "")
        return bool(limit and version) and tuple(map(int, version.groups())) >= tuple(map(int, limit.groups()))


def find_kernels(only=None):
    kernels = [Kernel(path, folder == "honest") for folder in ("honest", "redteam")
               for path in sorted((ROOT / "tests" / folder).glob("*__*/*.py"))]
    return [kernel for kernel in kernels if not only or re.search(only, kernel.name)]
