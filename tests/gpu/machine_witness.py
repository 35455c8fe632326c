#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the machine with Triton's interpreter and with a GPU on recorded launches of the corpus.

    machine_witness.py LIBRARY RECORDS [--device cuda] [--jobs N] [--only SHA256...]

LIBRARY is <build>/tests/helpers/machine_library.so, RECORDS a folder that compile_corpus.py --data --records filled. Each
launch starts from the recorded memory: in the machine with the IR that Triton's front end makes for its arguments, on the GPU
with --device cuda. Regions of memory are compared after it, as elements of the type of the first tensor in them. Two are
`equal` in all bits, `close` when each element differs by at most BOUNDS of its type times the largest finite magnitude of its
region, else `far`. Launches that read addresses from memory cannot be repeated elsewhere and are left out. Prints each
launch that is far or ends with a fault, and counts; exit status 1 if the machine has one.
"""

import argparse
import collections
import hashlib
import inspect
import multiprocessing
import os
import pathlib
import pickle
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "gpu"), str(ROOT / "tests" / "helpers"), str(ROOT / "tests" / "corpus")]
sys.dont_write_bytecode = True
from corpus_files import find_kernels  # noqa: E402
BOUNDS = {"float64": 2.0 ** -40, "float32": 2.0 ** -17, "float16": 2.0 ** -9, "bfloat16": 2.0 ** -6, "float8_e4m3fn": 2.0 ** -2,
          "float8_e5m2": 2.0 ** -1}


class Made(Exception):
    """The front end has made the IR; nothing is compiled."""


class FrontEnd:
    """Catches the source and the IR of each launch that Triton compiles."""

    def __init__(self, device):
        import triton.compiler.compiler as compiler
        from triton._C.libtriton import ir, passes
        self.source, self.text, make_ir = None, None, compiler.ASTSource.make_ir

        def caught(source, *args, **kwargs):
            module = make_ir(source, *args, **kwargs)
            self.source, self.text = source, str(module)
            if device is None:
                raise Made
            return module

        compiler.ASTSource.make_ir = caught

    def make(self, function, args, kwargs, grid):
        """Launches on the GPU, or stops before anything is compiled."""
        function.device_caches.clear()  # else a second launch of one specialization shows no IR
        try:
            function.run(*args, grid=grid, warmup=False, **kwargs)
        except Made:
            pass


class Memory:
    """The regions of a launch on a device; each begins at the recorded address modulo 256."""

    def __init__(self, record, device):
        import torch
        self.blocks, self.pads = [], []
        for pad, before, _ in record["regions"]:
            block = torch.zeros(pad + len(before) + 256, dtype=torch.uint8, device=device)
            skip = -block.data_ptr() % 256
            self.blocks.append(block)
            self.pads.append(skip + pad)
            block[skip + pad:skip + pad + len(before)] = torch.frombuffer(bytearray(before), dtype=torch.uint8).to(device)

    def tensor(self, value, shape=None, strides=None):
        """A recorded tensor, or the base of a descriptor."""
        import torch
        dtype, (sizes, steps, region, offset) = getattr(torch, value[1]), value[3:7]
        sizes, steps = (sizes, steps) if shape is None else (shape, strides)
        if region is None:
            return torch.empty_strided(sizes, steps, dtype=dtype, device=self.blocks[0].device if self.blocks else "cpu")
        storage = self.blocks[region].untyped_storage()
        flat = torch.empty(0, dtype=dtype, device=self.blocks[region].device)
        at = self.pads[region] + offset
        return flat.set_(storage, at // dtype.itemsize, tuple(sizes), tuple(steps))

    def read(self, record):
        return [block[pad:pad + len(before)].cpu() for block, pad, (_, before, _)
                in zip(self.blocks, self.pads, record["regions"])]


def leaves(kind, value):
    """(type, value) of what the compiled kernel takes, in order."""
    if isinstance(kind, tuple):
        for one, inner in zip(kind, value):
            yield from leaves(one, inner)
    elif kind != "constexpr":
        yield kind, value


def machine_arguments(source, bound, types):
    out = []
    for name, kind in source.signature.items():
        for one, value in leaves(kind, bound[name]):
            if one.startswith("tensordesc"):
                out.append(("descriptor", value.base))
                if len(types) > len(out) and types[len(out)] == "i32":
                    out += [*value.shape, *value.strides]
            else:
                out.append(getattr(value, "base", value))
    return out


def run_machine(machine, front_end, function, record, args, kwargs):
    """The memory after the launch."""
    names = inspect.signature(function.fn).parameters
    bound = inspect.signature(function.fn).bind(*args, **{key: value for key, value in kwargs.items() if key in names})
    bound.apply_defaults()
    program = machine.program(front_end.text)
    program.run(machine_arguments(front_end.source, bound.arguments, program.types), record["grid"], races=True,
                fuel=20_000_000_000)


def types_of(record):
    """The type of the first tensor in each region."""
    found = {}

    def visit(value):
        if isinstance(value, (tuple, list)) and value and value[0] == "tensor" and value[5] is not None:
            found.setdefault(value[5], value[1])
        elif isinstance(value, (tuple, list)):
            for one in value:
                visit(one)

    visit([*record["args"], *record["kwargs"].values()])
    return [found.get(i, "uint8") for i in range(len(record["regions"]))]


def elements(bytes_, dtype):
    import torch
    size = getattr(torch, dtype).itemsize
    return bytes_[:len(bytes_) // size * size].clone().view(getattr(torch, dtype))


def holds_addresses(record):
    for (_, before, _), dtype in zip(record["regions"], types_of(record)):
        if dtype in ("int64", "uint64") and len(before) >= 8:
            import torch
            values = torch.frombuffer(bytearray(before[:len(before) // 8 * 8]), dtype=torch.int64)
            if bool(((values >= 1 << 44) & (values < 1 << 47)).any()):
                return True
    return False


def compare(record, ours, theirs):
    """("equal", ""), ("close", type, distance) or ("far", what)."""
    import torch
    worst = ("equal", "", 0.0)
    for i, (mine, other, dtype) in enumerate(zip(ours, theirs, types_of(record))):
        if torch.equal(mine, other):
            continue
        if dtype not in BOUNDS:
            a, b = elements(mine, dtype), elements(other, dtype)
            n = int((a != b).sum())
            return "far", "region %d: %d %s of %d differ, by %s at most" % (
                i, n, dtype, a.numel(), (a.double() - b.double()).abs().max().item()), 0.0
        a, b = elements(mine, dtype).double(), elements(other, dtype).double()
        same = (a == b) | (a.isnan() & b.isnan())
        largest = torch.maximum(a.abs(), b.abs())
        scale = float(largest[largest.isfinite()].max()) if largest.isfinite().any() else 0.0
        off = torch.where(same, 0.0, (a - b).abs() / max(scale, 1e-300)).nan_to_num(float("inf"), float("inf"))
        if float(off.max()) > BOUNDS[dtype]:
            at = int(off.argmax())
            return "far", "region %d: %d %s of %d differ, worst at %d: %r, not %r (largest %.3g)" % (
                i, int((~same).sum()), dtype, a.numel(), at, float(a[at]), float(b[at]), scale), 0.0
        worst = max(worst, ("close", dtype, float(off.max())), key=lambda one: (one[0] == "close", one[2]))
    return worst


def launches_of(folder):
    """Recorded launches that differ in more than data."""
    seen, out = set(), []
    for path in sorted(folder.glob("*.data")):
        with path.open("rb") as file:
            while file.peek(1):
                record = pickle.load(file)
                key = pickle.dumps({**record, "regions": [(pad, len(before)) for pad, before, _ in record["regions"]]})
                if key not in seen:
                    seen.add(key)
                    out.append(record)
    return out


def check(task):
    """For each launch of a folder: (pair, outcome, text, distance, kernel)."""
    folder, library, device = task
    os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp(prefix="kgb-witness-")
    os.environ["TRITON_ALWAYS_COMPILE"] = "1"
    import compile_corpus
    import torch
    from machine_library import Fault, Machine
    torch.set_num_threads(1)
    if device is None:
        compile_corpus.stub_driver()
    front_end, machine, out = FrontEnd(device), Machine(library), []
    module = compile_corpus.load(folder)
    known = compile_corpus.functions(module)
    for record in launches_of(folder):
        name = record["name"]
        if holds_addresses(record):
            out.append(("all", "left out", "addresses in memory", 0.0, name))
            continue

        def revive(memory):
            return ([compile_corpus.made(module, arg, memory.tensor) for arg in record["args"]],
                    {key: compile_corpus.made(module, value, memory.tensor) for key, value in record["kwargs"].items()})

        try:
            theirs = Memory(record, device or "cpu")
            args, kwargs = revive(theirs)
            front_end.make(known[name], args, kwargs, record["grid"])
            ours = Memory(record, "cpu")
            run_machine(machine, front_end, known[name], record, *revive(ours))
            after = ours.read(record)
            interpreted = [torch.frombuffer(bytearray(end), dtype=torch.uint8) for _, _, end in record["regions"]]
            out.append(("machine, interpreter", *compare(record, after, interpreted), name))
            if device:
                torch.cuda.synchronize()
                there = theirs.read(record)
                out.append(("machine, gpu", *compare(record, after, there), name))
                out.append(("interpreter, gpu", *compare(record, interpreted, there), name))
        except Fault as fault:
            out.append(("machine", "fault", "%s at line %d: %s" % (fault.kind, fault.kernel_line, fault), 0.0, name))
        except Exception as error:
            out.append(("machine", "error", "%s: %s" % (type(error).__name__, str(error)[:300]), 0.0, name))
    return folder, out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("records", type=pathlib.Path)
    parser.add_argument("--device", choices=["cuda"])
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", nargs="*", default=[], help="beginnings of folders' names")
    options = parser.parse_args()
    os.environ.pop("TRITON_INTERPRET", None)
    os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"
    library = os.path.abspath(options.library)
    tasks = [(folder, library, options.device) for folder in sorted(options.records.iterdir())
             if (folder / "kernel.py").exists() and (not options.only or folder.name.startswith(tuple(options.only)))]
    counts, worst, n_bad = collections.Counter(), {}, 0
    names = {hashlib.sha256(kernel.path.read_bytes()).hexdigest(): kernel.name for kernel in find_kernels(None)}
    with multiprocessing.get_context("fork").Pool(options.jobs, maxtasksperchild=1) as pool:
        for folder, lines in pool.imap_unordered(check, tasks):
            for pair, outcome, told, distance, name in lines:
                counts[pair, outcome] += 1
                if outcome == "close":
                    worst[pair, told] = max(worst.get((pair, told), 0.0), distance)
                elif outcome not in ("equal", "left out"):
                    n_bad += pair.startswith("machine")
                    print("%s %s %s, %s: %s: %s" % ("not ok" if pair.startswith("machine") else "#",
                                                    names.get(folder.name, folder.name[:12]), name, pair, outcome, told),
                          flush=True)
    for (pair, outcome), n in sorted(counts.items()):
        print("# %s: %d %s" % (pair, n, outcome))
    for (pair, dtype), distance in sorted(worst.items()):
        print("# %s: %s differ by at most %.1e of the largest" % (pair, dtype, distance))
    print("# %d kernels, %d launches are not close" % (len(tasks), n_bad))
    return 0 if counts and not n_bad else 1


if __name__ == "__main__":
    sys.exit(main())
