#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Has the judge judge the honest and the cheating kernels of tests/.

    run_corpus.py --judge build/release/bin/kgb-judge [--python PATH] [--device NAME] [--only REGEX] [--jobs N] [--json FILE]
    run_corpus.py --judge ... --sample N      only kernels that changed, and N others that the seed draws (corpus_sample.py)
    run_corpus.py --judge ... --record        the whole corpus; if all verdicts are right, records the kernels in judged.tsv
    run_corpus.py --judge ... --open-rules    the same with a policy for L1 that allows every name
    run_corpus.py --table           writes docs/redteam.md
    run_corpus.py --check-table     fails when that page is stale, or a known cheat has neither a kernel nor a reason

Every file below tests/honest/<operator> must pass. Every file below tests/redteam/<operator> must be rejected. On the CPU its
header's `# expect:` (a regular expression for the whole code) must allow the code; where it allows a fault (verify.*), any will do
but verify.exception: an attack that stops with an error was not tried. On a GPU, where other checks come first, any code will do
but that. corpus_files.py lists the keys of headers.
A verdict is one draw of cases. So in a sample a kernel whose verdict is wrong is judged again with three other seeds. An honest one
counts as right if these verdicts are, a cheating one if two of them are; a line `# MISSED name seed code` shows the first one. The
whole corpus counts the first verdicts.

Prints TAP, then how often attacks succeeded and honest kernels were refused, with 95 % Wilson intervals, over all and by the
stage that decided; --json writes that and every verdict in short.

With --open-rules any code will do, and the accepted attacks are listed: the stages after L1 have no reason to refuse them,
because the result is right and made by kernels.

Exit status 0 only if every verdict is right; 77 when no Python has torch and triton, unless KGB_TESTS_MUST_RUN names "corpus".
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import secrets
import shutil
import subprocess
import sys
import tempfile
import time

import corpus_doc
import corpus_rates
import corpus_sample
import warm_judge
from corpus_files import ROOT, find_kernels
from warm_judge import Zygotes, find_python

MEMORY = "4GiB"
CALL_TIMEOUT = "60s"
HANG_TIMEOUT = "3s"  # of attacks that hang; on a GPU a first call compiles
OPEN_RULES = """\
schema: kgb.l1/2
limits: {match: 100000, depth: 250, heap_kib: 512}
rules:
  - code: ok.everything
    kind: [import, name, builtin, dunder, attribute, dynamic, operator, tensor_store, class, def, launch, jit_attr,
           jit_call, kernel_call, kernel_syntax]
    context: [host, kernel, annotation]
    reason: A measurement of the other stages.
"""
WALL_S = 1500
OTHER_SEEDS = 3  # of a kernel of a sample whose first verdict is wrong


def open_rules(directory):
    """Makes a data directory whose L1 allows every name, for all processes that start later."""
    data = pathlib.Path(directory) / "data"
    shutil.copytree(ROOT / "verify", data / "verify")
    (data / "datasets").symlink_to(ROOT / "datasets")
    (data / "verify" / "policy" / "l1.yaml").write_text(OPEN_RULES, encoding="utf-8")
    os.environ["KGB_DATA_DIR"] = str(data)


def judge_one(options, python, zygotes, kernel, seed):
    """(verdict or None, the reason when there is none)"""
    on_cpu = zygotes.device == "cpu"
    try:
        done = warm_judge.ask(
            options.judge, WALL_S, device=zygotes.device, spec=warm_judge.spec_of(kernel.header["operator"]),
            kernel=kernel.path, zygotes=zygotes.directory, python=python,
            call_timeout=HANG_TIMEOUT if kernel.hangs and on_cpu else CALL_TIMEOUT, memory=MEMORY,
            max_failures=1 if kernel.first_failure_decides else None, seed=seed,
            timing=options.jobs == 1)  # kernels that run beside each other cannot be timed
        return json.loads(done.stdout), ""
    except subprocess.TimeoutExpired:
        return None, "no verdict within %d s" % WALL_S
    except ValueError:
        return None, "exit %d: %s" % (done.returncode, done.stderr.decode("utf-8", "replace").strip()[:300])


