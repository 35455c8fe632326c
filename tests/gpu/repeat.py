#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that the timer repeats its results in other sessions. Needs a machine with an otherwise idle GPU.

    repeat.py --judge build/release/bin/kgb-judge [--python PATH] [--precision thorough] [--sessions 5] [--only PART,...]
              [--json FILE]

repeat     10 kernels from 2 us to 2 ms against torch, in so many sessions: the distance between speedups of sessions
same       each kernel against itself: must be SAME; at other precisions neither FASTER nor SLOWER
planted    a kernel against one that does 1 % more work, at other precisions 3 %, at about 200 us: must be SLOWER
baselines  one kernel against torch, torch.compile and cuBLAS called directly: each must give a speedup

A session is a separate verification, with new processes. Prints a table of each part, and one of all for
docs/timing-evidence.md; --json keeps every sample, too. Exit status 0 when every goal is met. A session without a time of every
case meets none.
"""

import argparse
import json
import math
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "corpus"))
import warm_judge  # noqa: E402
from warm_judge import Zygotes  # noqa: E402

DATA = ROOT / "datasets" / "kernelgenbench"
WALL_S = 300
SMALL = 100  # elements of a case that is kept for the check of correctness

# operator: (kernel, case set, benchmark cases)
PAIRS = {
    "silu": ("aten__silu/flat.py", "unary", (
        "{id: n4k, mode: benchmark, a: [64, 64], dtypes: [float32]}",
        "{id: n1m, mode: benchmark, a: [1024, 1024], dtypes: [float16]}")),
    "softmax": ("aten__softmax/row_in_registers.py", "softmax", (
        "{id: rows_256, mode: benchmark, a: [256, 1024], dim: -1, dtypes: [float32]}",
        "{id: rows_1k, mode: benchmark, a: [4096, 1024], dim: -1, dtypes: [float32]}",
        "{id: rows_8k, mode: benchmark, a: [1024, 8192], dim: -1, dtypes: [float16]}")),
    "sum": ("aten__sum/rows_named_tuple.py", "reduce_dims", (
        "{id: rows_4k, mode: benchmark, a: [4096, 4096], dim: [1], keepdim: false, dtypes: [float32]}",)),
    "add": ("aten__add/flat_docstring.py", "binary_alpha", (
        "{id: n16m, mode: benchmark, a: [4096, 4096], b: [4096, 4096], dtypes: [float32]}",)),
    "mm": ("aten__mm/tiled.py", "matmul", (
        "{id: half_1k, mode: benchmark, a: [1024, 1024], b: [1024, 1024], dtypes: [float16]}",
        "{id: full_2k, mode: benchmark, a: [2048, 2048], b: [2048, 2048], dtypes: [float32]}",
        "{id: full_4k, mode: benchmark, a: [4096, 2048], b: [2048, 4096], dtypes: [float32]}")),
}
PLANTED_CASES = tuple("{id: again_%d, mode: benchmark, a: [2048, 2048], dtypes: [float32]}" % i for i in range(5))
PLANTED = '''import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, n, steps, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    left = x
    for _ in range(steps):  # the same code for every number of steps
        left = left * 0.5 + 0.001
    # What is left of x is lost in rounding, but the compiler does not know.
    tl.store(y_ptr + offsets, (x * tl.sigmoid(x) + (left - left)).to(y_ptr.dtype.element_ty), mask=mask)


def silu(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), %d, BLOCK=1024)
    return y


def silu_out(self, *, out):
    return out.copy_(silu(self))
'''
SGEMM = '''import cublas
import torch


def sgemm(self, mat2):
    (m, k), n = self.shape, mat2.shape[1]
    out = torch.empty((m, n), dtype=self.dtype, device=self.device)
    # Columns first: the transposed product, of the matrices the other way round.
    cublas.call("cublasSgemm_v2", 0, 0, n, m, k, 1.0, mat2, n, self, k, 0.0, out, n)
    return out
'''
STEPS = 1600  # it and 1 and 3 % more are multiples of 16, which Triton compiles apart from others
GOAL_SAME, GOAL_PLANTED = 0.95, 0.95
THOROUGH = "thorough"  # the precision that the goals of `repeat` are for
PLANTED_US = 100  # the planted difference must be found from here on


# ---- data sets with cases of our own ----

def elements(line):
    found = re.search(r"\ba: \[([0-9, ]*)\]", line)
    return math.prod(int(size) for size in found.group(1).split(",") if size.strip()) if found else 0


def trim_case_set(text, benchmarks):
    """The head, one ordinary case, and these benchmarks."""
    head, _, rest = text.partition("cases:\n")
    lines = [line for line in rest.splitlines() if line.startswith("  - {") and "mode:" not in line]
    kept = next((line for line in lines if elements(line) >= SMALL), lines[-1])
    return "%scases:\n%s\n%s" % (head, kept, "".join("  - %s\n" % line for line in benchmarks))


def make_spec(directory, name, case_set, benchmarks):
    """The path of the operator's spec in a new data set below `directory`."""
    source = DATA / "aten"
    shutil.copytree(source / "reference", directory / "aten" / "reference")
    (directory / "cases").mkdir()
    path = directory / "aten" / ("aten__%s.yaml" % name)
    shutil.copy(source / path.name, path)
    spec = path.read_text()
    for used in set(re.findall(r"^ +cases: \[(\w+)\]", spec, flags=re.M)):
        text = (DATA / "cases" / (used + ".yaml")).read_text()
        (directory / "cases" / (used + ".yaml")).write_text(trim_case_set(text, benchmarks if used == case_set else ()))
    return path


