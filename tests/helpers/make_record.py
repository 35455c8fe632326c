#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a run with what an attempt leaves, which no agent wrote: for tests of show, prune and export.

    make_record.py RUN [--stream FILE] [--hostile]

RUN gets the journal of tests/fixtures/agent/run, whose aten::add failed one check and passed the next, with the prompt, four
versions with verdicts, the event stream FILE (lines that begin with # are left out), and folders that a prune drops. The third
version is faster than the second by more than its interval, the fourth is not. With --hostile the texts try to drive a terminal,
to break XML and to close a block of Markdown.
"""

import argparse
import hashlib
import json
import pathlib
import shutil

ROOT = pathlib.Path(__file__).resolve().parents[2]
AGENT = ROOT / "tests/fixtures/agent"
HOSTILE = "\x1b]0;owned\x07\x1b[2J </kernel> ]]> ~~~~~ ``` \u202e \x01 & <script>alert(1)</script>\n"
SPEEDUPS = (None, (1.0, 0.9, 1.1), (1.5, 1.4, 1.6), (1.51, 1.4, 1.62))


def kernel(number, extra):
    """A version: one line differs from the version before."""
    return "import triton\n\n\ndef add(a, b):\n    # version %d\n    return %s\n%s" % (number, "a" if number == 1 else "a + b", extra)


def verdict(number, text, extra):
    document = json.loads((AGENT / ("verdict_cpu.json" if number == 1 else "verdict_timed.json")).read_text())
    document["kernel_sha256"] = hashlib.sha256(text.encode()).hexdigest()
    document["seed"] = "5eed" * 8
    if number == 1:
        document.update(status="failed", code="verify.mismatch", message="24 of 1000 elements are wrong" + extra.strip())
    else:
        value, low, high = SPEEDUPS[number - 1]
        document["timing"]["speedup"] = {"value": value, "low": low, "high": high}
    return document


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=pathlib.Path)
    parser.add_argument("--stream", type=pathlib.Path, default=ROOT / "tests/fixtures/claude/ok.jsonl")
    parser.add_argument("--hostile", action="store_true")
    options = parser.parse_args()
    extra = "# " + HOSTILE if options.hostile else ""
    attempt = options.run / "attempts/aten__add/001"
    for folder in ("home/.cache", "ws", "git/objects", "traffic", "verdicts"):
        (attempt / folder).mkdir(parents=True)
        (attempt / folder / "file").write_text("x" * 10000)
    (attempt / "verdicts/file").unlink()
    (options.run / "kernels").mkdir()
    shutil.copy(AGENT / "run/journal.jsonl", options.run)
    for number in range(1, len(SPEEDUPS) + 1):
        text = kernel(number, extra)
        (attempt / ("verdicts/%03d.py" % number)).write_text(text)
        (attempt / ("verdicts/%03d.json" % number)).write_text(json.dumps(verdict(number, text, extra)))
    (options.run / "kernels/aten__add.py").write_text(kernel(3, extra))
    (attempt / "prompt.md").write_text("# Write aten::add\n" + extra)
    lines = options.stream.read_text().splitlines(keepends=True)
    (attempt / "stdout.jsonl").write_text("".join(line for line in lines if not line.startswith("#")))


if __name__ == "__main__":
    main()
