#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks all of kgb-agent on a machine with a GPU, without network, coding CLI and API key.

    agent_check.py --bin build/release/bin [--python PATH] [--device cuda[:N,...]] [--device-count 3] [--only REGEX]

Runs it over honest and cheating kernels of the tests, verifies that run again, lets a scripted agent request checks,
interrupts a run, and hides the GPU. Prints TAP; exit status 0 when every check passes, 77 when no Python has torch and
triton. With --device cpu it does the same without speedups, on fewer kernels.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from bad_days import Failure, descendants, find_python, parents, require, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
HONEST = {
    "aten::add": "aten__add/flat_docstring.py",
    "aten::silu": "aten__silu/flat.py",
    "aten::softmax": "aten__softmax/row_in_registers.py",
    "aten::sum": "aten__sum/rows_named_tuple.py",
    "aten::mm": "aten__mm/tiled.py",
    "aten::mul": "aten__mul/flat_promoted.py",
}
CHEATS = {
    "aten::cos": ("aten__cos/polynomial.py", "verify.mismatch", "failed"),
    "aten::div": ("aten__div/true_divide_aliased.py", "l1.torch_compute", "refused"),  # a static rule: nothing ran
    "aten::mean": ("aten__mean/every_second.py", "verify.mismatch", "failed"),
}
FEW = ("aten::silu", "aten::softmax", "aten::cos", "aten::div")  # verified twice; on the CPU there are only these
SIDES = ("baseline", "candidate")
SPEEDUPS = ("speedup", "speedup_low", "speedup_high")
WALL_S = 300
NOISE = 1.1  # speedups of two verdicts on one kernel differ by less than this factor

# A coding CLI that writes a kernel, requests a check and reports success; it runs in the agent's sandbox.
FAKE_CLI = """#!/bin/sh
[ "${1:-}" != --version ] || { echo 0.0.0; exit 0; }
echo '{"type":"system","subtype":"init","session_id":"s","claude_code_version":"0"}'
cat >/ws/kernel.py <<'KGB_EOF'
%s
KGB_EOF
kgb-verify >/ws/report.txt
echo '{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed","num_turns":1,"result":"done",\
"permission_denials":[],"modelUsage":{}}'
"""

# Such a CLI in rounds: a slow kernel, a fast one, one that loses an element.
ROUNDS_CLI = """#!/bin/sh
[ "${1:-}" != --version ] || { echo 0.0.0; exit 0; }
echo '{"type":"system","subtype":"init","session_id":"s","claude_code_version":"0"}'
round=$(sed -n 's/^## Round \\([0-9]*\\) .*/\\1/p' /ws/TASK.md)
cat >/ws/kernel.py <<'KGB_EOF'
%s
KGB_EOF
[ "$round" != 1 ] || sed -i 's/1024/%d/g' /ws/kernel.py
[ "$round" != 3 ] || sed -i 's/< n$/< n - 1/' /ws/kernel.py
echo '{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed","num_turns":1,\
"result":"round '"$round"'","permission_denials":[],"modelUsage":{}}'
"""

# A program in the agent's sandbox that prints the number of GPUs, and the results of using the first (driver, torch).
LOOKING_CLI = """#!/bin/sh
[ "${1:-}" != --version ] || { echo 0.0.0; exit 0; }
echo '{"type":"system","subtype":"init","session_id":"s","claude_code_version":"0"}'
python3 - >/ws/gpus.json <<'KGB_EOF'
import ctypes, json
n, results = ctypes.c_int(0), []
try:
    cuda = ctypes.CDLL("libcuda.so.1")
    results += [cuda.cuInit(0), cuda.cuDeviceGetCount(ctypes.byref(n))]
except OSError:
    pass
if n.value > 0:
    context, memory, size = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_size_t(1 << 20)
    results += [cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), cuda.cuCtxSetCurrent(context),
                cuda.cuMemAlloc_v2(ctypes.byref(memory), size), cuda.cuMemsetD8_v2(memory, ctypes.c_ubyte(1), size),
                cuda.cuCtxSynchronize()]
    import torch
    results += [torch.cuda.device_count() - 1, int(torch.ones(8, device="cuda").sum()) - 8]
print(json.dumps([n.value, results]))
KGB_EOF
echo x >/ws/kernel.py
echo '{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed","num_turns":1,"result":"done",\
"permission_denials":[],"modelUsage":{}}'
"""


