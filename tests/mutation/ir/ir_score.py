#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do the cases of an operator detect a wrong kernel? Plants faults into Triton's IR of honest kernels, on the CPU.

    ir_score.py --judge build/release/bin/kgb-judge-mutants [--only REGEX] [--one] [--jobs N] [--seed HEX] [--left FILE] [--json FILE]

A mutant changes one operation of a kernel in all its specializations: another operator or comparison, no mask, a narrower type, a
constant plus one (ir_mutate.py). A case that is right for the kernel is run with each mutant that no case has detected. Prints for
each kernel how many mutants are detected of those that ran, and the operators' scores. Mutants that the machine cannot run do not
count. --left FILE gets the mutants that no case detects: these are holes in the cases, or changes without effect, which
equivalent.tsv lists with the reason. Exit status 1 if a kernel did not pass or less than 98 % are detected, 77 without torch.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(ROOT / "tests" / "corpus")]
sys.dont_write_bytecode = True
import warm_judge  # noqa: E402
from corpus_files import find_kernels  # noqa: E402
from ir_mutate import mutants  # noqa: E402

GOAL = 0.98
WALL_S = 1800
# The mutant's own text is at fault: it is no program.
NO_PROGRAM = ("verify.not_replayable", "infra.unsupported_op", "error")


class Outcome:
    def __init__(self, kernel):
        self.kernel, self.killed, self.left, self.invalid, self.passed = kernel, {}, {}, {}, False

    def read(self, line):
        word, key, *rest = line.split()
        if word == "left":
            if int(rest[0]) > 0:
                self.left[key] = int(rest[0])
        elif rest[0].startswith(NO_PROGRAM):
            self.invalid[key] = rest[0]
        else:
            self.killed[key] = " ".join(rest)


def serve(outcome, requests, answers):
    """Answers the judge until it closes the pipe."""
    for line in requests:
        if not line.startswith("module "):
            outcome.read(line)
            continue
        made = mutants(requests.read(int(line.split()[1])))
        answers.write("%d\n" % len(made))
        for key, text in made.items():
            answers.write("%s %d\n%s" % (key, len(text), text))
        answers.flush()


def score(judge, kernel, seed, zygotes):
    outcome = Outcome(kernel)
    to_us, to_judge = os.pipe(), os.pipe()
    fd = warm_judge.request_fd(spec=warm_judge.spec_of(kernel.header["operator"]), kernel=kernel.path, device="cpu", timing=False, lanes=1,
                               timeout="%ds" % WALL_S, seed=seed, zygotes=zygotes, python=warm_judge.find_python(None))
    process = subprocess.Popen([judge, "verify"], stdin=fd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               pass_fds=(to_judge[0], to_us[1]), env={**os.environ, "KGB_MUTATOR_FROM": str(to_judge[0]), "KGB_MUTATOR_TO": str(to_us[1])})
    os.close(fd)
    os.close(to_judge[0])
    os.close(to_us[1])
    with open(to_us[0], encoding="ascii", newline="\n") as requests, open(to_judge[1], "w", encoding="ascii", newline="\n") as answers:
        serve(outcome, requests, answers)
        out, err = process.communicate(timeout=WALL_S)
    verdict = json.loads(out) if out else {"status": "ended with %d: %s" % (process.returncode, err)}
    outcome.passed = verdict["status"] == "passed"
    if not outcome.passed:
        print("not ok %s: %s %s" % (kernel.name, verdict["status"], verdict.get("code")), flush=True)
    return outcome


def read_equivalent():
    """{kernel: {key}}"""
    known = collections.defaultdict(set)
    path = HERE / "equivalent.tsv"
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        if line and not line.startswith("#"):
            kernel, key, _reason = line.split("\t")
            known[kernel].add(key)
    return known


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", required=True)
    parser.add_argument("--only", help="regular expression for names, as aten__silu/flat")
    parser.add_argument("--one", action="store_true", help="one kernel of each operator")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed")
    parser.add_argument("--left", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    if not warm_judge.has_torch():
        return 77
    kernels = [kernel for kernel in find_kernels(options.only) if kernel.honest and not kernel.too_new("3.9")]
    if options.one:
        kernels = list({kernel.header["operator"]: kernel for kernel in kernels}.values())
    known, operators, left, n_bad = read_equivalent(), collections.defaultdict(collections.Counter), [], 0
    with tempfile.TemporaryDirectory(prefix="kgb-ir-") as directory, contextlib.closing(
            warm_judge.Zygotes(options.judge, directory, "cpu", warm_judge.find_python(None))), \
            concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for outcome in pool.map(lambda kernel: score(options.judge, kernel, options.seed, directory), kernels):
            kernel, total = outcome.kernel, operators[outcome.kernel.header["operator"]]
            open_ones = {key: n for key, n in outcome.left.items() if key not in known[kernel.name]}
            n_bad += not outcome.passed
            total["killed"] += len(outcome.killed)
            total["left"] += len(open_ones)
            total["equivalent"] += len(outcome.left) - len(open_ones)
            total["invalid"] += len(outcome.invalid)
            left += ["%s\t%s\t%d cases\n" % (kernel.name, key, n) for key, n in sorted(open_ones.items())]
            print("%s: %d of %d, %d equivalent, %d no program" % (
                kernel.name, len(outcome.killed), len(outcome.killed) + len(open_ones), len(outcome.left) - len(open_ones),
                len(outcome.invalid)), flush=True)
    whole = sum(operators.values(), collections.Counter())
    share = whole["killed"] / max(1, whole["killed"] + whole["left"])
    for operator, total in sorted(operators.items()):
        print("# %s: %d of %d" % (operator, total["killed"], total["killed"] + total["left"]))
    print("# %d kernels of %d operators: %d of %d = %.1f %%, %d equivalent, %d no program; %d kernels did not pass" % (
        len(kernels), len(operators), whole["killed"], whole["killed"] + whole["left"], 100 * share, whole["equivalent"],
        whole["invalid"], n_bad))
    if options.left:
        options.left.write_text("".join(left), encoding="utf-8")
    if options.json:
        options.json.write_text(json.dumps(operators, indent=1) + "\n", encoding="utf-8")
    return 0 if share >= GOAL and not n_bad else 1


if __name__ == "__main__":
    sys.exit(main())
