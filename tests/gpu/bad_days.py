#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Bad days of a GPU: kernels that crash, hang or use up everything, killed processes, neighbours, missing parts.

    bad_days.py --judge build/release/bin/kgb-judge [--python PATH] [--device cuda:N] [--only REGEX]

A bad kernel must be rejected, a fault of the machine must be an infra_error with its reason, and after each an honest kernel
must pass on the same device. Prints TAP; exit status 0 when every check passes, 77 when no Python has torch and triton. With
--device cpu only the checks without a GPU run.
"""

import argparse
import fcntl
import json
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

from bad_kernels import BAD, CASES, ENDLESS_CALL, HEAD, HOLD_ALL, HONEST, KEEP_BUSY, ON_CPU, SPEC

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "corpus"))
import warm_judge  # noqa: E402
from warm_judge import Zygotes, find_python  # noqa: E402

VERDICT_S = 60
HONEST_S = 60


class Failure(Exception):
    """The text is the fault."""


def require(condition, text):
    if not condition:
        raise Failure(text)


# ---- processes ----

def parents():
    """{pid: (parent, name, command line, ticks of processor time)} of all processes."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            stat = pathlib.Path("/proc", entry, "stat").read_text(errors="replace")
            command = pathlib.Path("/proc", entry, "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        name = stat[stat.index("(") + 1:stat.rindex(")")]
        fields = stat[stat.rindex(")") + 2:].split()
        if fields[0] != "Z":
            ticks = int(fields[11]) + int(fields[12])
            found[int(entry)] = (int(fields[1]), name, command, ticks)
    return found


def descendants(root):
    """The same of the descendants of `root`."""
    everything = parents()
    found = {}
    grown = True
    while grown:
        grown = False
        for pid, facts in everything.items():
            if pid not in found and (facts[0] == root or facts[0] in found):
                found[pid] = facts
                grown = True
    return found


def wait_until(condition, seconds):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


# ---- judging ----

class Bench:
    def __init__(self, options, directory):
        self.options = options
        self.directory = pathlib.Path(directory)
        self.gpu = options.device != "cpu"
        self.count = 0
        self.zygotes = None
        (self.directory / "aten").mkdir()
        (self.directory / "cases").mkdir()
        self.spec = self.directory / "aten" / "aten__neg.yaml"
        self.spec.write_text(SPEC)
        (self.directory / "cases" / "few.yaml").write_text(CASES)
        self.honest = self.kernel(HONEST)
        self.speedup = None

    def kernel(self, source):
        self.count += 1
        path = self.directory / ("kernel_%d.py" % self.count)
        path.write_text(source)
        return path

    def start_zygotes(self):
        where = str(self.directory / "zygotes")
        self.zygotes = Zygotes(self.options.judge, where, self.options.device, self.options.python)
        require(self.zygotes.ready, "zygotes do not start")

    def stop_zygotes(self):
        if self.zygotes:
            self.zygotes.close()

    def start(self, kernel, cold=False, timing=False, env=None, wrapper=(), **more):
        request = warm_judge.request_fd(**{
            "spec": self.spec, "kernel": kernel, "python": self.options.python, "device": self.options.device,
            "timeout": "50s", "call_timeout": "3s", "zygotes": None if cold else self.directory / "zygotes",
            "timing": timing, **more})
        return subprocess.Popen([*wrapper, self.options.judge, "verify"], stdin=request, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env={**os.environ, **(env or {})}, start_new_session=True)

    def finish(self, process, seconds=VERDICT_S):
        """(verdict or None, exit status, text of stderr)"""
        try:
            out, said = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise Failure("no verdict within %d s" % seconds) from None
        try:
            verdict = json.loads(out)
        except ValueError:
            verdict = None
        return verdict, process.returncode, said.decode("utf-8", "replace").strip()

    def verdict(self, *args, seconds=VERDICT_S, **kwargs):
        verdict, status, said = self.finish(self.start(*args, **kwargs), seconds)
        require(verdict, "no verdict, exit %d: %s" % (status, said[:300]))
        return verdict

    def check_honest(self):
        """Checks that an honest kernel passes on this device now."""
        started = time.monotonic()
        verdict = self.verdict(self.honest, seconds=HONEST_S)
        require(verdict["status"] == "passed", "afterwards an honest kernel: " + describe(verdict))
        return time.monotonic() - started

    def helper(self, source):
        process = subprocess.Popen([self.options.python, "-c", source], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   text=True, env={**os.environ, "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
                                                   "CUDA_VISIBLE_DEVICES": self.number()})
        if not select.select([process.stdout], [], [], 40)[0] or process.stdout.readline().strip() != "ready":
            process.kill()
            raise Failure("the other process does not start")
        return process

    def number(self):
        return self.options.device.partition(":")[2] or "0"

    def lock_is_free(self):
        with open("/tmp/kgb-gpu-%s.lock" % self.number(), "rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                return False


def describe(verdict):
    return "%s %s: %s" % (verdict["status"], verdict["code"], (verdict["message"] or "")[:300])


def end(process):
    process.stdin.close()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


# ---- the days; each returns the text to print ----

def bad_kernel(bench, name):
    verdict = bench.verdict(bench.kernel(HEAD + BAD[name]))
    require(verdict["status"] in ("failed", "refused", "cheated"), describe(verdict))
    return tell(verdict)


def tell(verdict):
    health = verdict.get("gpu_health") or {}
    tested = "; tested in %d ms" % health["wall_ms"] if health.get("tested") else ""
    notes = "".join("; " + note for note in health.get("notes", []))
    return describe(verdict)[:200] + tested + notes


def honest_day(bench):
    return "passes in %.1f s" % bench.check_honest()


def timed_day(bench):
    verdict = bench.verdict(bench.honest, timing=True)
    require(verdict["status"] == "passed", describe(verdict))
    case = verdict["timing"]["cases"][0]
    if case["speedup"]:
        bench.speedup = case["speedup"]["value"]
    return "%s %s, floor %s of %s ns, machine %s" % (
        case["result"], case["speedup"], case["floor_ns"], case["candidate"]["event_ns"],
        verdict["timing"].get("machine"))


def by_data_day(bench):
    """An operator whose launches depend on data: nothing to replay, so the runner's results are judged, and counted."""
    spec = ROOT / "tests" / "fixtures" / "judge" / "aten" / "aten__nonzero.yaml"
    kernel = ROOT / "tests" / "redteam" / "process" / "by_data.py"
    verdict = bench.verdict(kernel, spec=spec)
    require(verdict["status"] == "passed", describe(verdict))
    judged = verdict["sandbox_judged_tests"]
    require(judged == verdict["total_tests"], "%d judged in the sandbox" % judged)
    return "%d of %d judged in the sandbox" % (judged, verdict["total_tests"])


def working_runners(family):
    """Processes that have worked for a second since they were forked from another one of the role "runner"."""
    return [pid for pid, (parent, _, command, ticks) in family.items()
            if b"runner" in command and parent in family and family[parent][2] == command and ticks > 100]


def start_endless(bench):
    """A judge in the midst of an endless call, with its own workers; (process, its descendants)."""
    process = bench.start(bench.kernel(ENDLESS_CALL), call_timeout="30s", lanes=1, cold=True)
    family = {}

    def runs():
        family.clear()
        family.update(descendants(process.pid))
        return working_runners(family)

    if not wait_until(runs, 45):
        os.killpg(process.pid, signal.SIGKILL)
        raise Failure("the endless call does not start: %s" % (process.communicate(),))
    time.sleep(2)
    return process, descendants(process.pid)


def runner_is_killed(bench):
    process, family = start_endless(bench)
    for pid in working_runners(family):
        os.kill(pid, signal.SIGKILL)
    verdict, status, said = bench.finish(process)
    require(verdict, "no verdict, exit %d: %s" % (status, said[:300]))
    require(verdict["status"] in ("failed", "infra_error"), describe(verdict))
    return tell(verdict)


def exec_is_killed(bench, cold):
    """Kills the judge's own processes, or all of the pool."""
    process = bench.start(bench.honest, lanes=1, timing=True, cold=cold)
    victims = []
    if not cold:
        time.sleep(1)

    def found():
        root = process.pid if cold else bench.zygotes.process.pid
        victims[:] = [pid for pid, facts in descendants(root).items() if facts[1] == "kgb-exec"]
        return victims

    require(wait_until(found, 40), "no kgb-exec found")
    for pid in victims:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    verdict, status, said = bench.finish(process)
    require(verdict, "no verdict, exit %d: %s" % (status, said[:300]))
    # A process that serves nobody yet is replaced.
    require(verdict["status"] == "infra_error" or (not cold and verdict["status"] == "passed"), describe(verdict))
    return tell(verdict)


def interrupted(bench, number):
    process, family = start_endless(bench)
    os.killpg(process.pid, number)
    process.communicate(timeout=10)
    gone = wait_until(lambda: not (family.keys() & parents().keys()), 10)
    left = [parents().get(pid) for pid in family.keys() & parents().keys()]
    require(gone, "still there: %s" % [facts[1] for facts in left if facts])
    if bench.gpu:
        require(bench.lock_is_free(), "the GPU is still locked")
    return "%d processes are gone" % len(family)


def ctrl_c(bench):
    return interrupted(bench, signal.SIGINT)


def judge_is_killed(bench):
    return interrupted(bench, signal.SIGKILL)


def memory_is_taken(bench):
    other = bench.helper(HOLD_ALL)
    try:
        verdict = bench.verdict(bench.honest, cold=True)  # processes of the pool have what they need
        require(verdict["status"] == "infra_error", "honest: " + describe(verdict))
        require("memory" in verdict["message"], describe(verdict))
        hog = bench.verdict(bench.kernel(HEAD + BAD["a tensor of 8 TiB"]))
        require(hog["status"] in ("infra_error", "failed"), "one that asks for too much: " + describe(hog))
    finally:
        end(other)
    return tell(verdict)


def busy_neighbour(bench):
    other = bench.helper(KEEP_BUSY)
    try:
        verdict = bench.verdict(bench.honest, timing=True)
    finally:
        end(other)
    require(verdict["status"] == "passed", describe(verdict))
    case = verdict["timing"]["cases"][0]
    if case["result"] in ("FASTER", "SLOWER") and bench.speedup:
        change = case["speedup"]["value"] / bench.speedup
        require(0.93 < change < 1.07, "%s %s, alone %.3f" % (case["result"], case["speedup"], bench.speedup))
    return "%s %s, %s; %s" % (case["result"], case["why"], case["speedup"], verdict["gpu_health"]["notes"])


def two_judges(bench):
    both = [bench.start(bench.honest, timing=True) for _ in range(2)]
    verdicts = [bench.finish(process)[0] for process in both]
    for verdict in verdicts:
        require(verdict and verdict["status"] == "passed", describe(verdict) if verdict else "no verdict")
    return ", ".join("%d ms" % verdict["wall_ms"] for verdict in verdicts)


def refused(bench, pattern, **more):
    """The judge cannot work, and gives the reason: in a verdict of infra_error, or on stderr."""
    verdict, status, said = bench.finish(bench.start(bench.honest, cold=True, **more))
    if verdict:
        require(verdict["status"] == "infra_error", describe(verdict))
        said = describe(verdict)
    else:
        require(status == 4, "exit %d: %s" % (status, said))
    require(re.search(pattern, said, re.IGNORECASE), said)
    return said[:300]


def hidden_gpu(bench):
    return refused(bench, "hidden by CUDA_VISIBLE_DEVICES", env={"CUDA_VISIBLE_DEVICES": ""})


def no_such_gpu(bench):
    return refused(bench, "GPU|CUDA", device="cuda:63")


def no_cupti(bench):
    return refused(bench, "cupti", cupti="/nonexistent/libcupti.so")


def no_driver(bench):
    """libcuda.so.1 is an empty file for the judge and all that it starts."""
    listed = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True).stdout
    paths = [os.path.realpath(line.split("=> ")[1]) for line in listed.splitlines() if "libcuda.so.1 " in line]
    if not paths:
        return "skipped: libcuda.so.1 is not where ldconfig knows it"
    hide = "".join("mount --bind /dev/null '%s' && " % path for path in sorted(set(paths)))
    wrapper = ["unshare", "-r", "-m", "sh", "-c", hide + 'exec "$@"', "sh"]
    if subprocess.run(["unshare", "-r", "-m", "sh", "-c", hide + "true"], capture_output=True).returncode != 0:
        return "skipped: no mount namespaces here"
    process = bench.start(bench.honest, cold=True, wrapper=wrapper)
    verdict, status, said = bench.finish(process)
    said = describe(verdict) if verdict else said
    require((verdict and verdict["status"] == "infra_error") or (not verdict and status == 4),
            "exit %d: %s" % (status, said))
    require(re.search("cuda|nvidia", said, re.IGNORECASE), said)
    return said[:300]


def days(gpu):
    listed = [("an honest kernel passes", honest_day), ("launches that depend on data", by_data_day)]
    if gpu:
        listed.append(("an honest kernel is timed", timed_day))
    for name in BAD:
        if gpu or name in ON_CPU:
            listed.append((name, lambda bench, name=name: bad_kernel(bench, name)))
    listed += [
        ("the runner is killed in the midst of a call", runner_is_killed),
        ("Ctrl-C in the midst of a call", ctrl_c),
        ("the judge is killed in the midst of a call", judge_is_killed),
        ("two judges at once", two_judges),
    ]
    if gpu:
        listed += [
            ("kgb-exec is killed", lambda bench: exec_is_killed(bench, True)),
            ("the pool's kgb-exec processes are killed", lambda bench: exec_is_killed(bench, False)),
            ("another process holds all memory", memory_is_taken),
            ("another process keeps the GPU busy while it is timed", busy_neighbour),
            ("the GPU is hidden", hidden_gpu),
            ("there is no such GPU", no_such_gpu),
            ("there is no CUPTI", no_cupti),
            ("there is no driver", no_driver),
        ]
    return listed


def nvml_cost(python):
    """The time that the judge spends in the driver's management library."""
    source = ("import ctypes, time; t = time.monotonic(); n = ctypes.CDLL('libnvidia-ml.so.1'); r = n.nvmlInit_v2(); "
              "print('nvmlInit: %d, %.1f ms' % (r, 1e3 * (time.monotonic() - t)))")
    done = subprocess.run([python, "-c", source], capture_output=True, text=True)
    print("# " + (done.stdout.strip() or "no libnvidia-ml.so.1"))


def run_day(bench, name, day):
    started = time.monotonic()
    told, good = "", True
    try:
        told = day(bench)
        bench.check_honest()
    except Failure as failure:
        told, good = str(failure), False
    return good, told, time.monotonic() - started


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--judge", required=True)
    parser.add_argument("--python")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    options.judge = os.path.abspath(options.judge)
    options.python = find_python(options.python)
    if not options.python:
        print("1..0 # SKIP no Python with torch and triton")
        return 1 if "bad_days" in os.environ.get("KGB_TESTS_MUST_RUN", "") else 77
    os.environ.setdefault("KGB_DATA_DIR", str(ROOT))
    n_bad = 0
    with tempfile.TemporaryDirectory(prefix="kgb-bad-days-") as directory:
        bench = Bench(options, directory)
        chosen = [(name, day) for name, day in days(bench.gpu) if re.search(options.only, name)]
        print("1..%d" % len(chosen), flush=True)
        if bench.gpu:
            nvml_cost(options.python)
        bench.start_zygotes()
        try:
            for i, (name, day) in enumerate(chosen, 1):
                good, told, seconds = run_day(bench, name, day)
                n_bad += not good
                print("%s %d - %s (%.1f s)\n#   %s" % ("ok" if good else "not ok", i, name, seconds,
                                                   told.replace("\n", " ")), flush=True)
        finally:
            bench.stop_zygotes()
    print("# %d of %d went wrong" % (n_bad, len(chosen)))
    return 1 if n_bad else 0


if __name__ == "__main__":
    sys.exit(main())