class Bench:
    def __init__(self, options, directory):
        self.options = options
        self.directory = pathlib.Path(directory)
        self.gpu = options.device != "cpu"
        self.device = "cuda:0" if options.device == "cuda" else options.device.split(",")[0]
        self.kernels = self.directory / "kernels"
        self.kernels.mkdir()
        kernels = {**HONEST, **{name: row[0] for name, row in CHEATS.items()}}
        self.expected = kernels if self.gpu else {name: kernels[name] for name in FEW}
        for name, path in self.expected.items():
            folder = "honest" if name in HONEST else "redteam"
            shutil.copy(ROOT / "tests" / folder / path, self.kernels / (name.replace("::", "__") + ".py"))
        self.first = None

    def start(self, *args, env=None):
        own = {"KGB_PYTHON": self.options.python, "KGB_GATEWAY_MODE": "offline", **(env or {})}
        return subprocess.Popen([str(self.options.bin / "kgb-agent"), *map(str, args)], cwd=self.directory,
                                env={**os.environ, **own}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def run(self, status, *args, env=None):
        """stdout of a call that must end with one of these statuses."""
        process = self.start(*args, env=env)
        try:
            out, said = process.communicate(timeout=WALL_S)
        except subprocess.TimeoutExpired:
            process.kill()
            raise Failure("%s: no end after %d s" % (" ".join(map(str, args)), WALL_S)) from None
        require(process.returncode in status, "%s: exit %d: %s" % (" ".join(map(str, args)), process.returncode,
                                                                   said.strip()[-1500:]))
        return out, said

    def where(self):
        return ["--device", self.options.device, "--device-count", self.options.device_count]


def check_operator(bench, name, op):
    """One operator of results.json. Returns the text to print about it."""
    require(op["platform"] == ("cuda" if bench.gpu else "cpu"), "%s: platform %s" % (name, op["platform"]))
    require(op["device"].split(":")[0] == op["platform"], "%s: device %s" % (name, op["device"]))
    if name in CHEATS:
        code, status = CHEATS[name][1:]
        require((op["error_code"], op["status"]) == (code, status), "%s: %s %s" % (name, op["status"], op["error_code"]))
        require(op["speedup"] is None, "%s: a speedup for a kernel that was rejected" % name)
        return op["error_code"]
    require(op["status"] == "passed", "%s: %s %s: %s" % (name, op["status"], op["error_code"], op["error"]))
    if not bench.gpu:
        require(all(op[key] is None for key in SPEEDUPS), "%s: a speedup on the CPU" % name)
        return "passed"
    if op["speedup"] is None:
        require(op["timing_note"], "%s: neither a speedup nor a reason" % name)
        return "no speedup: " + op["timing_note"]
    require(op["gpu"], "%s: the GPU has no name" % name)
    require((op["speedup_low"] or 0) <= op["speedup"] <= (op["speedup_high"] or op["speedup"]), "%s: %s" % (
        name, [op[key] for key in SPEEDUPS]))
    cases = op["timed_cases"].values()
    require(all(case[side]["ms"] > 0 and 0 < case[side]["peak_share"] for case in cases for side in SIDES), "%s: %s" % (
        name, op["timed_cases"]))
    return "%.4g [%.4g, %.4g], at most %.2g of the peak" % (
        op["speedup"], op["speedup_low"] or 0, op["speedup_high"] or float("inf"),
        max(case["candidate"]["peak_share"] for case in cases))


def check_results(bench, results, names):
    told = ["%s %s" % (name, check_operator(bench, name, results["operators"][name])) for name in names]
    mean = results["summary"]["speedup"]
    timed = [op for op in results["operators"].values() if op["status"] == "passed" and op["speedup"] is not None]
    require(mean["operators"] == len(timed), "%d speedups, %d told" % (len(timed), mean["operators"]))
    require(not bench.gpu or 2 * len(timed) >= sum(name in HONEST for name in results["operators"]),
            "too few speedups: " + "; ".join(told))
    schema = ROOT / "docs" / "schemas" / "results.schema.json"
    path = bench.directory / "results.json"
    path.write_text(json.dumps(results))
    done = subprocess.run([sys.executable, ROOT / "tests" / "helpers" / "validate_schema.py", schema, path],
                          capture_output=True, text=True)
    require(done.returncode == 0, done.stdout + done.stderr)
    return "; ".join(told) + "; mean %s" % mean["geometric_mean"]


# ---- the checks ----

def doctor(bench):
    out, _ = bench.run((0, 4), "doctor", "--device", bench.options.device, "--json")  # 4: no coding CLI here
    lines = [check for check in json.loads(out)["checks"] if check["name"] in ("gpu", "torch-gpu")]
    require(all(check["status"] == "PASS" for check in lines), json.dumps(lines))
    require(len(lines) >= (2 if bench.gpu else 1), json.dumps(lines))
    return "; ".join(check["detail"] for check in lines)


def kernels_are_judged(bench):
    out, _ = bench.run((1,), "--kernels", bench.kernels, *bench.where(), "--json")
    bench.first = json.loads(out)
    require(set(bench.first["operators"]) == set(bench.expected), "other operators than kernels")
    require(bench.first["platform"] == ("cuda" if bench.gpu else "cpu"), bench.first["platform"])
    leftover = [path.name for path in (bench.directory / "runs").glob("*/.zygotes-*")]
    require(not leftover, "left behind: %s" % leftover)
    return check_results(bench, bench.first, bench.expected)


def verified_again(bench):
    require(bench.first, "nothing to verify")
    out, _ = bench.run((1,), ",".join(FEW), "--skip-gen", *bench.where(), "--json")
    again = json.loads(out)
    told = check_results(bench, again, FEW)
    for name in FEW:
        one, two = bench.first["operators"][name], again["operators"][name]
        for key in ("status", "kernel_sha256", "total_tests"):
            require(one[key] == two[key], "%s: %s was %s, is %s" % (name, key, one[key], two[key]))
        require(one["seed"] != two["seed"], "%s: the same seed twice" % name)
        if one["speedup"] and two["speedup"]:
            ratio = one["speedup"] / two["speedup"]
            require(1 / NOISE < ratio < NOISE, "%s: speedup was %g, is %g" % (name, one["speedup"], two["speedup"]))
    return told


def one_file(bench):
    kernel = bench.kernels / "aten__silu.py"
    more = ["--baseline", kernel] if bench.gpu else []
    out, _ = bench.run((0,), "verify", kernel, "--op", "silu", "--device", bench.device, "--json", *more)
    verdict = json.loads(out)
    require(verdict["status"] == "passed", verdict["message"])
    require(not bench.gpu or verdict["timing"]["baseline"] == "kernel", json.dumps(verdict["timing"])[:300])
    return "speedup over itself %s" % (verdict["timing"].get("speedup") if bench.gpu else None)


def agent_is_told(bench):
    """A scripted agent gets its check on the device, with the speedup, and its prompt describes the platform. Its kernel is
    kept and, with --skip-verify, not judged again."""
    cli = bench.directory / "cli"
    cli.write_text(FAKE_CLI % (bench.kernels / "aten__silu.py").read_text())
    cli.chmod(0o755)
    env = {"KGB_CLAUDE_BIN": str(cli)}
    out, _ = bench.run((0,), "silu", "-m", "normal_cc", *bench.where(), "--skip-verify", "--runs-dir", "agent", "--json",
                       env=env)
    op = json.loads(out)["operators"]["aten::silu"]
    attempt = next((bench.directory / "agent").glob("*")) / op["attempts"][0]["dir"]
    report = (attempt / "ws" / "report.txt").read_text()
    prompt = (attempt / "prompt.md").read_text()
    check = op["verify_calls"][0]
    require(check["status"] == "passed" and report.startswith("PASSED "), report)
    require(("NVIDIA GPU" in prompt) == bench.gpu, "the prompt is about another platform")
    require(("speedup over torch" in report) == bench.gpu, report)
    require(not bench.gpu or check["speedup"] or check["timing_note"], json.dumps(check))
    require(op["status"] == "generated" and op["attempts"][0]["kernel_source"] == "verified", json.dumps(op)[:500])
    number = int(bench.device.partition(":")[2] or 0)
    require(op["attempts"][0]["device"] == number, json.dumps(op["attempts"]))
    return report.strip().replace("\n", " | ")


def agent_sees_what_it_may(bench):
    """No GPU by default; with sandbox.gpu=agent the one of its kernels, which works behind all walls."""
    cli = bench.directory / "looking"
    cli.write_text(LOOKING_CLI)
    cli.chmod(0o755)
    told = []
    for gpu in ("none", "agent") if bench.gpu else ("none",):
        out, _ = bench.run((0,), "silu", "-m", "naive_cc", *bench.where(), "--skip-verify", "--runs-dir", "looking-" + gpu,
                           "--set", "sandbox.gpu=" + gpu, "--json", env={"KGB_CLAUDE_BIN": str(cli)})
        attempt = json.loads(out)["operators"]["aten::silu"]["attempts"][0]
        path = next((bench.directory / ("looking-" + gpu)).glob("*")) / attempt["dir"] / "ws" / "gpus.json"
        n, results = json.loads(path.read_text())
        require(n == (gpu == "agent") and (gpu == "none" or not any(results)), "%s: %d seen, %s" % (gpu, n, results))
        told.append("%s: %d" % (gpu, n))
    return ", ".join(told)


def rounds_keep_the_fastest(bench):
    """Of a slow, a fast and a wrong version the fast one stays, by measured times; without times the first that passed."""
    cli = bench.directory / "cli"
    cli.write_text(ROUNDS_CLI % ((bench.kernels / "aten__silu.py").read_text(), 16 if bench.gpu else 512))
    cli.chmod(0o755)
    out, _ = bench.run((0,), "silu", "-m", "ako4all", "-i", "3", *bench.where(), "--runs-dir", "rounds", "--json",
                       env={"KGB_CLAUDE_BIN": str(cli)})
    op = json.loads(out)["operators"]["aten::silu"]
    attempt = op["attempts"][0]
    told = [(r["status"], r["kept"], r["speedup"], r["timing_note"]) for r in attempt["rounds"]]
    require([r[0] for r in told] == ["passed", "passed", "failed"], json.dumps(told))
    require([r[1] for r in told] == [True, bench.gpu, False], json.dumps(told))
    require(attempt["best_round"] == (2 if bench.gpu else 1), json.dumps(told))
    require(not bench.gpu or told[1][2] > told[0][2] > 0, json.dumps(told))
    prompt = (next((bench.directory / "rounds").glob("*")) / attempt["dir"] / "rounds" / "003" / "prompt.md").read_text()
    require(not bench.gpu or "that of round 2. It passed, with a speedup of %.3f." % told[1][2] in prompt, prompt[-3000:])
    require(("Hints for an NVIDIA GPU" in prompt) == bench.gpu, "hints of another platform")
    kernel = next((bench.directory / "rounds").glob("*/kernels/aten__silu.py")).read_text()
    require(("1024" in kernel) == bench.gpu and op["status"] == "passed", kernel)
    return json.dumps(told)


def interrupted(bench):
    """Ctrl-C in the midst of verdicts ends everything that was started, within seconds."""
    process = bench.start("--kernels", bench.kernels, *bench.where(), "--runs-dir", "interrupted")
    try:
        busy = wait_until(lambda: any(b"verify" in facts[2] for facts in descendants(process.pid).values()), 60)
        require(busy, "no judge has started")
        time.sleep(3)
        started = set(descendants(process.pid))
        before = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    seconds = time.monotonic() - before
    require(process.returncode == 130, "exit %d: %s" % (process.returncode, said[-500:]))
    require(wait_until(lambda: not started & set(parents()), 5), "still there: %s" % [
        facts for pid, facts in parents().items() if pid in started])
    results = json.loads(next((bench.directory / "interrupted").glob("*/results.json")).read_text())
    require(results["status"] == "interrupted", results["status"])
    return "%d processes gone after %.1f s" % (len(started), seconds)


def refused(bench):
    """A GPU that is not there is an error of the environment, before anything is created."""
    calls = [(("--device", "cuda:63"), {}, "not so many GPUs|only cuda:0|no NVIDIA GPU|hidden by"),
             (("--device", "cuda"), {"CUDA_VISIBLE_DEVICES": ""}, "hidden by CUDA_VISIBLE_DEVICES.*--device cpu")]
    for args, env, pattern in calls:
        for what in (("--kernels", bench.kernels), ("verify", bench.kernels / "aten__silu.py", "--op", "silu")):
            more = ("--runs-dir", "refused") if what[0] == "--kernels" else ()
            _, said = bench.run((4,), *what, *args, *more, env=env)
            require(re.search(pattern, said), said)
    require(not (bench.directory / "refused").exists(), "a run was created")
    return said.strip()


CHECKS = (
    ("doctor knows the device", doctor),
    ("honest and cheating kernels are told apart, with speedups", kernels_are_judged),
    ("--skip-gen agrees", verified_again),
    ("verify judges one file", one_file),
    ("an agent is told how fast its kernel is", agent_is_told),
    ("an agent sees no GPU, or the one of its kernels", agent_sees_what_it_may),
    ("of several rounds the fastest kernel stays", rounds_keep_the_fastest),
    ("Ctrl-C leaves no process", interrupted),
    ("a GPU that is not there is refused", refused),
)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--python")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--device-count", default=3, type=int)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    options.python = find_python(options.python)
    if not options.python:
        print("1..0 # SKIP no Python with torch and triton")
        return 1 if "agent_check" in os.environ.get("KGB_TESTS_MUST_RUN", "") else 77
    os.environ.setdefault("KGB_DATA_DIR", str(ROOT))
    n_bad = 0
    with tempfile.TemporaryDirectory(prefix="kgb-agent-check-") as directory:
        bench = Bench(options, directory)
        chosen = [(name, check) for name, check in CHECKS if re.search(options.only, name)]
        print("1..%d" % len(chosen), flush=True)
        for i, (name, check) in enumerate(chosen, 1):
            started = time.monotonic()
            told, good = "", True
            try:
                told = check(bench)
            except (Failure, OSError, ValueError, KeyError, StopIteration, subprocess.SubprocessError) as failure:
                told, good = "%s: %s" % (type(failure).__name__, failure), False
            n_bad += not good
            print("%s %d - %s (%.1f s)\n#   %s" % ("ok" if good else "not ok", i, name, time.monotonic() - started,
                                                   told.replace("\n", " ")), flush=True)
    print("# %d of %d went wrong" % (n_bad, len(chosen)))
    return 1 if n_bad else 0


if __name__ == "__main__":
    sys.exit(main())
