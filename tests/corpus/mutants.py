#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts the small faults in honest kernels that the cases of their operators detect.

    mutants.py --judge build/release/bin/kgb-judge [--only REGEX] [--sample N] [--seed N] [--jobs N] [--json FILE]
    mutants.py --list [--only REGEX] [--sample N] [--seed N]

Each mutant is a kernel of tests/honest with one small fault: another comparison, operator or constant, a branch always or never
taken, one side of an `and` left out, minimum for maximum, a cast or an accumulator's width dropped, swapped arguments, a removed
statement or mask of a store. Code that only divides the work (block sizes, grids, warps, hints), checks that raise, annotations
and defaults stay unchanged. kgb-judge judges each mutant on the CPU, without timing, until the first failure:

    killed          refused; `wrong`: for its result, not for an exception, a crash or a call that did not end
    survived        passed: a hole in the cases, or an equivalent mutant
    equivalent      listed with a reason in mutants_equivalent.tsv (kernel, line, line with the fault, reason): not judged
    not runnable    refused by contract or L1, that is for its text, or without a verdict

--sample N draws N of all mutants; --seed determines which, and their data. Prints survivors and, by source, the killed share
with its 95 % Wilson interval. Exit status: 0 none survived, 1 some did, 77 no Python with torch and triton.
"""

import argparse
import ast
import collections
import concurrent.futures
import copy
import hashlib
import json
import pathlib
import random
import re
import sys
import tempfile

import corpus_rates
from corpus_files import find_kernels
from run_corpus import judge_one
from warm_judge import Zygotes, find_python

EQUIVALENT = pathlib.Path(__file__).with_name("mutants_equivalent.tsv")
BROKEN = ("verify.exception", "verify.crash", "verify.exit", "verify.timeout", "verify.oom")  # any case shows these
COMPARE = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
           ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In}
ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
              ast.Mod: ast.FloorDiv, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitXor: ast.BitAnd}
RENAMED = {"minimum": "maximum", "maximum": "minimum", "min": "max", "max": "min", "argmin": "argmax", "argmax": "argmin",
           "floor": "ceil", "ceil": "floor", "cumsum": "cumprod", "cumprod": "cumsum",
           "float64": "float32", "float32": "float16", "int64": "int32"}
STORES = {"store", "atomic_add", "atomic_max", "atomic_min", "atomic_cas", "atomic_xchg", "atomic_or", "atomic_and"}
CONFIG = {"num_warps", "num_stages", "num_ctas", "eviction_policy", "cache_modifier", "configs", "key", "volatile",
          "loop_unroll_factor", "flatten", "warp_specialize", "allow_tf32", "input_precision", "sem", "scope"}
REDUCE = {"sum", "max", "min", "dot", "reduce", "associative_scan", "cumsum", "cumprod", "argmax", "argmin", "sort", "xor_sum",
          "reduce_or", "histogram"}
EMPTY = re.compile(r"not |[()]| and | or | (?:>|==|!=) 0")  # leaves the sizes of `n > 0 and x.numel() > 0`
SIZE = re.compile(r"[\w.]*numel|n|m|n_\w+|total|count|rows|columns|cols|tokens|batch\w*|size|")
HINTS = {"arange", "multiple_of", "max_contiguous", "max_constancy", "assume", "static_assert", "device_assert", "debug_barrier",
         "Config", "next_power_of_2", "TypeVar", "jit", "swizzle2d"}


def called(node):
    """The last name of what a call calls."""
    if not isinstance(node, ast.Call):
        return ""
    return getattr(node.func, "attr", None) or getattr(node.func, "id", "")


def names(node):
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def is_launch(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript)


def asks_if_empty(test):
    """Guards a launch against an empty grid, which would do nothing anyway."""
    return all(SIZE.fullmatch(part) for part in EMPTY.split(ast.unparse(test)))


def config_names(tree):
    """Names that only divide the work: sizes of ranges in kernels, the values that hosts pass for them, grids."""
    config = {"grid"}
    for node in ast.walk(tree):
        if called(node) == "arange":
            config |= names(node)
        if isinstance(node, ast.Assign) and any(called(n) == "Config" for n in ast.walk(node.value)):
            config |= names(node.targets[0])
    for node in ast.walk(tree):
        if is_launch(node):
            config |= names(node.func.slice) - {"triton"} if isinstance(node.func.slice, ast.Name) else set()
            for keyword in node.keywords:
                if keyword.arg in config and isinstance(keyword.value, ast.Name):
                    config.add(keyword.value.id)
    return config


class Mutant:
    """One fault: `node` of the file becomes `after`."""

    def __init__(self, kernel, source, function, node, kind, after):
        self.kernel, self.function, self.line, self.kind = kernel, function, node.lineno, kind
        self.before, self.after = ast.unparse(node), after
        self.verdict, self.trouble, self.outcome = None, "", None
        lines = source.splitlines(keepends=True)
        first, last = node.lineno - 1, node.end_lineno - 1
        fault = after if isinstance(node, ast.stmt) else "(%s)" % after
        line = lines[first][:node.col_offset] + fault.encode() + lines[last][node.end_col_offset:]
        self.text = b"".join([*lines[:first], line, *lines[last + 1:]])
        self.key = kernel.name.split()[1], lines[first].decode().strip(), line.decode().strip()

    def __str__(self):
        return "%s:%d [%s] %s: %s -> %s" % (self.key[0], self.line, self.kind, self.function, self.before, self.after)

    def summary(self):
        verdict = self.verdict or {}
        failure = (verdict.get("failures") or [{}])[0]
        return {"kernel": self.key[0], "line": self.line, "kind": self.kind, "before": self.key[1], "after": self.key[2],
                "outcome": self.outcome, "code": verdict.get("code"), "case": failure.get("case"), "trouble": self.trouble or None}


class Mutator(ast.NodeVisitor):
    """All mutants of one file."""

    def __init__(self, kernel):
        self.kernel, self.source, self.function, self.found = kernel, kernel.path.read_bytes(), "", []
        tree = ast.parse(self.source)
        self.config = config_names(tree)
        self.own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        self.assigned, self.sums, self.padding = set(), set(), True
        self.visit(tree)

    def add(self, node, kind, *others):
        for other in others:
            after = other if isinstance(other, str) else ast.unparse(other)
            if after != ast.unparse(node):
                self.found.append(Mutant(self.kernel, self.source, self.function, node, kind, after))

    def changed(self, node, kind, **fields):
        other = copy.copy(node)
        vars(other).update(fields)
        self.add(node, kind, other)

    def visit_all(self, nodes):
        for node in nodes:
            self.visit(node)

    def visit_Raise(self, node):
        pass

    visit_Assert = visit_Raise

    def visit_ClassDef(self, node):
        self.visit_all(node.body)

    visit_With = visit_Try = visit_ClassDef

    def visit_FunctionDef(self, node):
        outer = self.function, self.assigned, self.sums, self.padding
        self.function, self.sums = node.name, set()
        self.assigned = {arg.arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg)}
        # The store drops the values of lanes beyond the end, unless a reduction or a loop adds them up.
        self.padding = any(isinstance(n, (ast.For, ast.While)) or called(n) in REDUCE for n in ast.walk(node))
        self.visit_all(node.body)
        self.function, self.assigned, self.sums, self.padding = outer

    def visit_Lambda(self, node):
        self.visit(node.body)

    def visit_If(self, node):
        if "__name__" in names(node.test):
            return
        if asks_if_empty(node.test) or all(isinstance(n, (ast.Raise, ast.Assert)) for n in node.body):
            self.visit_all(node.body + node.orelse)
        else:
            self.add(node.test, "branch", "True", "False")
            self.generic_visit(node)

    def visit_Expr(self, node):
        if isinstance(node.value, ast.Constant):
            return
        if called(node.value) not in HINTS:
            self.add(node, "statement", "pass")
        self.generic_visit(node)

    def visit_Assign(self, node):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        assigned = set().union(*(names(target) for target in targets))
        if assigned & self.config or node.value is None:
            return
        if self.function and (isinstance(node, ast.AugAssign) or (assigned and assigned <= self.assigned)):
            self.add(node, "statement", "pass")
            if len(assigned) == 1 and assigned <= self.sums:
                total = ast.BinOp(node.target, node.op, node.value) if isinstance(node, ast.AugAssign) else node.value
                self.add(node, "accumulator", "%s = (%s).to(tl.float16)" % (*assigned, ast.unparse(total)))
        self.assigned = self.assigned | assigned
        if called(node.value) in ("zeros", "full") and "tl.float" in ast.unparse(node.value):
            self.sums = self.sums | assigned
            return
        if isinstance(node, ast.AugAssign) and type(node.op) in ARITHMETIC:
            self.changed(node, "arithmetic", op=ARITHMETIC[type(node.op)]())
        self.visit_all(target.slice for target in targets if isinstance(target, ast.Subscript))
        self.visit(node.value)

    visit_AugAssign = visit_AnnAssign = visit_Assign

    def visit_Compare(self, node):
        for i, op in enumerate(node.ops):
            self.changed(node, "compare", ops=node.ops[:i] + [COMPARE[type(op)]()] + node.ops[i + 1:])
        self.generic_visit(node)

    def visit_BinOp(self, node):
        if isinstance(node.op, (ast.BitAnd, ast.BitOr)):
            self.add(node, "side", node.left, node.right)
        elif type(node.op) in ARITHMETIC and not isinstance(node.left, (ast.List, ast.Tuple)):
            self.changed(node, "arithmetic", op=ARITHMETIC[type(node.op)]())
        self.generic_visit(node)

    def visit_BoolOp(self, node):
        for i in range(len(node.values)):
            left = node.values[:i] + node.values[i + 1:]
            self.add(node, "side", left[0] if len(left) == 1 else ast.BoolOp(node.op, left))
        self.generic_visit(node)

    def visit_UnaryOp(self, node):
        self.add(node, "sign" if isinstance(node.op, ast.USub) else "negation", node.operand)
        self.generic_visit(node)

    def visit_IfExp(self, node):
        self.add(node, "branch", node.body, node.orelse)
        self.generic_visit(node)

    def visit_Constant(self, node):
        value = node.value
        if isinstance(value, bool):
            self.add(node, "constant", str(not value))
        elif isinstance(value, int):
            self.add(node, "constant", *map(str, {0: (1,), 1: (0, 2)}.get(value, (value - 1, value + 1))))
        elif isinstance(value, float):
            others = (1.0,) if value == 0 else (0.0, value * 10) if abs(value) < 1e-3 else (0.0, value * 1.01)
            self.add(node, "constant", *map(repr, others))

    def visit_Attribute(self, node):
        if node.attr in RENAMED and isinstance(node.value, ast.Name) and node.value.id in ("tl", "torch"):
            self.changed(node, "type", attr=RENAMED[node.attr])
        self.generic_visit(node)

    def visit_keyword(self, node):
        if node.arg not in CONFIG and node.arg not in self.config:
            self.visit(node.value)

    def visit_Call(self, node):
        name = called(node)
        if name in HINTS:
            return
        if name == "cdiv":
            self.add(node, "grid", ast.BinOp(node.args[0], ast.FloorDiv(), node.args[1]))
            return
        if is_launch(node):
            self.visit_all(call for call in ast.walk(node.func.slice) if called(call) == "cdiv")
        elif name == "float" and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
            self.add(node, "constant", "0.0")
        elif name == "where" and len(node.args) == 3:
            self.add(node, "branch", node.args[1], node.args[2])
        elif name in ("to", "contiguous", "abs") and isinstance(node.func, ast.Attribute) and names(node.func.value) != {"tl"}:
            if self.is_offset(node):
                self.visit(node.func.value)
                return
            if not ast.unparse(node).endswith(".element_ty)"):  # a store converts to this type anyway
                self.add(node, "cast", node.func.value)
        elif name in STORES and any(k.arg == "mask" for k in node.keywords):
            self.changed(node, "mask", keywords=[k for k in node.keywords if k.arg != "mask"])
        if name in RENAMED and isinstance(node.func, ast.Name):
            self.changed(node, "type", func=ast.Name(RENAMED[name]))
        if name in self.own or is_launch(node):
            self.swaps(node)
        if isinstance(node.func, ast.Attribute):
            self.visit(node.func)
        self.visit_all(node.args + (node.keywords if name != "load" or self.padding else []))

    @staticmethod
    def is_offset(node):
        """Makes an offset 64 bits wide, which matters only beyond 2^31 elements."""
        return ast.unparse(node).endswith(".to(tl.int64)") and not any(called(n) == "load" for n in ast.walk(node))

    def swaps(self, node):
        """Neighbours among the arguments, each with the next one."""
        for i, (one, other) in enumerate(zip(node.args, node.args[1:])):
            if not isinstance(one, ast.Starred) and not isinstance(other, ast.Starred):
                self.changed(node, "swap", args=node.args[:i] + [other, one] + node.args[i + 2:])


def equivalents():
    """{(kernel, line, line with the fault): reason}"""
    rows = {}
    for line in EQUIVALENT.read_text(encoding="utf-8").splitlines() if EQUIVALENT.exists() else []:
        if line and not line.startswith("#"):
            *key, reason = line.split("\t")
            rows[tuple(key)] = reason
    return rows


def outcome_of(verdict):
    if not corpus_rates.rejected(verdict):
        return "survived" if verdict and verdict["status"] == "passed" else "not runnable"
    if verdict["stage"] in ("contract", "l1"):
        return "not runnable"
    return "broken" if verdict["code"] in BROKEN else "wrong"


def judge(options, python, zygotes, mutant):
    kernel = copy.copy(mutant.kernel)
    kernel.path, kernel.first_failure_decides = pathlib.Path(zygotes.directory) / ("mutant%d.py" % id(mutant)), True
    kernel.path.write_bytes(mutant.text)
    kernel.hangs = re.search(rb"^ +while ", mutant.text, re.M) is not None  # a few seconds show it
    mutant.verdict, mutant.trouble = judge_one(options, python, zygotes, kernel)
    mutant.outcome = outcome_of(mutant.verdict)
    kernel.path.unlink()
    return mutant


def run(options, mutants, python, zygotes):
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for mutant in pool.map(lambda m: judge(options, python, zygotes, m), (m for m in mutants if m.outcome is None)):
            if mutant.outcome in ("survived", "not runnable"):
                reason = (mutant.verdict or {}).get("code") or mutant.trouble
                print("%s %s%s" % (mutant.outcome, mutant, " (%s)" % reason if reason else ""), flush=True)


def figures(mutants):
    """Prints and returns, by source, the number of each outcome, and the killed shares: of all mutants, and of those with results."""
    rows = {}
    for source in ("aten", "vllm", "cublas", "all"):
        n = collections.Counter(m.outcome for m in mutants if source == "all" or m.kernel.header["operator"].startswith(source))
        killed = corpus_rates.rate(n["wrong"] + n["broken"], n["wrong"] + n["broken"] + n["survived"])
        by_result = corpus_rates.rate(n["wrong"], n["wrong"] + n["survived"])
        rows[source] = {**n, "killed": killed, "killed_by_result": by_result}
        if n:
            print("# %-6s killed %s; of those that gave results %s; %d equivalent, %d not runnable" % (
                source, corpus_rates.text(killed), corpus_rates.text(by_result), n["equivalent"], n["not runnable"]))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--judge")
    parser.add_argument("--python")
    parser.add_argument("--only", metavar="REGEX", help="of the kernels' names, such as aten__pow/float64.py")
    parser.add_argument("--sample", type=int, metavar="N", help="so many, by chance (default: all)")
    parser.add_argument("--seed", type=int, default=1, help="of the sample and of the data (default: 1)")
    parser.add_argument("--jobs", type=int, default=2, help="at least 2")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--list", action="store_true", help="print the mutants, judge none")
    options = parser.parse_args()
    kernels = [k for k in find_kernels("^honest .*(?:%s)" % (options.only or "")) if "triton" not in k.header]
    mutants = [mutant for kernel in kernels for mutant in Mutator(kernel).found]
    total = len(mutants)
    if options.sample is not None and options.sample < total:
        chosen = sorted(random.Random(options.seed).sample(range(total), options.sample))
        mutants = [mutants[i] for i in chosen]
    known = equivalents()
    for mutant in mutants:
        if mutant.key in known:
            mutant.outcome = "equivalent"
    print("# %d of %d mutants of %d kernels, seed %d" % (len(mutants), total, len(kernels), options.seed), flush=True)
    if options.list:
        for mutant in mutants:
            print(mutant)
        return 0
    if not options.judge:
        parser.error("--judge is missing")
    # judge_one leaves out the timing where kernels run beside each other
    options.jobs = max(2, options.jobs)
    options.seed = hashlib.sha256(b"%d" % options.seed).hexdigest()[:32]
    python = find_python(options.python)
    with tempfile.TemporaryDirectory(prefix="kgb-mutants-") as directory:
        zygotes = Zygotes(options.judge, directory, "cpu", python) if python else None
        if zygotes is None or not zygotes.ready:
            print("no Python with torch and triton, or no sandbox")
            return 77
        try:
            run(options, mutants, python, zygotes)
        finally:
            zygotes.close()
    rows = figures(mutants)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"schema": "kgb.mutants/1", "seed": options.seed, "of": total, "figures": rows,
                       "mutants": [m.summary() for m in mutants]}, file, indent=1)
            file.write("\n")
    return 1 if rows["all"].get("survived") else 0


if __name__ == "__main__":
    sys.exit(main())