class Outcome:
    """The verdict on one kernel, and whether it is right."""

    def __init__(self, kernel, verdict, trouble, seed, seconds, options):
        self.kernel, self.verdict, self.trouble, self.seed, self.seconds = kernel, verdict, trouble, seed, seconds
        self.skipped = None
        self.again = []  # outcomes with other seeds, if a sample has judged the kernel again
        self.options = options
        if options.device != "cpu" and kernel.needs_cpu:
            self.skipped = "is for the CPU platform"
        elif verdict is not None and kernel.too_new(verdict["versions"].get("triton")):
            self.skipped = "Triton is too new for it"
        self.right = self.skipped is not None or self.is_right() or (options.open_rules and not kernel.honest)

    def settle(self, again):
        """Counts what verdicts with other seeds say instead of the first one, which is wrong."""
        self.again = again
        self.right = sum(other.right for other in again) >= len(again) - (not self.kernel.honest)

    def is_right(self):
        if self.verdict is None:
            return False
        if self.kernel.honest:
            return self.verdict["status"] == "passed"
        if (self.kernel.harmless or "open" in self.kernel.header) and self.verdict["status"] == "passed":
            return True
        code = self.verdict["code"] or ""
        any_code = self.options.open_rules or code != "verify.exception" and (
            self.options.device != "cpu" or self.kernel.is_wrong and code.startswith("verify."))
        return corpus_rates.rejected(self.verdict) and (any_code or self.kernel.expect.fullmatch(code) is not None)

    def report(self, number):
        verdict, kernel = self.verdict, self.kernel
        outcome = "%s %s" % (verdict["status"], verdict["code"] or "") if verdict else self.trouble
        note = " # SKIP %s" % self.skipped if self.skipped else " (%s, %.1f s)" % (outcome.strip(), self.seconds)
        print("%s %d - %s%s" % ("ok" if self.right else "not ok", number, kernel.name, note))
        if self.again:
            print("# MISSED %s %s %s" % (kernel.name, verdict["seed"], verdict["code"] or verdict["status"]))
        for other in self.again:
            if not other.right:
                print("# again with %s: %s" % (other.seed, other.verdict["code"] or other.verdict["status"] if other.verdict
                                               else other.trouble))
        if not self.right:
            print("# expected %s" % ("passed" if kernel.honest else kernel.header["expect"]))
            if verdict:
                print("# seed %s: %s" % (verdict["seed"], str(verdict.get("message"))[:300]))
                for failure in (verdict.get("failures") or [])[:3]:
                    print("# %s: %s" % (failure.get("case"), str(failure.get("message"))[:200]))
        sys.stdout.flush()

    def summary(self):
        short = {key: self.verdict.get(key) for key in ("status", "code", "stage", "seed", "wall_ms", "closest")} if self.verdict else {}
        return {"kernel": self.kernel.name, "operator": self.kernel.header["operator"], "honest": self.kernel.honest,
                "right": self.right, "missed": bool(self.again), "skipped": self.skipped, "trouble": self.trouble or None, **short}


def judged_once(options, python, zygotes, kernel, seed):
    started = time.monotonic()
    verdict, trouble = judge_one(options, python, zygotes, kernel, seed)
    return Outcome(kernel, verdict, trouble, seed, time.monotonic() - started, options)


def judged(options, python, zygotes, kernel):
    first = judged_once(options, python, zygotes, kernel, options.seed or None)
    # A verdict that is missing, or that tells of trouble, is no draw of cases.
    if options.sample is not None and not first.right and first.verdict and first.verdict["status"] != "infra_error":
        seeds = [hashlib.sha256(("%s %d" % (first.verdict["seed"], n)).encode()).hexdigest()[:32] for n in range(OTHER_SEEDS)]
        first.settle([judged_once(options, python, zygotes, kernel, seed) for seed in seeds])
    return first


