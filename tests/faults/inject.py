#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Causes faults of the machine in the middle of runs; no operator may fail by them.

    inject.py [--runs N] [--seed S] [--kind KIND]... [--jobs N] [--keep] [--json FILE]

Each run is `kgb-agent OPERATOR -m normal_cc` with the built-in model (which passes without faults). At a random moment one of its
helper processes gets SIGKILL, or a limit makes calls fail: descriptors of kgb-agent (EMFILE), memory of the judge (ENOMEM), the disk
of the run (ENOSPC). Limits are lifted after some seconds. Prints a line for each run and a table by kind. A run is wrong
when an operator ends `failed`, `refused`, `cheated` or `timeout`, when kgb-agent itself breaks (status 70, a signal), or when an undisturbed
resume afterwards does not pass. Exit status 1 when any run was wrong.

PATH must have kgb-agent. KINDS below lists the kinds.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import json
import os
import pathlib
import random
import resource
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
KILLED = {
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
# Kinds that no worker of the judge belongs to.
OF_AGENT = ("agent's kgb-launch", "agent's bwrap", "kgb-judge verify")


@contextlib.contextmanager
def limited(pid, what, value):
    """A soft limit of another process, lifted at the end unless the process is gone."""
    before = resource.prlimit(pid, what)
    resource.prlimit(pid, what, (value, before[1]))
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(pid, what, before)


@contextlib.contextmanager
def descriptors_exhausted(run, table):
    """No descriptor above the highest that kgb-agent has open now can be opened."""
    del table
    highest = max(int(name) for name in os.listdir(f"/proc/{run.process.pid}/fd"))
    with limited(run.process.pid, resource.RLIMIT_NOFILE, highest + 1):
        yield


@contextlib.contextmanager
def memory_exhausted(run, table):
    """The judge that runs now cannot map more memory."""
    judge = random.choice([p for p in below(run.process.pid, table) if is_program(table, p, "kgb-judge", "verify")])
    pages = int(pathlib.Path(f"/proc/{judge}/statm").read_text().split()[0])
    with limited(judge, resource.RLIMIT_AS, pages * resource.getpagesize()):
        yield


@contextlib.contextmanager
def disk_full(run, table):
    """The file system of the run's folder has no free block."""
    del table
    fill = run.runs / "fill"
    try:
        with contextlib.suppress(OSError), fill.open("wb", buffering=0) as out:
            while True:
                out.write(bytes(4096))
        yield
    finally:
        with contextlib.suppress(OSError):
            fill.unlink()


# What is exhausted for some seconds: name -> context of (run, table of processes).
EXHAUSTED = {"descriptors": descriptors_exhausted, "memory of the judge": memory_exhausted, "disk": disk_full}
KINDS = [*KILLED, *EXHAUSTED]
DISK_BYTES = 256 << 20
EXHAUSTED_S = 3


class Run:
    """One run with one fault, in a folder that is a small file system of its own for kind "disk"."""

    def __init__(self, kind, operator, delay_s, folder):
        self.kind, self.operator, self.delay_s, self.folder = kind, operator, delay_s, folder
        self.hit = False
        self.log = folder / "log"
        self.runs = folder / "runs"

    def command(self, *words):
        """Start kgb-agent with these words. Where workers are killed they are its own, not shared ones."""
        environment = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY")}
        if self.kind not in OF_AGENT:
            environment.pop("KGB_ZYGOTES", None)
        with (self.folder / "out.json").open("w") as out, self.log.open("a") as log:
            return subprocess.Popen(["kgb-agent", *words, "--runs-dir", str(self.runs), "--json"], stdin=subprocess.DEVNULL, stdout=out,
                                    stderr=log, env=environment)

    def kill_one(self, table):
        """SIGKILL for one process of the kind; False when there is none."""
        test = KILLED[self.kind]
        candidates = [p for p in below(self.process.pid, table) if test(table, p, self.process.pid)]
        if not candidates:
            return False
        os.kill(random.choice(candidates), signal.SIGKILL)
        return True

    def exhaust(self, table):
        """Take the kind's resource away for some seconds; False when the process that shall lack it is not there."""
        try:
            with EXHAUSTED[self.kind](self, table):
                time.sleep(EXHAUSTED_S)
        except (IndexError, OSError):
            return False
        return True

    def inject(self):
        """Cause the fault after the delay, as soon as there is a process that it can hit."""
        time.sleep(self.delay_s)
        fault = self.kill_one if self.kind in KILLED else self.exhaust
        while self.process.poll() is None and not self.hit:
            try:
                self.hit = fault(processes())
            except ProcessLookupError:
                pass
            if not self.hit:
                time.sleep(0.01)

    def wait(self):
        try:
            return self.process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return -signal.SIGKILL

    def read(self):
        """What results.json says of the operator."""
        results = list(self.runs.glob("*/results.json"))
        operators = json.loads(results[0].read_text())["operators"] if results else {}
        operator = next(iter(operators.values()), {})
        self.outcome = operator.get("status", "none")
        self.code = operator.get("error_code")
        self.attempts = [a["end"] for a in operator.get("attempts", [])]
        self.checks = [(c["status"], c["code"]) for c in operator.get("verify_calls", [])]
        # The wrong kernel of the built-in script fails once, with a mismatch; anything else that the agent heard is a fault.
        self.heard = [c for c in self.checks if c not in (("passed", None), ("failed", "verify.mismatch"))]

    def run(self):
        self.runs.mkdir()
        if self.kind == "disk":
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(self.runs)], check=True)
        try:
            self.process = self.command(self.operator, "-m", "normal_cc")
            self.inject()
            self.status = self.wait()
            self.read()
            self.wrong = (self.outcome in ("failed", "refused", "cheated", "timeout") or self.status not in (0, 1, 4)
                          or self.checks.count(("failed", "verify.mismatch")) > len(self.attempts))
            first = f"status {self.status} {self.outcome} {self.code or ''} attempts {self.attempts} heard {self.heard}"
            self.resumed = None
            if not self.wrong and self.outcome != "passed":
                again = ["resume"] if list(self.runs.glob("*/journal.jsonl")) else [self.operator, "-m", "normal_cc"]
                self.process = self.command(*again)
                self.resumed = self.wait()
                self.read()
                self.wrong = self.resumed != 0 or self.outcome != "passed"
                first += f", again: {self.resumed} {self.outcome}"
            self.text = (f"{'WRONG' if self.wrong else 'ok':5} {self.kind:22} after {self.delay_s:4.1f} s {'hit' if self.hit else 'missed':6} "
                         f"{self.operator:8} {first}")
        finally:
            if self.kind == "disk":
                subprocess.run(["umount", "--lazy", str(self.runs)], check=True)
        return self


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=len(KINDS))
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--kind", action="append", choices=sorted(KINDS))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--json")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    random.seed(seed)
    kinds = options.kind or KINDS
    if "disk" in kinds and os.geteuid() != 0:
        parser.error("kind disk mounts a file system: run as root, or name other kinds")
    print(f"# seed {seed}, {options.runs} runs")
    place = pathlib.Path(tempfile.mkdtemp(prefix="kgb-faults-"))
    runs = [Run(kinds[i % len(kinds)], random.choice(OPERATORS), round(random.uniform(0, 4), 2), place / str(i)) for i in range(options.runs)]
    for run in runs:
        run.folder.mkdir()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for done in concurrent.futures.as_completed([pool.submit(run.run) for run in runs]):
            run = done.result()
            print(run.text, flush=True)
            if run.wrong:
                sys.stdout.write("".join("      " + text for text in run.log.read_text().splitlines(keepends=True)[-12:]))
                print(f"      in {run.folder}", flush=True)
            elif not options.keep:
                shutil.rmtree(run.folder)
    print(f"\n{'kind':22} runs  hit  passed  again  wrong  heard")
    for kind in kinds:
        mine = [r for r in runs if r.kind == kind]
        print(f"{kind:22} {len(mine):4} {sum(r.hit for r in mine):4} {sum(r.outcome == 'passed' for r in mine):7} "
              f"{sum(r.resumed is not None for r in mine):6} {sum(r.wrong for r in mine):6} {sum(bool(r.heard) for r in mine):6}")
    if options.json:
        names = ("kind", "operator", "delay_s", "hit", "status", "outcome", "code", "attempts", "heard", "resumed", "wrong")
        rows = [{name: getattr(r, name) for name in names} for r in runs]
        pathlib.Path(options.json).write_text(json.dumps({"seed": seed, "runs": rows}, indent=1) + "\n")
    return 1 if any(r.wrong for r in runs) else 0


sys.exit(main())
