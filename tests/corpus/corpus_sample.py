# SPDX-License-Identifier: MIT
"""Chooses the kernels that a short run of the corpus judges.

tests/corpus/judged.tsv has a line for each kernel that a run over the whole corpus judged rightly: the digest of the inputs of its
verdict besides the judge (kernel, spec, case sets, reference functions), and the kernel's name. A short run judges every kernel
whose digest is not in that file, and a sample of the others that the seed draws.
"""

import functools
import hashlib
import re

from corpus_files import ROOT

JUDGED = ROOT / "tests/corpus/judged.tsv"
DATASET = ROOT / "datasets/kernelgenbench"


@functools.lru_cache(maxsize=None)
def operator_files(safe_name):
    """The spec of an operator, and the case sets and reference functions that it names."""
    spec = next(DATASET.glob("*/%s.yaml" % safe_name), None)
    if spec is None:
        return ()
    text = spec.read_text(encoding="utf-8")
    sets = [DATASET / "cases" / (name + ".yaml") for line in re.findall(r"cases: *\[([^]]*)\]", text) for name in re.findall(r"\w+", line)]
    references = [spec.parent / "reference" / name for name in re.findall(r'python: *"?(\w+\.py)', text)]
    return tuple([spec] + sorted(path for path in set(sets + references) if path.is_file()))


def digest(kernel):
    sha256 = hashlib.sha256(kernel.path.read_bytes())
    for path in operator_files(kernel.path.parent.name):
        sha256.update(path.name.encode() + b"\0" + path.read_bytes())
    return sha256.hexdigest()[:16]


def read_judged():
    if not JUDGED.exists():
        return set()
    return {tuple(line.split("\t")) for line in JUDGED.read_text(encoding="utf-8").splitlines() if not line.startswith("#")}


def write_judged(kernels):
    lines = ["%s\t%s" % (digest(kernel), kernel.name) for kernel in kernels]
    JUDGED.write_text("# Written by run_corpus.py --record: kernels that a whole run judged rightly.\n"
                      + "\n".join(lines) + "\n", encoding="utf-8")


def choose(kernels, n, seed):
    """(changed kernels, n others drawn by the seed), both in the order of `kernels`. When more than n have changed, as after a
    change of all case sets, n of these are drawn instead, and no others."""
    judged = read_judged()
    changed = [kernel for kernel in kernels if (digest(kernel), kernel.name) not in judged]

    def draw(some):
        drawn = sorted(some, key=lambda kernel: hashlib.sha256(("%s %s" % (seed, kernel.name)).encode()).digest())[:n]
        return [kernel for kernel in some if kernel in drawn]

    if len(changed) > n > 0:
        return draw(changed), []
    return changed, draw([kernel for kernel in kernels if kernel not in changed])