def nearest(outcomes):
    """The ten honest kernels nearest to the tolerance, of those above a half: (error over allowed error, kernel, case)."""
    shares = [(o.verdict["closest"]["error_of_allowed"], o.kernel.name, o.verdict["closest"]["case"])
              for o in outcomes if o.kernel.honest and o.verdict and o.verdict["closest"]]
    return sorted((share for share in shares if share[0] > 0.5), reverse=True)[:10]


def run(options, kernels, python, zygotes):
    outcomes, started = [], time.monotonic()
    print("TAP version 13\n1..%d" % len(kernels))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for outcome in pool.map(lambda kernel: judged(options, python, zygotes, kernel), kernels):
            outcomes.append(outcome)
            outcome.report(len(outcomes))
    figures = corpus_rates.rates([(o.kernel, o.verdict) for o in outcomes if not o.skipped])
    for line in corpus_rates.lines(figures):
        print("# " + line)
    for share, name, case in nearest(outcomes):
        print("# %.2f of the allowed error: %s %s" % (share, name, case))
    if options.open_rules:
        accepted = [o.kernel.name for o in outcomes if not o.kernel.honest and not o.kernel.harmless and o.verdict
                    and o.verdict["status"] == "passed"]
        print("# accepted with open rules: %s" % (" ".join(accepted) or "none"))
    print("# %d skipped; %.0f s" % (sum(o.skipped is not None for o in outcomes), time.monotonic() - started))
    if options.json:
        versions = next((o.verdict["versions"] for o in outcomes if o.verdict), None)
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"schema": "kgb.corpus/1", "device": options.device, "versions": versions, "rates": figures,
                       "kernels": [o.summary() for o in outcomes]}, file, indent=1)
            file.write("\n")
    right = all(o.right for o in outcomes)
    if options.record and right:
        corpus_sample.write_judged([o.kernel for o in outcomes])
    return 0 if right else 1


def table(problems):
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--judge")
    parser.add_argument("--python")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N")
    parser.add_argument("--only", default=os.environ.get("KGB_CORPUS_ONLY"), help="regular expression for names")
    parser.add_argument("--jobs", type=int, default=max(1, min(8, (os.cpu_count() or 2) // 2)))
    parser.add_argument("--seed", default=os.environ.get("KGB_TEST_SEED"), help="32 digits: the same data again (default: new data)")
    parser.add_argument("--json", metavar="FILE", help="figures and verdicts in short")
    parser.add_argument("--open-rules", action="store_true", help="allow every name: measures what comes after L1")
    parser.add_argument("--sample", type=int, metavar="N", help="kernels that changed, and N others")
    parser.add_argument("--record", action="store_true", help="write judged.tsv after a run without a wrong judgement")
    parser.add_argument("--table", action="store_true", help="write docs/redteam.md")
    parser.add_argument("--check-table", action="store_true", help="is docs/redteam.md what --table would write?")
    options = parser.parse_args()
    if options.table or options.check_table:
        return table(corpus_doc.write() if options.table else corpus_doc.check())
    if not options.judge:
        parser.error("--judge is missing")
    if options.record and (options.only or options.sample is not None or options.open_rules):
        parser.error("--record is for the whole corpus")
    kernels = find_kernels(options.only)
    if not kernels:
        raise SystemExit("no kernel matches %r" % options.only)
    if options.sample is not None:
        drawn_by = options.seed or secrets.token_hex(16)
        changed, others = corpus_sample.choose(kernels, options.sample, drawn_by)
        print("# %d changed, %d of %d others drawn by %s" % (len(changed), len(others), len(kernels) - len(changed), drawn_by))
        kernels = changed + others
    python = find_python(options.python)
    with tempfile.TemporaryDirectory(prefix="kgb-corpus-") as directory:
        if options.open_rules:
            open_rules(directory)
        zygotes = Zygotes(options.judge, directory, options.device, python) if python else None
        if zygotes is None or not zygotes.ready:
            print("1..0 # SKIP no Python with torch and triton, or no sandbox")
            return 1 if "corpus" in os.environ.get("KGB_TESTS_MUST_RUN", "") else 77
        try:
            return run(options, kernels, python, zygotes)
        finally:
            zygotes.close()


if __name__ == "__main__":
    sys.exit(main())