# ---- sessions ----

class Judge:
    """kgb-judge with warm processes, for the whole run."""

    def __init__(self, options, directory):
        self.options, self.directory, self.device = options, directory, None
        self.zygotes = Zygotes(options.judge, directory, options.device, options.python)
        if not self.zygotes.ready:
            raise SystemExit("no GPU, no sandbox, or no Python with torch and triton")

    def time(self, spec, kernel, baseline="torch"):
        """The timed cases of one session."""
        done = warm_judge.ask(self.options.judge, WALL_S, spec=spec, kernel=kernel, baseline=baseline,
                              timing_precision=self.options.precision, zygotes=self.directory, device=self.options.device,
                              python=self.options.python)
        try:
            verdict = json.loads(done.stdout)
        except ValueError:
            print("# %s: exit %d: %s" % (kernel, done.returncode, done.stderr.decode("utf-8", "replace").strip()[-500:]))
            return []
        if verdict["status"] != "passed":
            print("# %s: %s %s: %s" % (kernel, verdict["status"], verdict["code"], verdict["message"]))
        self.device = (verdict["timing"].get("machine") or {}).get("name") or self.device
        return verdict["timing"]["cases"]

    def close(self):
        self.zygotes.close()


def short(case):
    return "%s %s" % (case["case"].split("/")[0], "/".join(case["case"].split("/")[1:3]))


def us(side, ruler="event"):
    return (side["%s_ns" % ruler] or math.nan) / 1e3


# ---- results of sessions ----

def goal_of(microseconds):
    """(largest deviation, unit) that the goal allows for the candidate's time."""
    if microseconds >= 100:
        return 0.3, "%"
    return (1.0, "%") if microseconds >= 10 else (0.5, "us")


def is_complete(sessions, n):
    """Every case that there is, timed in each of n sessions?"""
    n_cases = sum(len(benchmarks) for _, _, benchmarks in PAIRS.values())
    return len(sessions) == n_cases and all(len(cases) == n for cases in sessions.values())


def speedups(cases):
    return [case["speedup"]["value"] for case in cases if case["speedup"]]


def deviation_of(cases):
    """(candidate's time in us, largest distance of a session from the median of all, what is allowed, unit)"""
    values = speedups(cases)
    middle = statistics.median(values)
    candidate = statistics.median(us(case["candidate"]) for case in cases)
    allowed, unit = goal_of(candidate)
    scale = 100 if unit == "%" else candidate
    return candidate, max(abs(value / middle - 1) for value in values) * scale, allowed, unit


def repeat(sessions):
    """Rows of the table, and whether all goals are met. `sessions`: for each case name its timings."""
    rows, good = [], True
    for name, cases in sessions.items():
        values = speedups(cases)
        if not values:
            rows.append((name, "no speedup: %s" % ", ".join(sorted({str(case["why"]) for case in cases}))))
            good = False
            continue
        candidate, deviation, allowed, unit = deviation_of(cases)
        baseline = statistics.median(us(case["baseline"]) for case in cases)
        overall = math.exp(statistics.mean(map(math.log, values)))
        covered = sum(case["speedup"]["low"] <= overall <= case["speedup"]["high"] for case in cases if case["speedup"])
        width = statistics.median((case["speedup"]["high"] - case["speedup"]["low"]) / 2 for case in cases if case["speedup"])
        device = statistics.median(case["speedup_device"]["value"] if case["speedup_device"] else math.nan for case in cases)
        met = deviation <= allowed and len(values) == len(cases)
        good &= met
        rows.append((name, "%.2f" % baseline, "%.2f" % candidate, " ".join("%.4f" % value for value in values),
                     "%.3f %s" % (deviation, unit), "%.1f %s" % (allowed, unit), "yes" if met else "NO",
                     "%.4f" % width, "%d/%d" % (covered, len(values)), "%.4f" % device,
                     "%.2f" % statistics.median(us(case["baseline"]) - us(case["baseline"], "activity") for case in cases),
                     "%.2f" % statistics.median(us(case["candidate"]) - us(case["candidate"], "activity") for case in cases),
                     "%.0f" % statistics.median(case["outside_us"] / 1e3 for case in cases),
                     " ".join(sorted({case["result"] + (" " + case["why"] if case["why"] else "") for case in cases}))))
    return rows, good


