#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Changes operators in the text of honest kernels: the same claims must give another module. If they do not, a part of the work is
not from the text, and the proof of an image (docs/provenance.md) says nothing about it.

    text_mutants.py RECORDS [--only REGEX] [--jobs N] [--most N]

RECORDS is a folder of record_corpus.py. For at most N images of a kernel file, and each function that takes part in one, mutants
have one arithmetic operator or comparison changed. The first five are tried until one gives another module, or none: a branch that
constants exclude is not in the module. Prints functions without any, and counts; exit status 1 if there are such, 77 without torch
or triton.
"""

import argparse
import ast
import collections
import hashlib
import itertools
import json
import multiprocessing
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / path) for path in ("tests/corpus", "verify/python/compiler", "verify/python/runner")]
sys.dont_write_bytecode = True
from corpus_files import find_kernels  # noqa: E402
from warm_judge import has_torch  # noqa: E402

MUTANTS = 5  # of a function
SWAPPED = {ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "+"), ast.Div: ("/", "*"), ast.Lt: ("<", ">"), ast.Gt: (">", "<"),
           ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&")}


def operators(function):
    """(left, operator, right) of each operator in the body."""
    for node in (part for statement in function.body for part in ast.walk(statement)):
        if isinstance(node, ast.BinOp):
            yield node.left, node.op, node.right
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            yield node.left, node.ops[0], node.comparators[0]


def mutants(text, line):
    """The text with one operator changed in the function that begins in this line."""
    rows = text.splitlines(keepends=True)
    function = next((node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef) and node.lineno == line))
    for left, op, right in operators(function):
        before, after = (sign.encode() for sign in SWAPPED.get(type(op), ("", "")))
        row = rows[left.end_lineno - 1]
        between = row[left.end_col_offset:right.col_offset] if left.end_lineno == right.lineno else b""
        if before and between.strip(b" ()") == before:
            changed = row[:left.end_col_offset] + between.replace(before, after) + row[right.col_offset:]
            yield b"".join([*rows[:left.end_lineno - 1], changed, *rows[left.end_lineno:]])


def made(text, claims):
    import from_source
    from refusal import Refused
    try:
        return from_source.make(text, claims)[0].encode()
    except Refused as error:
        return str(error)


def check(task):
    """(folder, numbers of outcomes, texts)."""
    folder, most = task
    counts, texts, text = collections.Counter(), [], (folder / "kernel.py").read_bytes()
    for path in sorted(folder.glob("*.image"))[:most]:
        claims = path.read_bytes().partition(b"\n")[0]
        module = made(text, claims)  # another version of Triton may have recorded
        if isinstance(module, str):
            texts.append("refused: %s" % module)
            continue
        for claim in json.loads(claims)["functions"]:
            if "answers" in claim:
                continue  # of a constexpr_function, whose results are claimed
            tried = [made(mutant, claims) != module for mutant in itertools.islice(mutants(text, claim["line"]), MUTANTS)]
            outcome = "another module" if any(tried) else "the same module" if tried else "no operator"
            counts[outcome] += 1
            if tried and not any(tried):
                texts.append("no mutant of %s changes the module" % claim["name"])
    return folder, counts, texts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=pathlib.Path)
    parser.add_argument("--only", help="regular expression for names")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--most", type=int, default=4, help="images of one kernel file")
    options = parser.parse_args()
    if not has_torch():
        return 77
    import from_source
    from_source.prepare()
    names = {hashlib.sha256(kernel.path.read_bytes()).hexdigest(): kernel.name for kernel in find_kernels(options.only)}
    tasks = [(folder, options.most) for folder in sorted(options.records.iterdir()) if folder.name in names]
    total, n_bad = collections.Counter(), 0
    with multiprocessing.get_context("fork").Pool(options.jobs, maxtasksperchild=1) as pool:
        for folder, counts, texts in pool.imap_unordered(check, tasks):
            total.update(counts)
            n_bad += len(texts)
            for text in texts:
                print("not ok %s: %s" % (names[folder.name], text), flush=True)
    print("# %d kernels, functions with mutants that give: %s" % (
        len(tasks), ", ".join("%s: %d" % pair for pair in sorted(total.items()))))
    return 0 if total["another module"] and not n_bad else 1


if __name__ == "__main__":
    sys.exit(main())
