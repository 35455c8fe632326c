#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Operators whose results are drawn, constant, a number or unwritten memory, through the judge on a GPU: their specs, the
honest kernels of tests/honest and the attacks of tests/redteam. What only a GPU can show is looked at: draws are
replayed with seeds that the host never saw, timed calls are compared bit by bit with untimed ones, and the baseline
draws with torch's own generator.

    random_check.py --judge build/release/bin/kgb-judge [--device cuda] [--only REGEX]

Prints TAP. Exit status 0 if all is as it should be, 77 without a GPU. --device cpu tries the script itself.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPERATORS = ("bernoulli", "exponential_", "poisson", "rrelu_with_noise", "rrelu_with_noise_backward", "zeros", "zeros_like",
             "zero_", "ones_like", "new_ones", "full", "fill_", "scalar_tensor", "arange", "clone", "contiguous", "reshape",
             "item", "_local_scalar_dense", "empty_strided", "new_empty_strided")
RANDOM = ("bernoulli", "exponential_", "poisson", "rrelu_with_noise")


class Check:
    def __init__(self, args):
        self.args = args
        self.n = self.n_bad = 0

    def say(self, good, name, why=""):
        self.n += 1
        self.n_bad += not good
        print("%sok %d - %s%s" % ("" if good else "not ", self.n, name, "" if good else "\n# %s" % why), flush=True)

    def judge(self, *argv):
        done = subprocess.run([self.args.judge, *argv], capture_output=True, text=True, timeout=1800)
        return done.returncode, done.stdout, done.stderr

    def lint(self, operator):
        status, out, err = self.judge("lint", "--device", self.args.device, "aten::" + operator)
        self.say(status == 0, "lint %s" % operator, (out + err).strip().replace("\n", "\n# "))

    def verdict(self, operator, kernel):
        _, out, err = self.judge("verify", "--op", "aten::" + operator, "--kernel", str(kernel), "--device",
                                 self.args.device, "--verdict-fd", "1", "--timeout", "900s")
        return json.loads(out) if out else {"status": "none", "code": None, "message": err.strip()}

    def honest(self, operator, kernel):
        v = self.verdict(operator, kernel)
        why = []
        if v["status"] != "passed":
            why.append("%s %s: %s" % (v["status"], v["code"], v["message"]))
        elif self.args.device != "cpu":
            timing = v["timing"]
            if operator in RANDOM and not v.get("deterministic", True):
                why.append("the same seed gave other elements")
            if operator not in ("item", "_local_scalar_dense", "empty_strided", "new_empty_strided"):
                if not timing["comparable"] or not timing["cases"]:
                    why.append("not timed: %s" % timing["reason"])
        self.say(not why, "honest %s/%s" % (operator, kernel.stem), "; ".join(why))

    def attack(self, operator, kernel):
        expected = re.search(r"^# expect: (.*)$", kernel.read_text(), re.MULTILINE).group(1)
        v = self.verdict(operator, kernel)
        self.say(bool(v["code"] and re.fullmatch(expected, v["code"])), "attack %s/%s" % (operator, kernel.stem),
                 "%s %s: %s" % (v["status"], v["code"], v["message"]))

    def run(self):
        for operator in OPERATORS:
            if self.args.only and not re.search(self.args.only, operator):
                continue
            self.lint(operator)
            for kind, check in (("honest", self.honest), ("redteam", self.attack)):
                for kernel in sorted((ROOT / "tests" / kind / ("aten__" + operator)).glob("*.py")):
                    check(operator, kernel)
        print("1..%d" % self.n)
        return 1 if self.n_bad else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--judge", required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--only", help="regular expression for operators")
    args = parser.parse_args()
    if args.device != "cpu" and not pathlib.Path("/dev/nvidiactl").exists():
        print("1..0 # SKIP no GPU")
        return 77
    return Check(args).run()


if __name__ == "__main__":
    sys.exit(main())
