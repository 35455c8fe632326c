#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Has the judge judge operators whose results are drawn, constant, a number or unwritten memory on a GPU: their specs, the
honest kernels of tests/honest and the attacks of tests/redteam. Only a GPU shows these: draws are replayed with seeds that
the host never had, timed calls are compared bit by bit with untimed calls, and the baseline draws with torch's own generator.

    random_check.py --judge build/release/bin/kgb-judge [--device cuda] [--only REGEX]

Prints TAP. Exit status 0 if every check passes, 77 without a GPU. --device cpu tries the script.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "corpus"))
from corpus_files import Kernel  # noqa: E402
from corpus_rates import rejected  # noqa: E402
import warm_judge  # noqa: E402
from warm_judge import Zygotes, find_python  # noqa: E402

OPERATORS = ("bernoulli", "exponential_", "poisson", "rrelu_with_noise", "rrelu_with_noise_backward", "zeros", "zeros_like",
             "zero_", "ones_like", "new_ones", "full", "fill_", "scalar_tensor", "arange", "clone", "contiguous", "reshape",
             "item", "_local_scalar_dense", "empty_strided", "new_empty_strided")
RANDOM = ("bernoulli", "exponential_", "poisson", "rrelu_with_noise")
UNTIMED = ("item", "_local_scalar_dense", "empty_strided", "new_empty_strided")
WALL_S = 600


class Check:
    def __init__(self, args, zygotes):
        self.args, self.zygotes = args, zygotes
        self.n = self.n_bad = 0

    def say(self, good, name, why=""):
        self.n += 1
        self.n_bad += not good
        print("%sok %d - %s%s" % ("" if good else "not ", self.n, name, "" if good else "\n# %s" % why), flush=True)

    def judge(self, *argv):
        done = subprocess.run([self.args.judge, *argv, "--device", self.args.device], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=WALL_S)
        return done.stdout, done.stderr.strip()

    def lint(self, operators):
        """All in one process."""
        out, err = self.judge("lint", "--dataset", "KernelGenBench", "--json", "--no-cache", *("aten::" + operator for operator in operators))
        found = {each["operator"]: each for each in map(json.loads, out.splitlines())}
        for operator in operators:
            each = found.get("aten::" + operator, {"ok": False, "problems": [err[-300:]]})
            self.say(each["ok"], "lint %s" % operator, "\n# ".join(str(text)[:300] for text in each["problems"][:3]))

    def verdict(self, kernel):
        done = warm_judge.ask(self.args.judge, WALL_S, spec=warm_judge.spec_of(kernel.header["operator"]), kernel=kernel.path,
                              zygotes=self.zygotes, device=self.args.device, timeout="%ds" % (WALL_S - 60))
        return json.loads(done.stdout) if done.stdout else {"status": "none", "code": None, "message": done.stderr.decode()[-300:]}

    def honest(self, operator, kernel):
        v = self.verdict(kernel)
        why = []
        if v["status"] != "passed":
            why.append("%s %s: %s" % (v["status"], v["code"], v["message"]))
        elif self.args.device != "cpu":
            timing = v["timing"]
            if operator in RANDOM and not v.get("deterministic", True):
                why.append("the same seed gave other elements")
            if operator not in UNTIMED and (not timing["comparable"] or not timing["cases"]):
                why.append("not timed: %s" % timing["reason"])
        self.say(not why, kernel.name, "; ".join(why))

    def attack(self, operator, kernel):
        """On a GPU, where other checks come first, any code will do."""
        v = self.verdict(kernel)
        good = rejected(v) and (self.args.device != "cpu" or kernel.expect.fullmatch(v["code"] or "") is not None)
        self.say(good, "%s (%s)" % (kernel.name, v["code"]), "%s %s: %s" % (v["status"], v["code"], v["message"]))

    def run(self):
        operators = [operator for operator in OPERATORS if not self.args.only or re.search(self.args.only, operator)]
        self.lint(operators)
        for operator in operators:
            for kind, check in (("honest", self.honest), ("redteam", self.attack)):
                for path in sorted((ROOT / "tests" / kind / ("aten__" + operator)).glob("*.py")):
                    check(operator, Kernel(path, kind == "honest"))
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
    with tempfile.TemporaryDirectory(prefix="kgb-random-") as directory:
        zygotes = Zygotes(args.judge, directory, args.device, find_python(None))
        try:
            if not zygotes.ready:
                print("Bail out! no zygotes")
                return 1
            return Check(args, directory).run()
        finally:
            zygotes.close()


if __name__ == "__main__":
    sys.exit(main())
