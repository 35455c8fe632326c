#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rehearses a series at any size with the offline mixture, states what it took, and compares the verdicts with the kernels.

    rehearse.py [--operators N] [--methods A,B,...] [--repeat N] [--device-count N] [--rounds N]
                [--runs-dir DIR] [--seed N] [OPTIONS OF KGB-AGENT...]

N operators are spread over the dataset; 210 are all. The offline model draws each kernel (docs/methods.md, "The offline mixture"),
half of them honest. So a run's kernel must pass if and only if it is one of tests/honest, and the share of a method with k rounds
or samples must be 1 - 0.5^k within 3.29 standard deviations (99.9 %). Exit status 1: it is not so. kgb-agent is the one on PATH.

Memory is the largest resident set of kgb-agent and the largest sum of all processes below it, read once a second: shared
pages count in each process.
"""

import argparse
import collections
import glob
import json
import os
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--operators", type=int, default=210)
    parser.add_argument("--methods", default="llm,naive_cc,naive_codex,normal_codex")
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--device-count", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=2, help="of pipelines")
    parser.add_argument("--runs-dir", default="rehearsal")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_known_args()


def choose(n):
    """Operators that are spread over the dataset."""
    names = [line.split()[0] for line in subprocess.run(["kgb-agent", "list"], check=True, capture_output=True, text=True).stdout.splitlines()]
    return [names[i * len(names) // n] for i in range(min(n, len(names)))]


def resident():
    """Parent and resident bytes of each process."""
    sizes = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            fields = open(path, encoding="utf-8", errors="replace").read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        sizes[int(path.split("/")[2])] = int(fields[1]), int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
    return sizes


def tree(pid, sizes):
    """Resident bytes of a process and of all below it."""
    children = collections.defaultdict(list)
    for child, (parent, _) in sizes.items():
        children[parent].append(child)
    todo, total = [pid], 0
    while todo:
        one = todo.pop()
        total += sizes.get(one, (0, 0))[1]
        todo += children[one]
    return total


def run(args, others, operators):
    """Exit status, wall and processor seconds, largest bytes of kgb-agent and of all."""
    command = ["kgb-agent", ",".join(operators), "-m", args.methods, "--repeat", str(args.repeat), "--iterations", str(args.rounds),
               "--device-count", str(args.device_count), "--runs-dir", args.runs_dir, "--set", "model.offline=mixture",
               "--set", "gateway.mode=offline", "--set", "model.seed=%d" % args.seed, "--quiet"]
    start, before = time.monotonic(), os.times()
    own = whole = 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            sizes = resident()
            own = max(own, sizes.get(process.pid, (0, 0))[1])
            whole = max(whole, tree(process.pid, sizes))
            time.sleep(1)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return process.returncode, time.monotonic() - start, cpu, own, whole


def honest(safe_name):
    return {open(path, encoding="utf-8").read().rstrip("\n") for path in glob.glob("%s/tests/honest/%s/*.py" % (ROOT, safe_name))}


def check(series):
    """Sums by method; prints what contradicts the mixture and returns whether nothing does."""
    good, rows = True, collections.OrderedDict()
    for name in json.load(open(series + "/series.json", encoding="utf-8"))["runs"]:
        results = json.load(open("%s/%s/results.json" % (series, name), encoding="utf-8"))
        row = rows.setdefault(results["method"], {"n": 0, "passed": 0, "agent": 0.0, "judge": 0.0, "rounds": 1})
        for operator, result in results["operators"].items():
            safe = operator.replace("::", "__", 1)
            path = "%s/%s/kernels/%s.py" % (series, name, safe)
            text = open(path, encoding="utf-8", errors="replace").read().rstrip("\n") if os.path.exists(path) else None
            row["n"] += 1
            row["passed"] += result["status"] == "passed"
            row["agent"] += result["time"]["agent_seconds"] or 0
            row["judge"] += result["time"]["verify_seconds"] or 0
            row["rounds"] = max(row["rounds"], len((result["attempts"][-1:] or [{}])[0].get("rounds") or [1]),
                                result.get("samples", {}).get("asked", 1))
            if (result["status"] == "passed") != (text in honest(safe)):
                good = False
                print("%s %s: %s (%s), but its kernel is %s" % (name, operator, result["status"], result["error_code"],
                                                                "honest" if text in honest(safe) else "not honest"))
    for method, row in rows.items():
        share, theory = row["passed"] / row["n"], 1 - 0.5 ** row["rounds"]
        fits = abs(share - theory) <= 3.29 * (theory * (1 - theory) / row["n"]) ** 0.5
        good = good and fits
        print("%-14s %4d/%-4d passed, %.3f, in theory %.3f%s; an operator: agent %.1f s, judge %.1f s" % (
            method, row["passed"], row["n"], share, theory, "" if fits else ": TOO FAR", row["agent"] / row["n"], row["judge"] / row["n"]))
    return good


def main():
    args, others = arguments()
    operators = choose(args.operators)
    code, wall, cpu, own, whole = run(args, others, operators)
    series = max(glob.glob(args.runs_dir + "/series_*"), key=os.path.getmtime)
    print("%d operators x %d methods x %d repetitions: %.0f s wall, %.0f s of processors, kgb-agent %.0f MB, all processes %.0f MB, exit status %d" % (
        len(operators), len(args.methods.split(",")), args.repeat, wall, cpu, own / 1e6, whole / 1e6, code))
    sys.exit(0 if check(series) and code <= 1 else 1)


main()
