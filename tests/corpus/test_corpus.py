# SPDX-License-Identifier: MIT
"""Tests of run_corpus.py and mutants.py: right and skipped outcomes, the rates, the planted faults."""

import ast
import pathlib
import sys
import types

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import corpus_doc  # noqa: E402
import corpus_rates  # noqa: E402
import corpus_sample  # noqa: E402
import mutants  # noqa: E402
import run_corpus  # noqa: E402
from corpus_files import find_kernels  # noqa: E402

CPU = types.SimpleNamespace(device="cpu", open_rules=False)
GPU = types.SimpleNamespace(device="cuda", open_rules=False)
OPEN = types.SimpleNamespace(device="cpu", open_rules=True)
PASSED = ("passed", None, None)
WRONG = ("failed", "verify.mismatch", "correctness")
RAISED = ("failed", "verify.exception", "correctness")
RULES = ("refused", "l1.torch_compute", "l1")
TROUBLE = ("infra_error", "infra.gpu_health", "correctness")

HONEST = "honest aten__silu/flat"
OLD_TRITON = "honest aten__silu/block_pointers"
COMPUTE = "redteam aten__linear/functional_for_large"
HARMLESS = "redteam aten__silu/patch_time"
KEPT = "redteam aten__rot90/half_turn_without_kernel"
DTYPE = "redteam aten___softmax/flag_ignored"

# kernel, options, verdict, version of Triton: right?, skipped?
OUTCOMES = [
    (HONEST, CPU, PASSED, "3.9.0", True, False),
    (HONEST, CPU, WRONG, "3.9.0", False, False),
    (HONEST, CPU, TROUBLE, "3.9.0", False, False),
    (HONEST, CPU, None, "3.9.0", False, False),
    (HONEST, OPEN, WRONG, "3.9.0", False, False),
    (OLD_TRITON, GPU, WRONG, "3.10.1", True, True),
    (OLD_TRITON, GPU, WRONG, "3.6.0", False, False),
    (COMPUTE, CPU, RULES, "3.9.0", True, False),
    (COMPUTE, CPU, WRONG, "3.9.0", False, False),
    (COMPUTE, CPU, PASSED, "3.9.0", False, False),
    (COMPUTE, CPU, TROUBLE, "3.9.0", False, False),
    (COMPUTE, GPU, WRONG, "3.9.0", True, False),
    (COMPUTE, GPU, PASSED, "3.9.0", False, False),
    (COMPUTE, GPU, TROUBLE, "3.9.0", False, False),
    (COMPUTE, OPEN, PASSED, "3.9.0", True, False),
    (DTYPE, CPU, WRONG, "3.9.0", True, False),
    (DTYPE, CPU, RAISED, "3.9.0", False, False),
    (KEPT, CPU, WRONG, "3.9.0", False, False),
    (HARMLESS, CPU, PASSED, "3.9.0", True, False),
    (HARMLESS, CPU, RULES, "3.9.0", False, False),
    (HARMLESS, CPU, TROUBLE, "3.9.0", False, False),
]


def kernel(name):
    (found,) = find_kernels("^%s\\.py$" % name)
    return found


def verdict(what, triton="3.9.0"):
    return what and {"status": what[0], "code": what[1], "stage": what[2], "versions": {"triton": triton}, "seed": "0"}


def outcomes():
    for name, options, what, triton, right, skipped in OUTCOMES:
        got = run_corpus.Outcome(kernel(name), verdict(what, triton), "", None, 0.0, options)
        if (got.right, got.skipped is not None) != (right, skipped):
            yield "%s on %s, %s: right %s, skipped %s" % (name, options, what, got.right, got.skipped)


