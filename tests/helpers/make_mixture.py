#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes runs whose truth is known, for tests of the commands that compare.

    make_mixture.py DIR METHOD=SHIFT[*SPEED]... [--repeat N] [--operators N] [--samples K] [--seed S] [--gpu NAME] [--timeout T]

Half of the operators are solved at a rate of 0.9, the others at 0.2; SHIFT is added to the rates of a method (0: as all others),
and its speedups are SPEED times those of others. Each repeat of a method is a run. With --samples each run is one of a bare
model with K samples of each operator in samples.jsonl. A kernel's hash, rate and speed on the GPU are drawn by its name, so that
the same kernel on another GPU is the same file. --timeout is written to config.yaml.
"""

import argparse
import copy
import hashlib
import json
import math
import pathlib
import random

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEMPLATE = json.loads((ROOT / "tests/fixtures/agent/results.json").read_text())


def attempt(name, run, shift, speed, options, number=0):
    """What one attempt at an operator comes to: (passed, speedup, hash)."""
    word = "%s %s %d" % (run, name, number)
    draw = random.Random("%s %d" % (word, options.seed))
    rate = (0.9 if random.Random(name).random() < 0.5 else 0.2) + shift
    passed = draw.random() < rate
    base = random.Random("speed " + name).gauss(0, 0.7)
    on_gpu = random.Random("%s on %s" % (word, options.gpu)).gauss(0, 0.3)
    speedup = math.exp(base + draw.gauss(0, 0.3) + on_gpu) * speed
    return passed, round(speedup, 4), hashlib.sha256(word.encode()).hexdigest()


def operator(name, place, run, shift, speed, options):
    op = copy.deepcopy(TEMPLATE["operators"]["aten::add"])
    passed, speedup, kernel = attempt(name, run, shift, speed, options)
    op.update(source=name.split(":")[0], category=("Math", "Reduction")[place % 2], spec_sha256="%064x" % place,
              kernel_sha256=kernel, cost_usd=0.02, verify_calls=[], lost=None)
    if passed:
        op.update(status="passed", reached="timed", error=None, error_code=None, speedup=speedup, gpu=options.gpu)
    else:
        op.update(status="failed", reached="runs", error="drawn", error_code="verify.mismatch", speedup=None,
                  speedup_low=None, speedup_high=None, gpu=None)
    return op


def sample(name, number, run, shift, speed, options):
    passed, speedup, kernel = attempt(name, run, shift, speed, options, number)
    return {"operator": name, "sample": number, "round": 1, "kernel_sha256": kernel, "seconds": 4,
            "tokens": {"total_tokens": 1500}, "cost_usd": 0.001, "status": "passed" if passed else "failed",
            "code": None if passed else "verify.mismatch", "reached": "timed" if passed else "runs",
            "speedup": speedup if passed else None}


def write_run(options, method, shift, speed, repeat):
    run = "%s_%d" % (method, repeat)
    names = ["%s::mix%03d" % (("aten", "vllm", "cublas")[i % 3], i) for i in range(options.operators)]
    document = dict(TEMPLATE, run_name=run, method=method, model="m-1", gateway="live", status="completed",
                    operators={name: operator(name, i, run, shift, speed, options) for i, name in enumerate(names)})
    folder = pathlib.Path(options.dir, run)
    folder.mkdir(parents=True)
    if options.samples:
        document["summary"] = dict(document["summary"], samples={})
        with open(folder / "samples.jsonl", "w", encoding="utf-8") as file:
            for name in names:
                for number in range(1, options.samples + 1):
                    file.write(json.dumps(sample(name, number, run, shift, speed, options)) + "\n")
    if options.timeout:
        (folder / "config.yaml").write_text("limits:\n  attempt_timeout: %s\n" % options.timeout)
    (folder / "results.json").write_text(json.dumps(document) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir")
    parser.add_argument("methods", nargs="+", metavar="METHOD=SHIFT[*SPEED]")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--operators", type=int, default=60)
    parser.add_argument("--samples", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--gpu", default="NVIDIA H100")
    parser.add_argument("--timeout")
    options = parser.parse_args()
    for word in options.methods:
        method, shift = word.split("=")
        shift, speed = (shift + "*1").split("*")[:2]
        for repeat in range(1, options.repeat + 1):
            write_run(options, method, float(shift), float(speed), repeat)


if __name__ == "__main__":
    main()
