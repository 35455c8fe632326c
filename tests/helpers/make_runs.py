#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes results of runs that no model made, for tests of the commands that answer from runs.

    make_runs.py DIR [--runs N] [--operators N] [--checks N]

Each run is a folder with results.json in the form of tests/fixtures/agent/results.json. Which operators pass, how fast they are
and what they cost is a formula of run and operator: no chance, so that outputs can be compared. Odd runs pass more.
"""

import argparse
import copy
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = (("aten", ("Math", "Reduction")), ("vllm13", ("Attention", "Quantization")), ("cublas", ("LinearAlgebra",)))
FAILURES = (("failed", "verify.mismatch", "runs"), ("refused", "contract.missing_entry", "refused"),
            ("failed", "verify.mismatch", "core"), ("timeout", "agent.timeout", None), ("cheated", "cheat.ghost", "correct"))


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
    if passed:
        speedup = round((0.4 + 0.25 * (number % 8)) * (1 + 0.15 * (run % 2) * (number % 4 - 1)), 4)
        op.update(status="passed", reached="timed", error=None, error_code=None, speedup=speedup,
                  speedup_low=round(speedup * 0.98, 4), speedup_high=round(speedup * 1.02, 4), gpu="NVIDIA H100")
    else:
        status, code, reached = FAILURES[(number + run) % len(FAILURES)]
        op.update(status=status, reached=reached, error="as made", error_code=code, speedup=None, speedup_low=None,
                  speedup_high=None, gpu=None)
    return "%s::op%03d" % (source, number), op


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--operators", type=int, default=30)
    parser.add_argument("--checks", type=int, default=1)
    options = parser.parse_args()
    fixture = json.loads((ROOT / "tests/fixtures/agent/results.json").read_text())
    template = fixture["operators"]["aten::add"]
    for run in range(options.runs):
        method = ("naive_cc", "normal_cc")[run % 2]
        name = "%s_KernelGenBench_20261121T%06dZ_%04x" % (method, 80000 + run, run)
        document = dict(fixture, run_name=name, method=method, model="m-1", gateway="live", status="completed",
                        operators=dict(operator(template, run, i, options.checks) for i in range(options.operators)))
        folder = pathlib.Path(options.dir, name)
        folder.mkdir(parents=True)
        (folder / "results.json").write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
