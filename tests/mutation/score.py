#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plants known defects in the judge, one at a time, and counts the defects that the tests detect.

    score.py [--jobs N] [--only REGEX] [--dir PATH] [--list] [--check]

The defects are in defects/<area>.txt; docs/mutation.md describes the form. Every worker has a copy of the source tree
and a separate build below PATH (build/mutation). For each defect it applies the defect, builds the programs that its tests
need, runs the tests until one fails, and undoes the defect. Prints each defect with the test that caught it, then the score
with its 95 % Wilson interval.

--check only checks that every defect still fits its file. Exit status 0: all fit, their tests pass without them, and the tests
caught at least 95 %; 1: not; 2: the tree does not build.
"""

import argparse
import concurrent.futures
import fcntl
import os
import pathlib
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests" / "corpus"))
sys.dont_write_bytecode = True
import corpus_rates  # noqa: E402
import run_corpus  # noqa: E402

GOAL = 0.95
GPU = "gpu"  # the area of defects that no test without a GPU can reach
KEYS = ("what", "file", "test", "survives")
LEAST_TIMEOUT_S, MOST_TIMEOUT_S = 60, 600
CAUGHT, SURVIVED, BROKEN = "caught", "SURVIVED", "ERROR"


class ListError(Exception):
    """A fault of the list, not of the judge."""


class Defect:
    def __init__(self, area, name, place):
        self.name = "%s/%s" % (area, name)
        self.area, self.place = area, place
        self.what = self.file = self.survives = ""
        self.tests, self.old, self.new = [], [], []

    def applied(self, text):
        """The text of the file with the defect in it. A blank in the old text matches any blanks."""
        words = "\n".join(self.old).split()
        found = list(re.finditer(r"\s+".join(map(re.escape, words)), text))
        if len(found) != 1:
            raise ListError("%s: the old text is %d times in %s" % (self.place, len(found), self.file))
        return text[:found[0].start()] + "\n".join(self.new).strip() + text[found[0].end():]


def read_defects(path):
    defects, area = [], path.stem
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        place = "%s:%d" % (path.relative_to(ROOT), number)
        head = re.fullmatch(r"\[([a-z0-9_]+)\]", line)
        pair = re.fullmatch(r"([a-z]+): (\S.*)", line)
        if head:
            defects.append(Defect(area, head.group(1), place))
        elif not line or line[0] == "#":
            continue
        elif not defects:
            raise ListError("%s: not inside a defect" % place)
        elif line[0] in "-+":
            (defects[-1].old if line[0] == "-" else defects[-1].new).append(line[2:])
        elif not pair or pair.group(1) not in KEYS:
            raise ListError("%s: neither '- old', '+ new' nor one of: %s" % (place, ", ".join(KEYS)))
        elif pair.group(1) == "test":
            defects[-1].tests.append(pair.group(2))
        else:
            setattr(defects[-1], pair.group(1), pair.group(2))
    return defects


def all_defects():
    return complete([defect for path in sorted((HERE / "defects").glob("*.txt")) for defect in read_defects(path)])


def complete(defects):
    names = set()
    for defect in defects:
        if defect.name in names:
            raise ListError("%s: %s is there twice" % (defect.place, defect.name))
        names.add(defect.name)
        if not (defect.what and defect.file and defect.tests and defect.old):
            raise ListError("%s: 'what', 'file', 'test' and old text are needed" % defect.place)
        for test in defect.tests:
            if not re.fullmatch(r"unit\.\w+( \S+)?|(fuzz|gpu|integration)\.[\w-]+|(corpus|process):\S+", test):
                raise ListError("%s: no test is named '%s'" % (defect.place, test))
    return defects


def check(defects):
    """Sentences about defects that do not fit their files."""
    wrong = []
    for defect in defects:
        try:
            text = (ROOT / defect.file).read_text(encoding="utf-8")
            if defect.applied(text) == text:
                wrong.append("%s: changes nothing" % defect.place)
        except (ListError, OSError) as error:
            wrong.append(str(error))
    return wrong


# ---- a copy of the tree, and its build ----

def tree():
    """Files that git tracks or would track."""
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-coz", "--exclude-standard"], check=True,
                            stdout=subprocess.PIPE).stdout.decode()
    return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def put(path, data):
    """Writes only a file that differs, because the build compares times."""
    if not path.is_file() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


class Tree:
    def __init__(self, directory, python):
        self.source, self.build = directory / "source", directory / "build"
        self.python = python
        self.environment = dict(os.environ, CMOCKA_MESSAGE_OUTPUT="TAP", LC_ALL="C", TZ="UTC", KGB_TESTS_MUST_RUN="",
                                KGB_TEST_SOURCE_DIR=str(self.source), KGB_TEST_BIN_DIR=str(self.build / "bin"),
                                **({"KGB_PYTHON": python} if python else {}))
        self.environment.pop("KGB_DATA_DIR", None)
        self.warm = None  # warm processes of the judge, for defects that do not change their code

    def copy(self):
        names = tree()
        for name in names:
            put(self.source / name, (ROOT / name).read_bytes())
            shutil.copymode(ROOT / name, self.source / name)
        wanted = {self.source / name for name in names}
        for path in self.source.rglob("*"):
            if path.is_file() and path not in wanted:
                path.unlink()

    def environment_of(self, test):
        if test.startswith("unit.test_gpu_health"):
            return dict(self.environment, LD_LIBRARY_PATH=str(self.build / "tests/fake"))  # a stand-in for the driver
        return self.environment

    def run(self, argv):
        """(exit status, output)"""
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env=self.environment)
        return done.returncode, done.stdout.decode("utf-8", "replace")

    def configure(self):
        argv = ["cmake", "-S", str(self.source), "-B", str(self.build), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug",
                "-DKGB_WERROR=ON"]
        if shutil.which("ccache"):
            argv.append("-DCMAKE_C_COMPILER_LAUNCHER=ccache")
        headers = os.environ.get("KGB_CUDA_INCLUDE") or str(ROOT / ".deps" / "cuda" / "include")
        if os.path.isfile(os.path.join(headers, "cuda.h")):
            argv.append("-DKGB_CUDA_INCLUDE=" + headers)
        status, output = self.run(argv)
        if status != 0:
            raise ListError("the tree cannot be configured:\n" + output[-2000:])

    def make(self, tests):
        targets = sorted({target for test in tests for target in targets_of(test)})
        if not targets:
            return
        status, output = self.run(["ninja", "-C", str(self.build), *targets])
        if status != 0:
            why = re.search(r"^.*(: error: |undefined reference|unknown target).*$", output, re.MULTILINE)
            raise ListError("does not build: %s" % (why.group(0) if why else output[-300:]).strip())

    def warm_up(self):
        """A directory with warm processes for process.py, as long as this process lives."""
        if not self.warm:
            directory = tempfile.mkdtemp(prefix="kgb-mutation-")
            argv = self.judge_command("mutation/process.py") + ["serve:" + directory]
            self.warm = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.environment,
                                         start_new_session=True, text=True), directory
            self.warm[0].stdout.readline()
        return self.warm[1]

    def cool_down(self):
        if self.warm:
            self.warm[0].stdin.close()
            self.warm[0].wait()
            shutil.rmtree(self.warm[1])
            self.warm = None

    def test(self, test, timeout, is_warm):
        """The failure, or "" without one. Ends the program at the first case that fails."""
        process = subprocess.Popen(self.command(test, is_warm), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, env=self.environment_of(test), start_new_session=True)
        late = threading.Event()
        watchdog = threading.Timer(timeout, lambda: (late.set(), end(process)))
        watchdog.start()
        failed, skipped, last = "", False, ""
        for line in process.stdout:
            last = line.decode("utf-8", "replace").strip() or last
            case = re.match(r"not ok \d+ -? ?(.*)", last)
            skipped = "***Skipped" in last or "# SKIP" in last or "No tests were found" in last
            failed = (case.group(1)[:100] or "a case") if case else ""
            if skipped or failed:
                end(process)
                break
        process.stdout.close()
        status = process.wait()
        watchdog.cancel()
        if skipped:
            raise ListError("%s was not run: %s" % (test, last))
        if late.is_set():
            return "no end within %d s" % timeout
        return failed or ("" if status == 0 else "exit status %d: %s" % (status, last[:100]))

    def judge_command(self, script):
        return [sys.executable, str(self.source / "tests" / script), "--judge", str(self.build / "bin" / "kgb-judge"),
                "--python", self.python or "python3"]

    def command(self, test, is_warm):
        kind, what = re.match(r"(\w+)[.:](.*)", test).groups()
        if kind == "corpus":
            return self.judge_command("corpus/run_corpus.py") + ["--jobs", "1", "--only", what]
        if kind == "process":
            at = ["--at", self.warm_up()] if is_warm and what != "@zygotes_die" else []
            return self.judge_command("mutation/process.py") + at + [what]
        if kind == "unit" and not is_python(what):
            program, *cases = what.split()  # the program, and a pattern for its cases
            return [str(self.build / "tests" / program), *cases]
        if kind == "integration":
            return ["sh", str(self.source / "tests/integration" / (what + ".sh"))]
        return ["ctest", "--test-dir", str(self.build), "-R", "^%s$" % re.escape(test), "--output-on-failure"]


def end(process):
    """SIGTERM first, so that a judge ends its sandboxes."""
    for signal_number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, signal_number)
        except ProcessLookupError:
            return
        time.sleep(0.3)


# Code that runs in the judge's warm processes, or starts them.
IN_WARM = re.compile(r"verify/python/|verify/process/zygote\.c|verify/cmd/cmd_zygotes\.c|verify/protocol/wire\.c|sandbox/|base/")
JUDGE = ["kgb-judge", "kgb-launch", "_kgbrun"]
INTEGRATION = {"t0320-provenance": ["provenance_driver", *JUDGE],
               "t0321-source": ["provenance_driver", *JUDGE],
               "t0215-judge-trouble": ["kgb-agent", "kgb-verify", "kgb-confine", *JUDGE],
               "t0235-walls": ["kgb-agent", "kgb-launch", "kgb-confine", "kgb-verify"]}
UNIT = {"test_gpu_health": ["test_gpu_health", "fake_nvml"], "test_torch_move": ["torch_move_library"],
        "test_cpu_records": ["_kgbrun", "kgb_cpu_trace_so"]}


def is_python(unit):
    return any((ROOT / "tests/unit").rglob(unit.split()[0] + ".py"))


def targets_of(test):
    kind, name = re.match(r"(\w+)[.:](\S*)", test).groups()
    if kind == "unit":
        return UNIT.get(name, [] if is_python(name) else [name])
    if kind == "fuzz":
        return ["fuzz_" + name]
    if kind == "gpu":
        return ["exec_check", "fake_cuda", "kgb-exec"]
    if kind == "integration":
        return INTEGRATION.get(name, ["all"])
    return JUDGE


# ---- one defect ----

class Result:
    def __init__(self, defect, outcome, text, seconds):
        self.defect, self.outcome, self.text, self.seconds = defect, outcome, text, seconds


def try_defect(worker, defect, limits):
    path = worker.source / defect.file
    clean = path.read_bytes()
    started = time.monotonic()
    outcome, text = SURVIVED, defect.survives or "by " + ", ".join(defect.tests)
    try:
        path.write_text(defect.applied(clean.decode("utf-8")), encoding="utf-8")
        worker.make(defect.tests)
        for test in defect.tests:
            if isinstance(limits[test], str):
                raise ListError("%s fails without a defect" % test)
            failure = worker.test(test, limits[test], not IN_WARM.match(defect.file))
            if failure:
                outcome, text = CAUGHT, "%s: %s" % (test, failure)
                break
    except ListError as error:
        outcome, text = BROKEN, str(error)
    finally:
        path.write_bytes(clean)
    return Result(defect, outcome, text, time.monotonic() - started)


def measure(worker, tests):
    """For each test its time limit, or the reason why it fails without any defect."""
    limits = {}
    worker.copy()
    worker.configure()
    worker.make(tests)
    for test in tests:
        started = time.monotonic()
        failure = worker.test(test, MOST_TIMEOUT_S, True)
        seconds = time.monotonic() - started
        limits[test] = failure or min(MOST_TIMEOUT_S, max(LEAST_TIMEOUT_S, 20 * seconds))
        if failure:
            print("# %s fails without a defect: %s" % (test, failure), flush=True)
    return limits


def try_all(defects, options, python):
    """Results in the order of their ends. Defects of one file follow each other, so that little is built twice."""
    workers = [Tree(options.dir / ("%d" % i), python) for i in range(options.jobs)]
    tests = sorted({test for defect in defects for test in defect.tests})
    print("# %d defects; first %d tests without any" % (len(defects), len(tests)), flush=True)
    limits = measure(workers[0], tests)
    for worker in workers[1:]:
        worker.copy()
        worker.configure()
    idle = queue.SimpleQueue()
    for worker in workers:
        idle.put(worker)
    lock = threading.Lock()
    results = []

    def of_file(group):
        worker = idle.get()
        try:
            for defect in group:
                result = try_defect(worker, defect, limits)
                with lock:
                    results.append(result)
                    show(result)
        finally:
            idle.put(worker)

    groups = {}
    for defect in defects:
        groups.setdefault(defect.file, []).append(defect)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(of_file, groups.values()))
    for worker in workers:
        worker.cool_down()
    return results


# ---- the report ----

def show(result):
    print("%-8s %s: %s\n         %s (%.1f s)" % (result.outcome, result.defect.name, result.defect.what,
                                                result.text.replace("\n", "\n         "), result.seconds), flush=True)


def share(hits, n):
    low, high = corpus_rates.wilson(hits, n)
    return "%d of %d = %.1f %% (95 %% interval %.1f to %.1f %%)" % (hits, n, 100 * hits / max(n, 1), 100 * low, 100 * high)


def summarise(results, n_gpu):
    counted = [result for result in results if result.outcome != BROKEN]
    caught = sum(result.outcome == CAUGHT for result in counted)
    print("# %-12s %8s %8s" % ("area", "defects", "caught"))
    for area in sorted({result.defect.area for result in results}):
        group = [result for result in counted if result.defect.area == area]
        print("# %-12s %8d %8d" % (area, len(group), sum(result.outcome == CAUGHT for result in group)))
    for result in results:
        if result.outcome != CAUGHT:
            print("# %s %s: %s" % (result.outcome, result.defect.name, result.text.splitlines()[0]))
    print("# needs a GPU, not tried here: %d" % n_gpu)
    print("# mutation score: %s" % share(caught, len(counted)))
    return 0 if len(counted) == len(results) and counted and caught / len(counted) >= GOAL else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=1, help="workers, each with a separate build")
    parser.add_argument("--only", default="", help="regular expression for area/name or file")
    parser.add_argument("--dir", type=pathlib.Path, default=ROOT / "build" / "mutation")
    parser.add_argument("--list", action="store_true", help="print the defects only")
    parser.add_argument("--check", action="store_true", help="only check that all defects fit their files")
    options = parser.parse_args()
    try:
        defects = all_defects()
    except ListError as error:
        sys.exit(str(error))
    if options.check:
        wrong = check(defects)
        print("\n".join(wrong + ["%d defects, %d do not fit" % (len(defects), len(wrong))]))
        return 1 if wrong else 0
    chosen = [d for d in defects if re.search(options.only, d.name) or re.search(options.only, d.file)]
    if options.list:
        for defect in chosen:
            print("%s (%s): %s" % (defect.name, defect.file, defect.what))
        return 0
    here = [defect for defect in chosen if defect.area != GPU]
    options.dir.mkdir(parents=True, exist_ok=True)
    lock = os.open(options.dir, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit("another run uses %s" % options.dir)
    started = time.monotonic()
    try:
        results = try_all(here, options, run_corpus.find_python(None))
    except ListError as error:
        print(error)
        return 2
    finally:
        os.close(lock)
    status = summarise(results, len(chosen) - len(here))
    print("# took %.0f s" % (time.monotonic() - started))
    return status


if __name__ == "__main__":
    sys.exit(main())
