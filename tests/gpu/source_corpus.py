#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the IR of recorded launches from the text of kernel.py and compares it with the IR that the executed module gives.

    source_corpus.py --records DIR [--triton DIR] [--only REGEX] [--jobs N] [--most N]

DIR is a folder of records (compile_corpus.py --records). One process executes each recorded kernel.py and makes images as a runner
does (verify/python/runner/ttir_image.py), at most N specializations of a kernel. Another one makes the modules again from text and
claims (verify/python/compiler), and those of mutants: the same text with one operator changed in a function that takes part.
Prints a line for each file with a difference, and the counts; exit status 0 if each launch gives the same module and each mutant
another one than its original, but for those that cannot differ, 77 without torch or triton.
"""

import argparse
import ast
import collections
import hashlib
import json
import multiprocessing
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "corpus"))
sys.path.insert(0, str(ROOT / "tests" / "gpu"))
from corpus_files import find_kernels  # noqa: E402
from warm_judge import find_python  # noqa: E402

WALL_S = 600
SWAPPED = {ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "+"), ast.Div: ("/", "*"), ast.Lt: ("<", ">"), ast.Gt: (">", "<"),
           ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&")}


# ---- in a process that executes the candidates ----

def specialized(fn, args, kwargs):
    """What JITFunction.run gives to the front end: (signature, constants, attributes, options)."""
    import triton.runtime.jit as jit
    import ttir_image
    backend = ttir_image.make_backend(ttir_image.TARGET)
    kwargs = {**kwargs, "debug": kwargs.get("debug", fn.debug) or False}
    binder = jit.create_function_from_signature(fn.signature, fn.params, backend)
    bound, specialization, options = binder(*args, **kwargs)
    options, signature, constants, attrs = fn._pack_args(backend, kwargs, bound, specialization, options)
    return signature, constants, attrs, options


def images_of(folder, out, most):
    """Writes the images to out/N; returns errors."""
    import compile_corpus
    import ttir_image
    ttir_image.prepare()
    compile_corpus.stub_driver()
    module = compile_corpus.load(folder)
    known = compile_corpus.functions(module)
    launches = set()
    for path in folder.glob("*.pickle"):
        with path.open("rb") as file:
            while file.peek(1):
                launches.add(pickle.dumps(pickle.load(file)))
    seen, errors, counts = set(), [], collections.Counter()
    for launch in sorted(launches, key=lambda text: hashlib.sha256(text).digest()):
        name, args, kwargs, _ = pickle.loads(launch)
        if counts[name] >= most:
            continue
        try:
            fn = known[name]
            image, _, _ = ttir_image.make(fn, *specialized(fn, [compile_corpus.made(module, arg) for arg in args],
                                                           {key: compile_corpus.made(module, value) for key, value in kwargs.items()}))
        except Exception as error:
            errors.append("%s: %s: %s" % (name, type(error).__name__, " | ".join(str(error).splitlines()[-2:])[:300]))
            continue
        if image not in seen:
            (out / ("%d" % len(seen))).write_bytes(image)
            seen.add(image)
            counts[name] += 1
    return errors[:3]


def execute_all(options):
    """Prints a line of JSON for each folder."""
    if options.triton:
        sys.path.insert(0, options.triton)
    sys.path.insert(0, str(ROOT / "verify" / "python" / "runner"))
    import torch  # noqa: F401
    import triton
    print(json.dumps(triton.__version__), flush=True)
    with multiprocessing.get_context("fork").Pool(options.jobs, maxtasksperchild=1) as pool:
        waiting = []
        for path in options.execute:
            out = options.images / pathlib.Path(path).name
            out.mkdir()
            waiting.append((path, pool.apply_async(images_of, (pathlib.Path(path), out, options.most))))
        for path, each in waiting:
            try:
                errors = each.get(WALL_S)
            except Exception as error:
                errors = ["%s: %s" % (type(error).__name__, error)]
            print(json.dumps([path, errors]), flush=True)


# ---- in a process that has nothing but text ----

def mutant(text, lines):
    """The text with one operator changed in the functions that begin in these lines, or None."""
    source = text.decode()
    rows = source.splitlines(keepends=True)
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef) or function.lineno not in lines:
            continue
        for node in (part for statement in function.body for part in ast.walk(statement)):
            if isinstance(node, ast.BinOp):
                left, right, op = node.left, node.right, node.op
            elif isinstance(node, ast.Compare) and len(node.ops) == 1:
                left, right, op = node.left, node.comparators[0], node.ops[0]
            else:
                continue
            before, after = SWAPPED.get(type(op), (None, None))
            if before is None or left.end_lineno != right.lineno:
                continue
            row = rows[left.end_lineno - 1].encode()
            between = row[left.end_col_offset:right.col_offset]
            if between.count(before.encode()) != 1 or len(between.strip(b" ()")) != 1:
                continue
            row = row[:left.end_col_offset] + between.replace(before.encode(), after.encode()) + row[right.col_offset:]
            return "".join(rows[:left.end_lineno - 1] + [row.decode()] + rows[left.end_lineno:]).encode()
    return None


def compare(folder, images):
    """(counts, texts)"""
    import from_source
    from refusal import Refused
    counts, texts = collections.Counter(), []
    text = (folder / "kernel.py").read_bytes()
    times = []
    for path in sorted(images.iterdir(), key=lambda path: int(path.name)):
        claims, _, module = path.read_bytes().partition(b"\n")
        began = time.perf_counter()
        try:
            made = from_source.make(text, claims)[0].encode()
            kind = "equal" if made == module else "differs"
            why = "" if made == module else first_difference(module, made)
        except Refused as error:
            kind, why = "refused", str(error)
        times.append(time.perf_counter() - began)
        counts[kind] += 1
        if why:
            texts.append("%s: %s" % (kind, why[:300]))
        changed = mutant(text, {claim["line"] for claim in json.loads(claims)["functions"]})
        if changed is None or kind != "equal":
            continue
        try:
            same = from_source.make(changed, claims)[0].encode() == module
        except Refused:
            same = False
        counts["mutant equal" if same else "mutant differs"] += 1
        if same:
            texts.append("a mutant gives the same module: %s" % first_difference(text, changed))
    return counts, texts, times


def first_difference(one, other):
    for a, b in zip(one.splitlines(), other.splitlines()):
        if a != b:
            return "%s // %s" % (a.decode().strip()[:140], b.decode().strip()[:140])
    return "%d and %d bytes" % (len(one), len(other))


def compare_all(options):
    """Prints a line of JSON for each folder."""
    if options.triton:
        sys.path.insert(0, options.triton)
    sys.path[:0] = [str(ROOT / "verify" / "python" / "compiler"), str(ROOT / "verify" / "python" / "runner")]
    import from_source
    from_source.prepare()
    with multiprocessing.get_context("fork").Pool(options.jobs, maxtasksperchild=1) as pool:
        waiting = [(path, pool.apply_async(compare, (pathlib.Path(path), options.images / pathlib.Path(path).name)))
                   for path in options.compare]
        for path, each in waiting:
            print(json.dumps([path, *each.get(WALL_S)]), flush=True)


# ---- the script ----

def lines_of(options, python, mode, images, folders):
    environment = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    argv = [python, "-I", "-B", "-W", "ignore", __file__, "--records", str(options.records), "--jobs", str(options.jobs), "--most", str(options.most),
            "--images", str(images), *(["--triton", options.triton] if options.triton else []), mode, *map(str, folders)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=environment) as child:
        yield from map(json.loads, child.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=pathlib.Path, required=True)
    parser.add_argument("--triton", help="folder with another Triton's package")
    parser.add_argument("--only", help="regular expression for names")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--most", type=int, default=4, help="specializations of one kernel")
    parser.add_argument("--images", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--execute", nargs="*", help=argparse.SUPPRESS)
    parser.add_argument("--compare", nargs="*", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.execute is not None or options.compare is not None:
        (execute_all if options.execute is not None else compare_all)(options)
        return 0
    python = find_python(None)
    if not python:
        return 77
    options.records = options.records.resolve()
    names = {str(options.records / hashlib.sha256(kernel.path.read_bytes()).hexdigest()): kernel.name
             for kernel in find_kernels(options.only) if kernel.honest}
    folders = [path for path in names if (pathlib.Path(path) / "kernel.py").exists()]
    counts, times, files = collections.Counter(), [], collections.Counter()
    with tempfile.TemporaryDirectory(prefix="kgb-source-") as work:
        version, *executed = lines_of(options, python, "--execute", work, folders)
        for path, errors in executed:
            for error in errors:
                counts["not executed"] += 1
                print("%s: not executed: %s" % (names[path], error), flush=True)
        for path, found, texts, took in lines_of(options, python, "--compare", work, folders):
            counts.update(found)
            times += took
            files["all equal" if found.keys() <= {"equal", "mutant equal", "mutant differs"} else "not all equal"] += 1
            for text in texts[:3]:
                print("%s: %s" % (names[path], text), flush=True)
    times.sort()
    print("# Triton %s: %s of %d files; %s; median %.1f ms a module, at most %.0f" % (
        version, dict(files), len(folders), dict(counts), 1e3 * times[len(times) // 2], 1e3 * times[-1]))
    return 0 if counts["equal"] == len(times) and files.total() == len(folders) else 1


if __name__ == "__main__":
    sys.exit(main())
