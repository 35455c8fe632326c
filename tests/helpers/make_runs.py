#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes results of runs that no model made, for tests of the commands that answer from runs.

    make_runs.py DIR [--runs N] [--operators N] [--checks N] [--whole] [--at-once N] [--named]

Each run is a folder with results.json in the form of tests/fixtures/agent/results.json. Which operators pass, how fast they are
and what they cost is a formula of run and operator: no chance, so that outputs can be compared. Odd runs pass more. With --whole
they have four methods, and each operator has a kernel, times and a history of checks of its own; --at-once (8) agents work at
a time, on eight devices. With --named the operators and
their categories are those of the data set, and the method that works in rounds has three.
"""

import argparse
import copy
import datetime
import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = (("aten", ("Math", "Reduction")), ("vllm13", ("Attention", "Quantization")), ("cublas", ("LinearAlgebra",)))
FAILURES = (("failed", "verify.mismatch", "runs"), ("refused", "contract.missing_entry", "refused"),
            ("failed", "verify.mismatch", "core"), ("timeout", "agent.timeout", None), ("cheated", "cheat.ghost", "correct"))


def tally(total, passed):
    return {"total": total, "passed": passed, "failed": total - passed}


def cases(op, number):
    """Cases of the verdict: a kernel that is right on core cases is right on standard inputs and float32. None without a verdict."""
    if op["reached"] is None:
        return
    core, right = op["reached"] in ("core", "timed"), op["reached"] == "timed"
    op["modes"] = {"standard": tally(4, 4 * core), "outlier": tally(2 * (number % 5 > 0), 2 * right * (number % 5 > 0)),
                   "special": tally(1, right)}
    op["dtypes"] = {"float32": tally(4, 4 * core), "float16": tally(3, 3 * right)}
    op["interfaces"] = {"op%03d" % number: dict(tally(7, 7 if right else 4 * core), reached=op["reached"])}


def dataset():
    """Name and category of each operator."""
    for path in sorted(ROOT.glob("datasets/kernelgenbench/[acv]*/*__*.yaml")):
        if path.parent.name != "cases":
            yield path.stem.replace("__", "::", 1), re.search("^category: (.*)$", path.read_text(), re.M)[1]


def give_rounds(op, number):
    """The first fails where the operator is hard; kernels get slower."""
    op["attempts"][0]["rounds"] = []
    for k in range(3):
        right = op["status"] == "passed" and (k > 0 or number % 3 > 0)
        op["attempts"][0]["rounds"].append(
            {"number": k + 1, "status": "passed" if right else "failed", "reached": "timed" if right else "runs" if k else "nothing",
             "speedup": round(op["speedup"] * (1.2, 1.1, 1)[k], 4) if right else None})


def give_names(operators, method):
    named = {}
    for number, (op, (name, category)) in enumerate(zip(operators.values(), dataset())):
        op["source"], op["category"] = name.split("::")[0].rstrip("13"), category
        if method == "loop_oc":
            give_rounds(op, number)
        named[name] = op
    return named


def operator(template, run, number, checks):
    op = copy.deepcopy(template)
    source, categories = SOURCES[number % len(SOURCES)]
    hard = (number * 7 + 3) % 10
    passed = hard < 5 + 2 * (run % 2) and (number * 11 + run * 5) % 9 != 0
    op["source"], op["category"] = source.rstrip("13"), categories[number // 3 % len(categories)]
    op["spec_sha256"] = "%064x" % number
    op["cost_usd"] = round(0.01 * (1 + number % 4) * (1 + run % 2), 4)
    op["time"]["agent_seconds"] = 60 + 10 * (number % 7)
    op["tokens"]["gateway"]["total_tokens"] = 10000 + 500 * (number % 11) + 2000 * (run % 2)
    op["verify_calls"] = op["verify_calls"] * checks
    op["platform"] = "cuda"
    if passed:
        speedup = round((0.4 + 0.25 * (number % 8)) * (1 + 0.15 * (run % 2) * (number % 4 - 1)), 4)
        op.update(status="passed", reached="timed", error=None, error_code=None, speedup=speedup,
                  speedup_low=round(speedup * 0.98, 4), speedup_high=round(speedup * 1.02, 4), gpu="NVIDIA H100",
                  speedup_device=round(speedup * 1.1, 4), peak_share=0.1 + 0.1 * (number % 5))
    else:
        status, code, reached = FAILURES[(number + run) % len(FAILURES)]
        op.update(status=status, reached=reached, error="as made", error_code=code, speedup=None, speedup_low=None,
                  speedup_high=None, gpu=None)
    cases(op, number)
    return "%s::op%03d" % (source, number), op


def time_at(seconds):
    start = datetime.datetime(2026, 11, 21, 8, 0, 0)
    return (start + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


KERNEL = """import torch
import triton
import triton.language as tl