def rates():
    results = [(kernel(HONEST), verdict(PASSED)), (kernel(HONEST), verdict(WRONG)), (kernel(COMPUTE), verdict(RULES)),
               (kernel(COMPUTE), verdict(WRONG)), (kernel(COMPUTE), verdict(PASSED)), (kernel(COMPUTE), None)]
    figures = corpus_rates.rates(results)
    stages = {row["stage"]: row for row in figures["stages"]}
    seen = [(r["hits"], r["of"]) for r in (
        figures["attack_success"], figures["false_rejects"], stages["l1"]["attacks"], stages["correctness"]["attacks"],
        stages["correctness"]["honest"], stages["timing"]["honest"], figures["l1_alone"]["attacks"])]
    if seen != [(1, 4), (1, 2), (1, 4), (1, 3), (1, 2), (0, 1), (1, 4)] or figures["no_verdict"] != 1:
        yield "counts: %s" % seen
    # Wilson's interval as published tables have it
    for hits, n, low, high in ((0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (1, 30, 0.0059, 0.1667)):
        got = corpus_rates.wilson(hits, n)
        if abs(got[0] - low) > 1e-4 or abs(got[1] - high) > 1e-4:
            yield "wilson(%d, %d) = %s" % (hits, n, got)


def codes():
    for expect, wanted in ((r"verify\.(mismatch|alias)|cheat\.\w+", ["verify.mismatch", "verify.alias", "cheat.*"]),
                           (r"cheat\.\w+(\.\w+)?", ["cheat.*"]), (r"l1\.name", ["l1.name"])):
        if corpus_doc.alternatives(expect) != wanted:
            yield "%s: %s" % (expect, corpus_doc.alternatives(expect))


def first_failures():
    """One failure is enough where no later case could show a graver expected failure."""
    for name, wanted in ((HONEST, False), (COMPUTE, True), ("redteam aten__softmax/last_dim_only", True),
                         ("redteam aten__contiguous/by_torch", False)):
        if kernel(name).first_failure_decides != wanted:
            yield "%s: %s" % (name, not wanted)


MUTATED = "honest aten__renorm/two_passes"
FAULTS = [
    ("norm = tl.sqrt(norm)", "pass"),
    ("if P == 1:", "if (False):"),
    ("if P == 1:", "if (P != 1):"),
    ("total += x * x", "total = (total + x * x).to(tl.float16)"),
    ("total += x * x", "total += (x + x)"),
    ("x = front.contiguous()", "x = (front)"),
    ("return y.movedim(0, dim)", "return y.movedim((1), dim)"),
    ("return out.copy_(renorm(self, p, dim, maxnorm))", "return out.copy_((renorm(self, dim, p, maxnorm)))"),
]
NO_FAULTS = ("height = ", "width = ", "@triton.jit", "def ", "ROWS=", "if x.numel() > 0:")


def faults():
    """The planted faults are those expected, no others, and each mutant is a program with one fault."""
    found = mutants.Mutator(kernel(MUTATED)).found
    keys = [mutant.key[1:] for mutant in found]
    yield from ("not planted: %s -> %s" % fault for fault in FAULTS if fault not in keys)
    yield from ("planted: %s -> %s" % key for key in keys for start in NO_FAULTS if key[0].startswith(start))
    if len({mutant.text for mutant in found}) != len(found):
        yield "a fault is planted twice"
    for mutant in found:
        ast.parse(mutant.text, str(mutant))
        if mutant.text == mutant.kernel.path.read_bytes():
            yield "no fault: %s" % mutant


def listed_faults():
    """Every mutant that is listed as equivalent still exists."""
    known = mutants.equivalents()
    files = {"honest " + key[0] for key in known}
    keys = {mutant.key for found in find_kernels("^honest ") if found.name in files for mutant in mutants.Mutator(found).found}
    yield from ("mutants_equivalent.tsv: no such mutant: %s: %s -> %s" % key for key in known if key not in keys)


def judged_faults():
    for what, wanted in ((PASSED, "survived"), (WRONG, "wrong"), (("failed", "verify.exception", "correctness"), "broken"),
                         (("cheated", "cheat.torch_compute", "l2"), "wrong"), (RULES, "not runnable"),
                         (("refused", "contract.kernel_unreachable", "contract"), "not runnable"), (TROUBLE, "not runnable"),
                         (None, "not runnable")):
        if mutants.outcome_of(verdict(what)) != wanted:
            yield "%s: %s" % (what, mutants.outcome_of(verdict(what)))


def samples():
    kernels = find_kernels("aten__(silu|add|mm)/")
    judged = corpus_sample.read_judged
    digests = {(corpus_sample.digest(one), one.name) for one in kernels}
    try:
        corpus_sample.read_judged = lambda: digests - {(corpus_sample.digest(kernels[3]), kernels[3].name)}
        changed, others = corpus_sample.choose(kernels, 10, "a seed")
        if changed != [kernels[3]] or len(others) != 10 or kernels[3] in others:
            yield "changed: %s, %d others" % ([one.name for one in changed], len(others))
        if corpus_sample.choose(kernels, 10, "a seed")[1] != others or corpus_sample.choose(kernels, 10, "another")[1] == others:
            yield "the seed does not draw the sample"
        corpus_sample.read_judged = set
        if corpus_sample.choose(kernels, 0, "a seed")[0] != kernels:
            yield "a kernel that was never judged is not taken"
    finally:
        corpus_sample.read_judged = judged
    for name in ("aten__silu", "vllm13__rms_norm", "cublas__cublasSgemm_v2"):
        folders = {path.parent.name for path in corpus_sample.operator_files(name)}
        if "cases" not in folders or len(folders) < (2 if name == "aten__silu" else 3):
            yield "%s: its digest leaves out files: %s" % (name, folders)


AGAIN = [  # sample, kernel, verdicts in turn: number of verdicts, right?, missed?
    (30, COMPUTE, (RULES,), 1, True, False),
    (30, COMPUTE, (PASSED, RULES, RULES, RULES), 4, True, True),
    (30, COMPUTE, (PASSED, RULES, PASSED, RULES), 4, True, True),
    (30, COMPUTE, (PASSED, RULES, PASSED, PASSED), 4, False, True),
    (30, COMPUTE, (PASSED, RULES, PASSED, None), 4, False, True),
    (30, COMPUTE, (None,), 1, False, False),
    (30, HONEST, (WRONG, PASSED, PASSED, PASSED), 4, True, True),
    (30, HONEST, (WRONG, PASSED, WRONG, PASSED), 4, False, True),
    (30, HONEST, (TROUBLE,), 1, False, False),
    (None, COMPUTE, (PASSED,), 1, False, False),
]


def judged_again():
    """A sample judges a kernel again with three other seeds where the first verdict is wrong."""
    judge_one = run_corpus.judge_one
    try:
        for sample, name, verdicts, n, right, missed in AGAIN:
            left, seeds = list(verdicts), []

            def answer(options, python, zygotes, kernel, seed):
                seeds.append(seed)
                return verdict(left.pop(0)), ""

            run_corpus.judge_one = answer
            options = types.SimpleNamespace(device="cpu", open_rules=False, sample=sample, seed=None)
            got = run_corpus.judged(options, None, None, kernel(name))
            if (len(set(seeds)), left, got.right, got.summary()["missed"]) != (n, [], right, missed):
                yield "%s, %s: seeds %s, right %s, missed %s" % (name, verdicts, seeds, got.right, got.again)
    finally:
        run_corpus.judge_one = judge_one


def main():
    tests = (("the kernels of a short run", samples), ("each outcome is right, wrong or skipped", outcomes), ("a second opinion in a sample", judged_again),
             ("rates and intervals", rates),
             ("the codes that a header allows", codes), ("when the first failure decides", first_failures),
             ("faults that mutants.py plants", faults), ("the list of equivalent mutants is not stale", listed_faults),
             ("the outcome of a mutant", judged_faults))
    print("1..%d" % len(tests))
    failed = 0
    for number, (title, test) in enumerate(tests, 1):
        problems = list(test())
        failed += bool(problems)
        print("%s %d - %s" % ("not ok" if problems else "ok", number, title))
        for problem in problems:
            print("# " + problem)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