REPEAT_HEAD = ("case", "baseline us", "candidate us", "speedup in each session", "largest deviation", "goal", "met",
               "half width", "in interval", "by activity", "events add (baseline)", "(candidate)", "ms", "results")


def share_of(cases, result):
    return sum(case["result"] == result for case in cases) / len(cases) if cases else 0.0


def count_results(groups):
    rows = []
    for name, cases in groups.items():
        counts = [sum(case["result"] == result for case in cases)
                  for result in ("SAME", "UNDECIDED", "FASTER", "SLOWER", "UNTRUSTED")]
        speedups = " ".join("%.4f" % case["speedup"]["value"] if case["speedup"] else "-" for case in cases)
        whys = " ".join(sorted({case["why"] for case in cases if case["why"]}))
        rows.append((name, "%.2f" % statistics.median(us(case["baseline"]) for case in cases),
                     *("%d" % count for count in counts), speedups, whys))
    return rows


COUNT_HEAD = ("case", "us", "SAME", "UNDECIDED", "FASTER", "SLOWER", "UNTRUSTED", "speedups", "why")


def print_table(head, rows):
    print("| %s |" % " | ".join(head))
    print("|%s" % ("---|" * len(head)))
    for row in rows:
        print("| %s |" % " | ".join(row + ("",) * (len(head) - len(row))))
    print(flush=True)


def collect(judge, specs, n, baseline_of):
    """case name -> timings, of n sessions of every operator."""
    out = {}
    for _ in range(n):
        for spec, kernel in specs:
            for case in judge.time(spec, kernel, baseline_of(kernel)):
                out.setdefault(short(case), []).append(case)
    return out


