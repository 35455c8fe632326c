#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Honest and cheating kernels through the judge.

    run_corpus.py --judge build/bin/kgb-judge [--python PATH] [--device NAME] [--only REGEX] [--jobs N]

Every file below tests/honest/<operator> must pass. Every file below tests/redteam/<operator> must be rejected with a code that its header's
`# expect:` (a regular expression for the whole code) allows; on a GPU, where other checks come first, with any code.
Prints TAP, then how often attacks succeeded and honest
kernels were refused, with 95 % Wilson intervals, and which stage decided. Exit status 0 only if every file was judged as
it should be; 77 when there is no Python with torch and triton, unless KGB_TESTS_MUST_RUN names "corpus".
"""

import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = re.compile(r"^# (operator|expect|catalogue|style): *(.+)$")
STAGES = ("contract", "l1", "correctness", "l2", "timing")
CALL_TIMEOUT = "10s"
WALL_S = 400


class Kernel:
    def __init__(self, path, honest):
        self.path, self.honest = path, honest
        self.name = "%s %s/%s" % ("honest" if honest else "redteam", path.parent.name, path.name)
        self.header = {}
        for line in path.read_text(encoding="utf-8").splitlines()[:8]:
            match = HEADER.match(line)
            if match:
                self.header[match.group(1)] = match.group(2).strip()
        if "operator" not in self.header or (not honest and not {"expect", "catalogue"} <= self.header.keys()):
            raise SystemExit("%s: the header must name operator%s" % (path, "" if honest else ", expect and catalogue"))
        if not honest:
            self.expect = re.compile(self.header["expect"])


def find_kernels(only):
    kernels = [Kernel(path, folder == "honest") for folder in ("honest", "redteam")
               for path in sorted((ROOT / "tests" / folder).glob("*__*/*.py"))]
    return [kernel for kernel in kernels if not only or re.search(only, kernel.name)]


def find_python(given):
    for path in (given, os.environ.get("KGB_PYTHON"), str(ROOT / ".deps" / "venv" / "bin" / "python")):
        if path and os.access(path, os.X_OK):
            return path
    return None


class Zygotes:
    """Warm worker processes for the whole run; they end when their stdin closes."""

    def __init__(self, judge, python, device, directory):
        self.process = subprocess.Popen([judge, "zygotes", "--dir", directory, "--python", python, "--device", device,
                                         "--die-with-parent"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ready = self.process.stdout.readline().strip() == "ready"

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)


def judge_one(options, python, directory, kernel):
    """(verdict or None, text of the failure to get one)"""
    argv = [options.judge, "verify", "--device", options.device, "--op", kernel.header["operator"],
            "--kernel", str(kernel.path), "--zygotes", directory, "--python", python, "--verdict-fd", "1",
            "--call-timeout", CALL_TIMEOUT]
    if options.jobs > 1 and options.device != "cpu":
        argv.append("--skip-timing")  # kernels that run beside each other cannot be timed
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=WALL_S)
        return json.loads(done.stdout), ""
    except subprocess.TimeoutExpired:
        return None, "no verdict within %d s" % WALL_S
    except ValueError:
        return None, "exit %d: %s" % (done.returncode, done.stderr.decode("utf-8", "replace").strip()[:300])


def is_right(kernel, verdict, device):
    if kernel.honest:
        return verdict["status"] == "passed"
    return verdict["status"] in ("failed", "cheated") and (
        device != "cpu" or kernel.expect.fullmatch(verdict["code"] or "") is not None)


def wilson(hits, n):
    if n == 0:
        return 0.0, 1.0
    z = 1.959964
    p = hits / n
    middle = p + z * z / (2 * n)
    spread = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0.0, (middle - spread) / (1 + z * z / n)), min(1.0, (middle + spread) / (1 + z * z / n))


def rate(label, hits, n):
    low, high = wilson(hits, n)
    share = 100 * hits / n if n else 0.0
    print("# %s: %d of %d = %.1f %% (95 %% interval %.1f to %.1f %%)" % (label, hits, n, share, 100 * low, 100 * high))


def summarise(results):
    honest = [(k, v) for k, v in results if k.honest]
    attacks = [(k, v) for k, v in results if not k.honest]
    rate("attack success", sum(v is not None and v["status"] == "passed" for _, v in attacks), len(attacks))
    rate("false rejects", sum(v is None or v["status"] != "passed" for _, v in honest), len(honest))
    print("# %-12s %8s %8s" % ("stage", "attacks", "honest"))
    for stage in STAGES + (None,):
        row = [sum(v is not None and v.get("stage") == stage for _, v in group) for group in (attacks, honest)]
        print("# %-12s %8d %8d" % (stage or "none: passed", *row))
    undecided = sum(v is None or v["status"] == "infra_error" for _, v in results)
    if undecided:
        print("# no verdict or infra_error: %d" % undecided)


def report(number, kernel, verdict, trouble, seconds, device):
    right = verdict is not None and is_right(kernel, verdict, device)
    outcome = "%s %s" % (verdict["status"], verdict["code"] or "") if verdict else trouble
    print("%s %d - %s (%s, %.1f s)" % ("ok" if right else "not ok", number, kernel.name, outcome.strip(), seconds))
    if not right:
        print("# expected %s" % ("passed" if kernel.honest else kernel.header["expect"]))
        if verdict:
            print("# %s" % str(verdict.get("message"))[:300])
            for failure in (verdict.get("failures") or [])[:3]:
                print("# %s: %s" % (failure.get("case"), str(failure.get("message"))[:200]))
    sys.stdout.flush()
    return right


def run(options, kernels, python, directory):
    def timed(kernel):
        started = time.monotonic()
        return judge_one(options, python, directory, kernel) + (time.monotonic() - started,)

    results, all_right = [], True
    print("TAP version 13\n1..%d" % len(kernels))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for number, (kernel, answer) in enumerate(zip(kernels, pool.map(timed, kernels)), 1):
            verdict, trouble, seconds = answer
            all_right &= report(number, kernel, verdict, trouble, seconds, options.device)
            results.append((kernel, verdict))
    summarise(results)
    return 0 if all_right else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--judge", required=True)
    parser.add_argument("--python")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N")
    parser.add_argument("--only", default=os.environ.get("KGB_CORPUS_ONLY"), help="regular expression for names")
    parser.add_argument("--jobs", type=int, default=max(1, min(8, (os.cpu_count() or 2) // 2)))
    options = parser.parse_args()
    kernels = find_kernels(options.only)
    if not kernels:
        raise SystemExit("no kernel matches %r" % options.only)
    python = find_python(options.python)
    with tempfile.TemporaryDirectory(prefix="kgb-corpus-") as directory:
        zygotes = Zygotes(options.judge, python, options.device, directory) if python else None
        if zygotes is None or not zygotes.ready:
            print("1..0 # SKIP no Python with torch and triton, or no sandbox")
            return 1 if "corpus" in os.environ.get("KGB_TESTS_MUST_RUN", "") else 77
        try:
            return run(options, kernels, python, directory)
        finally:
            zygotes.close()


if __name__ == "__main__":
    sys.exit(main())
