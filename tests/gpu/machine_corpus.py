#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Gives the machine the IR of every recorded launch of the corpus, as the front end makes it and normalized.

    machine_corpus.py LIBRARY RECORDS [--most N] [--jobs N]

LIBRARY is <build>/tests/helpers/machine_library.so, RECORDS a folder that compile_corpus.py --records filled; at most N
specializations of a kernel count. Prints what does not parse; exit status 1 if something does not.
"""

import argparse
import hashlib
import multiprocessing
import os
import pathlib
import pickle
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "gpu"), str(ROOT / "tests" / "helpers"), str(ROOT / "tests" / "corpus")]
sys.dont_write_bytecode = True


class Made(Exception):
    """The front end has made the IR; nothing is compiled."""


def modules(folder, most):
    """(name of the kernel, text) of the launches of a folder; two texts for each."""
    import compile_corpus
    import triton.compiler.compiler as compiler
    from triton._C.libtriton import passes, ir
    compile_corpus.stub_driver()
    made, make_ir = [], compiler.ASTSource.make_ir

    def stop(self, *args, **kwargs):
        made.append(make_ir(self, *args, **kwargs))
        raise Made

    compiler.ASTSource.make_ir = stop
    module = compile_corpus.load(folder)
    launches, texts = set(), {}
    for path in folder.glob("*.pickle"):
        with path.open("rb") as file:
            while file.peek(1):
                launches.add(pickle.dumps(pickle.load(file)))
    known = compile_corpus.functions(module)
    for launch in sorted(launches, key=lambda text: hashlib.sha256(text).digest()):
        name, args, kwargs, _ = pickle.loads(launch)
        if len(texts.setdefault(name, set())) >= most:
            continue
        made.clear()
        try:
            known[name].run(*(compile_corpus.made(module, arg) for arg in args), grid=(1, 1, 1), warmup=True,
                            **{key: compile_corpus.made(module, value) for key, value in kwargs.items()})
        except Made:
            raw = str(made[0])
            manager = ir.pass_manager(made[0].context)
            passes.common.add_inliner(manager)
            passes.common.add_canonicalizer(manager)
            passes.common.add_cse(manager)
            manager.run(made[0], "normalize")
            texts[name].add((raw, made[0].str_nodebug()))
    return [(name, text) for name, pairs in texts.items() for pair in pairs for text in pair]


def check(task):
    """(texts, refusals) of a folder."""
    folder, library, most = task
    from machine_library import Machine
    if not (folder / "kernel.py").exists():  # refused before it ran
        return 0, []
    machine, refused, n = Machine(library), [], 0
    for name, text in modules(folder, most):
        n += 1
        try:
            machine.program(text)
        except ValueError as error:
            refused.append("%s of %s: %s" % (name, folder.name[:12], error))
    return n, refused


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("records", type=pathlib.Path)
    parser.add_argument("--most", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    library = os.path.abspath(options.library)
    tasks = [(folder, library, options.most) for folder in sorted(options.records.iterdir()) if folder.is_dir()]
    n = n_refused = 0
    with multiprocessing.get_context("fork").Pool(options.jobs, maxtasksperchild=1) as pool:
        for texts, refused in pool.imap_unordered(check, tasks):
            n += texts
            n_refused += len(refused)
            for line in refused:
                print("not ok " + line, flush=True)
    print("# %d modules of %d kernels, %d refused" % (n, len(tasks), n_refused))
    return 0 if n and not n_refused else 1


if __name__ == "__main__":
    sys.exit(main())