def run_planted(judge, directory):
    spec = make_spec(directory, "silu", "unary", PLANTED_CASES)
    percent = 1 if judge.options.precision == THOROUGH else 3
    all_steps = (STEPS, STEPS + STEPS * percent // 100)
    kernels = [directory / ("steps_%d.py" % steps) for steps in all_steps]
    for kernel, steps in zip(kernels, all_steps):
        kernel.write_text(PLANTED % steps)
    more = "%d %% more work" % percent
    groups = {more: [], "the same work": []}
    for _ in range(4):
        groups[more] += judge.time(spec, kernels[1], kernels[0])
    groups["the same work"] += judge.time(spec, kernels[0], kernels[0])
    print_table(COUNT_HEAD, count_results({name: cases for name, cases in groups.items() if cases}))
    planted = groups[more]
    complete = len(planted) == 4 * len(PLANTED_CASES) and len(groups["the same work"]) == len(PLANTED_CASES)
    return groups, (complete and all(us(case["baseline"]) >= PLANTED_US for case in planted) and
                    share_of(planted, "SLOWER") >= GOAL_PLANTED and
                    all(case["result"] not in ("FASTER", "SLOWER") for case in groups["the same work"]))


def run_baselines(judge, directory):
    kernel, case_set, benchmarks = PAIRS["mm"]
    full = tuple(line for line in benchmarks if "full_2k" in line)
    plain = make_spec(directory / "plain", "mm", case_set, full)
    direct = make_spec(directory / "direct", "mm", case_set, full)
    (direct.parent / "reference" / "gemm.py").write_text(SGEMM)
    text = direct.read_text()
    reference = "    reference: {aten: mm}\n"
    assert reference in text
    direct.write_text(text.replace(reference, reference + '    baseline: {python: "gemm.py:sgemm"}\n'))
    kernel = ROOT / "tests" / "honest" / kernel
    groups = {"torch": judge.time(plain, kernel), "cuBLAS": judge.time(direct, kernel),
              "torch.compile": judge.time(plain, kernel, "compile")}
    print_table(COUNT_HEAD, count_results({name: cases for name, cases in groups.items() if cases}))
    return groups, all(cases and all(case["speedup"] for case in cases) for cases in groups.values())


def run_part(part, judge, directory, n_sessions):
    """(document, whether its goals are met)"""
    if part == "planted":
        return run_planted(judge, directory / part)
    if part == "baselines":
        return run_baselines(judge, directory / part)
    specs = [(make_spec(directory / part / name, name, case_set, benchmarks), ROOT / "tests" / "honest" / kernel)
             for name, (kernel, case_set, benchmarks) in PAIRS.items()]
    if part == "repeat":
        groups = collect(judge, specs, n_sessions, lambda kernel: "torch")
        rows, good = repeat(groups)
        print_table(REPEAT_HEAD, rows)
        return groups, good and is_complete(groups, n_sessions)
    n_sessions = max(1, n_sessions - 1)
    groups = collect(judge, specs, n_sessions, lambda kernel: kernel)
    print_table(COUNT_HEAD, count_results(groups))
    cases = [case for group in groups.values() for case in group]
    print("%d of identical kernels: %s\n" % (len(cases), ", ".join(
        "%s %.1f %%" % (result, 100 * share_of(cases, result))
        for result in ("SAME", "UNDECIDED", "FASTER", "SLOWER", "UNTRUSTED"))), flush=True)
    good = (share_of(cases, "SAME") >= GOAL_SAME if judge.options.precision == THOROUGH else
            all(case["result"] not in ("FASTER", "SLOWER") for case in cases))
    return groups, is_complete(groups, n_sessions) and good


def count_of(cases, result):
    return "%d of %d" % (sum(case["result"] == result for case in cases), len(cases)) if cases else ""


SUMMARY_HEAD = ("case", "baseline us", "candidate us", "speedup", "sessions apart", "goal", "half width", "detectable", "margin",
                "processes", "rounds", "A/A SAME")


def summary(document):
    """One row for each case that was repeated, and one for the planted difference."""
    rows, same = [], document.get("same", {})

    def middle(cases, value):
        return statistics.median(value(case) for case in cases if case["speedup"])

    for name, cases in document.get("repeat", {}).items():
        values = speedups(cases)
        if not values:
            continue
        candidate, deviation, allowed, unit = deviation_of(cases)
        rows.append((name, "%.2f" % middle(cases, lambda case: us(case["baseline"])), "%.2f" % candidate,
                     "%.4f" % statistics.median(values), "%.2f %s" % (deviation, unit), "%.1f %s" % (allowed, unit),
                     *("%.2f %%" % (100 * middle(cases, value)) for value in (
                         lambda case: (case["speedup"]["high"] / case["speedup"]["low"] - 1) / 2,
                         lambda case: case["detectable"], lambda case: case["margin"])),
                     *("%g" % middle(cases, lambda case: case[key]) for key in ("processes", "rounds")),
                     count_of(same.get(name), "SAME")))
    for name, cases in document.get("planted", {}).items():
        if speedups(cases):
            result = "SLOWER" if "more" in name else "SAME"
            rows.append(("%s: %s" % (name, result), "%.2f" % middle(cases, lambda case: us(case["baseline"])),
                         "%.2f" % middle(cases, lambda case: us(case["candidate"])), "%.4f" % statistics.median(speedups(cases)),
                         *[""] * 7, count_of(cases, result)))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--judge", required=True)
    parser.add_argument("--python", default=os.environ.get("KGB_PYTHON"))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--sessions", type=int, default=5)
    parser.add_argument("--precision", default=THOROUGH, choices=("quick", "standard", THOROUGH))
    parser.add_argument("--only", default="repeat,same,planted,baselines")
    parser.add_argument("--json")
    options = parser.parse_args()
    document, met, begun = {}, {}, time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kgb-repeat-") as directory:
        judge = Judge(options, directory)
        try:
            for part in options.only.split(","):
                started = time.monotonic()
                document[part], met[part] = run_part(part, judge, pathlib.Path(directory) / "sets", options.sessions)
                print("%s: %s, %.0f s\n" % (part, "goals met" if met[part] else "GOALS NOT MET", time.monotonic() - started),
                      flush=True)
                if options.json:
                    pathlib.Path(options.json).write_text(json.dumps(document))
        finally:
            judge.close()
    print("%s, %s, %d sessions, %.0f s in all\n" % (judge.device, time.strftime("%Y-%m-%d", time.gmtime()), options.sessions,
                                                   time.monotonic() - begun))
    print_table(SUMMARY_HEAD, summary(document))
    return 0 if all(met.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
