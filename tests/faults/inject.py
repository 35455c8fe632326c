#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Causes faults of the machine in the middle of runs; no operator may fail by them.

    inject.py [--runs N] [--seed S] [--kind KIND]... [--jobs N] [--keep] [--json FILE]

Each run is `kgb-agent OPERATOR -m normal_cc` with the built-in model (which passes without faults). At a random moment one of its
helper processes gets SIGKILL, or a limit that makes its calls fail. Prints a line for each run and a table by kind. A run is wrong
when an operator ends `failed`, `refused`, `cheated` or `timeout`, when kgb-agent itself breaks (status 70, a signal), or when an undisturbed
resume afterwards does not pass. Exit status 1 when any run was wrong.

PATH must have kgb-agent. KINDS below lists the kinds.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

OPERATORS = ("add", "silu", "softmax")
LIMIT_S = 300


def processes():
    """pid -> (parent, argv) of all processes that can be read."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            stat = pathlib.Path(f"/proc/{entry}/stat").read_text()
            argv = pathlib.Path(f"/proc/{entry}/cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        found[int(entry)] = (int(stat.rpartition(")")[2].split()[1]), argv)
    return found


def below(root, table):
    """Descendants of a process."""
    children = collections.defaultdict(list)
    for pid, (parent, _) in table.items():
        children[parent].append(pid)
    todo, seen = [root], []
    while todo:
        for child in children[todo.pop()]:
            seen.append(child)
            todo.append(child)
    return seen


def is_program(table, pid, name, word=None):
    argv = table[pid][1] if pid in table else [""]
    return argv[0].rpartition("/")[2] == name and (word is None or word in argv)


def is_python(table, pid, role):
    argv = table[pid][1] if pid in table else []
    return "/kgb/runner/zygote.py" in argv and role in argv


def parent_is(table, pid, test):
    return test(table[pid][0])


# What is killed: name -> test of (table, pid, pid of kgb-agent).
KINDS = {
    "agent's kgb-launch": lambda t, p, a: is_program(t, p, "kgb-launch") and t[p][0] == a,
    "agent's bwrap": lambda t, p, a: is_program(t, p, "bwrap") and is_program(t, t[p][0], "kgb-launch") and t[t[p][0]][0] == a,
    "kgb-judge zygotes": lambda t, p, a: is_program(t, p, "kgb-judge", "zygotes"),
    "kgb-judge verify": lambda t, p, a: is_program(t, p, "kgb-judge", "verify"),
    "zygote's kgb-launch": lambda t, p, a: is_program(t, p, "kgb-launch") and is_program(t, t[p][0], "kgb-judge"),
    "zygote of references": lambda t, p, a: is_python(t, p, "reference") and not is_python(t, t[p][0], "reference"),
    "zygote of runners": lambda t, p, a: is_python(t, p, "runner") and not is_python(t, t[p][0], "runner"),
    "reference": lambda t, p, a: is_python(t, p, "reference") and is_python(t, t[p][0], "reference"),
    "runner": lambda t, p, a: is_python(t, p, "runner") and is_python(t, t[p][0], "runner"),
}


class Run:
    """One run with one fault."""

    def __init__(self, kind, operator, delay_s, folder):
        self.kind, self.operator, self.delay_s, self.folder = kind, operator, delay_s, folder
        self.hit = None
        self.log = folder / "log"

    def start(self):
        environment = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY")}
        self.process = subprocess.Popen(
            ["kgb-agent", self.operator, "-m", "normal_cc", "--runs-dir", str(self.folder / "runs"), "--json"],
            stdin=subprocess.DEVNULL, stdout=(self.folder / "out.json").open("w"), stderr=self.log.open("w"), env=environment)

    def inject(self):
        """Kill one process of the kind, after the delay, as soon as there is one."""
        time.sleep(self.delay_s)
        test = KINDS[self.kind]
        while self.process.poll() is None and self.hit is None:
            table = processes()
            candidates = [p for p in below(self.process.pid, table) if test(table, p, self.process.pid)]
            if candidates:
                pid = random.choice(candidates)
                try:
                    os.kill(pid, signal.SIGKILL)
                    self.hit = pid
                except ProcessLookupError:
                    pass
            else:
                time.sleep(0.01)

    def finish(self):
        try:
            self.status = self.process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.status = -signal.SIGKILL
        results = list((self.folder / "runs").glob("*/results.json"))
        operators = json.loads(results[0].read_text())["operators"] if results else {}
        operator = next(iter(operators.values()), {})
        self.outcome = operator.get("status", "none")
        self.code = operator.get("error_code")
        self.attempts = [a["end"] for a in operator.get("attempts", [])]
        self.checks = [(c["status"], c["code"]) for c in operator.get("verify_calls", [])]
        # The wrong kernel of the built-in script fails once, with a mismatch; anything else that the agent heard is a fault.
        self.heard = [c for c in self.checks if c not in (("passed", None), ("failed", "verify.mismatch"))]
        self.wrong = (self.outcome in ("failed", "refused", "cheated", "timeout", "none") or self.status not in (0, 1, 4)
                      or self.checks.count(("failed", "verify.mismatch")) > len(self.attempts))

    def line(self):
        return (f"{'WRONG' if self.wrong else 'ok':5} {self.kind:22} after {self.delay_s:4.1f} s {'hit' if self.hit else 'missed':6} "
                f"{self.operator:8} status {self.status} {self.outcome} {self.code or ''} attempts {self.attempts} heard {self.heard}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=len(KINDS))
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--kind", action="append", choices=sorted(KINDS))
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--json")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    random.seed(seed)
    kinds = options.kind or list(KINDS)
    print(f"# seed {seed}, {options.runs} runs")
    runs = []
    place = pathlib.Path(tempfile.mkdtemp(prefix="kgb-faults-"))
    for i in range(options.runs):
        folder = place / str(i)
        folder.mkdir()
        run = Run(kinds[i % len(kinds)], random.choice(OPERATORS), round(random.uniform(0, 4), 2), folder)
        run.start()
        run.inject()
        run.finish()
        runs.append(run)
        print(run.line(), flush=True)
        if run.wrong:
            sys.stdout.write("".join("      " + text for text in run.log.read_text().splitlines(keepends=True)[-12:]))
            print(f"      in {folder}")
        elif not options.keep:
            shutil.rmtree(folder)
    print(f"\n{'kind':22} runs  hit  passed  infra  wrong  heard")
    for kind in kinds:
        mine = [r for r in runs if r.kind == kind]
        print(f"{kind:22} {len(mine):4} {sum(r.hit is not None for r in mine):4} {sum(r.outcome == 'passed' for r in mine):7} "
              f"{sum(r.outcome == 'infra_error' for r in mine):6} {sum(r.wrong for r in mine):6} {sum(bool(r.heard) for r in mine):6}")
    if options.json:
        rows = [{k: getattr(r, k) for k in ("kind", "operator", "delay_s", "status", "outcome", "code", "attempts", "heard", "wrong")}
                | {"hit": r.hit is not None} for r in runs]
        pathlib.Path(options.json).write_text(json.dumps({"seed": seed, "runs": rows}, indent=1) + "\n")
    return 1 if any(r.wrong for r in runs) else 0


sys.exit(main())