@triton.jit
def {name}_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
{body}    tl.store(out_ptr + offsets, x, mask=mask)


def {name}(x):
    out = torch.empty_like(x)
    {name}_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
    return out
"""


def give_history(op, run, number, at_once):
    """Agents at a time on eight GPUs; each check costs tokens, and kernels of right operators get faster."""
    passed, device = op["status"] == "passed", number % 8
    begin = 5 + number // at_once * 660.0 + 160 / at_once * (number % at_once)
    spent = 280 + 40 * ((number * 5 + run) % 8)
    n_checks = 2 + (number * 3 + run) % 5
    tokens, dollars = op["tokens"]["gateway"]["total_tokens"], op["cost_usd"]
    template = op["verify_calls"][0]
    op["attempts"][0].update(device=device, start_time=time_at(begin), end_time=time_at(begin + spent), duration_seconds=spent)
    op["verify_calls"] = []
    for i in range(n_checks):
        share, good = (i + 1) / n_checks, passed and i >= n_checks // 2
        call = copy.deepcopy(template)
        call.update(number=i + 1, time=time_at(begin + share * spent), status="passed" if good else "failed", seconds=12.5,
                    code=None if good else "verify.mismatch", reached="timed" if good else "runs",
                    speedup=round(op["speedup"] * (0.7 + 0.3 * share), 4) if good else None)
        call["spent"]["tokens"]["total_tokens"] = int(tokens * share)
        call["spent"]["cost_usd"] = round(dollars * share, 5)
        op["verify_calls"].append(call)
    op["device"] = "cuda:%d" % device
    op["time"].update(start_time=time_at(begin), end_time=time_at(begin + spent + 31), agent_seconds=spent, verify_seconds=30)
    op["error"] = None if passed else "%d of 1024 elements are wrong" % (1 + number)
    op["failing_case"] = None if passed else "op%03d/float32/n=1024/standard" % number


def write_kernels(folder, operators, run):
    for number, (name, op) in enumerate(operators.items()):
        safe = name.replace("::", "__")
        body = "".join("    x = x * %d.0 + %d.0  # step %d of run %d\n" % (i, number, i, run) for i in range(30 + number % 90))
        op["kernel"] = "kernels/%s.py" % safe
        (folder / "kernels").mkdir(exist_ok=True)
        (folder / op["kernel"]).write_text(KERNEL.format(name=safe.split("__")[1], body=body))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--operators", type=int, default=30)
    parser.add_argument("--checks", type=int, default=1)
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--at-once", type=int, default=8)
    parser.add_argument("--named", action="store_true")
    options = parser.parse_args()
    fixture = json.loads((ROOT / "tests/fixtures/agent/results.json").read_text())
    template = fixture["operators"]["aten::add"]
    for run in range(options.runs):
        methods = ("naive_cc", "normal_cc", "llm", "loop_oc") if options.whole else ("naive_cc", "normal_cc")
        method = methods[run % len(methods)]
        name = "%s_KernelGenBench_20261121T%06dZ_%04x" % (method, 80000 + run, run)
        document = dict(fixture, run_name=name, method=method, model="m-1", gateway="live", status="completed",
                        operators=dict(operator(template, run, i, options.checks) for i in range(options.operators)))
        if options.named:
            document["operators"] = give_names(document["operators"], method)
        folder = pathlib.Path(options.dir, name)
        folder.mkdir(parents=True)
        if options.whole:
            document["start_time"] = time_at(0)
            for i, op in enumerate(document["operators"].values()):
                give_history(op, run, i, options.at_once)
            write_kernels(folder, document["operators"], run)
            document["summary"]["seconds"]["wall"] = 700.0 * (options.operators // options.at_once + 1)
        (folder / "results.json").write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
