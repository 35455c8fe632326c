#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles what the honest kernels launch for compute capability 9.0, and compares the machine with a GPU.

    machine_witness.py RECORDS [--device cuda] [--only REGEX] [--jobs N] [--most N]

RECORDS is a folder of record_corpus.py; another version of Triton than this one may have recorded. Triton and ptxas make a cubin from
the text of kernel.py and the claims of each image, at most N of a kernel file. With --device cuda each recorded launch then starts
from the recorded memory on the GPU, and what is there after it is compared with what the machine made, as elements of the first
pointer's type into each region. Two regions are `equal` in all bits, `close` when each element differs by at most BOUNDS of its type
times the largest finite magnitude of the region, else `far`. Launches that read addresses from memory cannot be repeated elsewhere
and are left out. Prints what is refused or far, and counts; exit status 1 if there is any, 77 without torch or triton.
"""

import argparse
import collections
import hashlib
import multiprocessing
import os
import pathlib
import pickle
import re
import struct
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / path) for path in ("tests/corpus", "verify/python/compiler", "verify/python/runner")]
sys.dont_write_bytecode = True
from corpus_files import find_kernels  # noqa: E402
from warm_judge import has_torch  # noqa: E402
SHARED_BYTES = 227 << 10  # of one block, with compute capability 9.0
POOLS = ((0x135700000000, 64 << 30), (0x2acb00000000, 1 << 40))  # KGB_ARENA_ADDRESS, KGB_POOL_ADDRESS
MASK = (1 << 64) - 1
TYPES = {"fp64": "float64", "fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "fp8e4nv": "float8_e4m3fn", "fp8e5": "float8_e5m2",
         "i1": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32",
         "u64": "uint64"}
BOUNDS = {"fp64": 2.0 ** -40, "fp32": 2.0 ** -17, "fp16": 2.0 ** -9, "bf16": 2.0 ** -6, "fp8e4nv": 2.0 ** -2, "fp8e5": 2.0 ** -1}
DESCRIPTOR = re.compile(r"tensordesc<(\w+)\[([\d, ]+)\]>")


def compiled(text, line):
    """The kernel of an image, by this Triton."""
    import hardened
    import triton
    from claims import Claims
    from kernel_text import KernelText
    from triton.compiler.compiler import ASTSource
    hardened.REFUSALS.clear()
    hardened.CLAIMED.clear()
    hardened.VISITED[0] = 0
    claims = Claims(KernelText(text), line)
    kernel = triton.compile(ASTSource(claims.kernel, claims.types, claims.constants, claims.attrs), target=hardened.TARGET,
                            options=dict(claims.options))
    if kernel.metadata.shared > SHARED_BYTES:
        raise ValueError("%d bytes of shared memory" % kernel.metadata.shared)
    return kernel


class Memory:
    """The regions of a launch on a device; each begins at the recorded address modulo 256."""

    def __init__(self, regions, device):
        import torch
        self.places = []  # (recorded address, bytes, block, offset in it)
        for address, before, _ in regions:
            block = torch.zeros(len(before) + 512, dtype=torch.uint8, device=device)
            at = (address - block.data_ptr()) % 256
            block[at:at + len(before)] = torch.frombuffer(bytearray(before), dtype=torch.uint8).to(device)
            self.places.append((address, len(before), block, at))

    def find(self, word):
        """(block, offset) of an address; None: it is in no region."""
        return next(((block, at + word - begin) for begin, n, block, at in self.places if begin <= word < begin + n), None)

    def pointer(self, word):
        found = self.find(word)
        return found[0].data_ptr() + found[1] if found else 0

    def tensor(self, word, kind, sizes, strides):
        import torch
        dtype = getattr(torch, TYPES[kind])
        block, offset = self.find(word)
        return torch.empty(0, dtype=dtype, device=block.device).set_(block.untyped_storage(), offset // dtype.itemsize, sizes, strides)

    def read(self):
        return [block[at:at + n].cpu() for _, n, block, at in self.places]


class Arguments:
    """Of a launch: `values` as Triton's launcher takes them, and the element type of each region."""

    def __init__(self, types, words, memory):
        self.words, self.memory, self.kinds = iter(words), memory, {}
        self.values = [self.value(kind) for kind in types]

    def value(self, kind):
        if isinstance(kind, tuple):
            return tuple(map(self.value, kind))
        if kind == "constexpr":
            return None
        word = next(self.words)
        if kind.startswith("*"):
            self.note(word, kind.lstrip("*k"))
            return self.memory.pointer(word)
        found = DESCRIPTOR.fullmatch(kind)
        if found:
            return self.descriptor(word, found[1], [int(size) for size in found[2].split(",")])
        if kind in ("fp64", "f64"):
            return struct.unpack("<d", struct.pack("<Q", word))[0]
        if kind == "bf16":
            word <<= 16
        if kind[0] in "iu":
            return word if kind[0] == "u" or word <= MASK >> 1 else word - MASK - 1
        return struct.unpack("<e", struct.pack("<H", word))[0] if kind == "fp16" else struct.unpack("<f", struct.pack("<I", word))[0]

    def note(self, word, kind):
        for i, (begin, n, _, _) in enumerate(self.memory.places):
            if begin <= word < begin + n:
                self.kinds.setdefault(i, kind)

    def descriptor(self, word, kind, block_shape):
        from triton.tools.tensor_descriptor import TensorDescriptor
        shape, strides = ([next(self.words) for _ in block_shape] for _ in range(2))
        self.note(word, kind)
        return TensorDescriptor(self.memory.tensor(word, kind, shape, strides), shape, strides, block_shape)


def holds_addresses(regions):
    for _, before, _ in regions:
        for word, in struct.iter_unpack("<Q", before[:len(before) // 8 * 8]):
            if any(begin <= word < begin + n for begin, n in POOLS):
                return True
    return False


def elements(bytes_, kind):
    import torch
    dtype = getattr(torch, TYPES.get(kind, "uint8"))
    return bytes_[:len(bytes_) // dtype.itemsize * dtype.itemsize].clone().view(dtype).double()


def compare(kind, mine, other):
    """("equal" | "close" | "far", distance, text)."""
    import torch
    if torch.equal(mine, other):
        return "equal", 0.0, ""
    a, b = elements(mine, kind), elements(other, kind)
    largest = torch.maximum(a.abs(), b.abs())
    scale = float(largest[largest.isfinite()].max()) if largest.isfinite().any() else 0.0
    differs = ~((a == b) | (a.isnan() & b.isnan()))
    off = torch.where(differs, (a - b).abs() / max(scale, 1e-300), 0.0).nan_to_num(float("inf"), float("inf"))
    worst = int(off.argmax())
    if float(off[worst]) <= BOUNDS.get(kind, 0.0):
        return "close", float(off[worst]), ""
    return "far", float(off[worst]), "%d %s of %d differ, worst at %d: %r, not %r (largest %.3g)" % (
        int(differs.sum()), kind, a.numel(), worst, float(a[worst]), float(b[worst]), scale)


def witnessed(kernel, record, device):
    """Yields (outcome, type, distance, text) of a launch's regions."""
    import torch
    if holds_addresses(record["regions"]):
        yield "left out", "", 0.0, ""
        return
    memory = Memory(record["regions"], device or "cpu")
    arguments = Arguments(kernel.src.signature.values(), record["params"], memory)
    if device is None:
        yield "read", "", 0.0, ""
        return
    kernel[record["grid"]](*arguments.values)
    torch.cuda.synchronize()
    outcomes = [(arguments.kinds.get(i, "uint8"), *compare(arguments.kinds.get(i, "uint8"), torch.frombuffer(bytearray(after), dtype=torch.uint8), there))
                for i, ((_, _, after), there) in enumerate(zip(record["regions"], memory.read())) if after]
    kind, outcome, distance, text = max(outcomes, key=lambda one: (("equal", "close", "far").index(one[1]), one[2]))
    yield outcome, kind, distance, text


def launches_of(folder, image):
    for path in sorted(folder.glob("*.launches")):
        with path.open("rb") as file:
            while file.peek(1):
                record = pickle.load(file)
                if record["image"] == image:
                    yield record


def check(task):
    """(outcome, type, distance, text) for each image and launch of a folder."""
    folder, device, most = task
    out, text = [], (folder / "kernel.py").read_bytes()
    with tempfile.TemporaryDirectory(prefix="kgb-witness-") as cache:
        os.environ["TRITON_CACHE_DIR"] = cache
        for path in sorted(folder.glob("*.image"))[:most]:
            try:
                kernel = compiled(text, path.read_bytes().partition(b"\n")[0])
                out.append(("compiled", "", 0.0, ""))
                for record in launches_of(folder, path.stem):
                    out += witnessed(kernel, record, device)
            except Exception as error:
                out.append(("refused", "", 0.0, "%s: %s" % (type(error).__name__, " | ".join(str(error).splitlines()[-3:])[:400])))
    return folder, out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=pathlib.Path)
    parser.add_argument("--device", choices=["cuda"])
    parser.add_argument("--only", help="regular expression for names")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--most", type=int, default=24, help="images of one kernel file")
    options = parser.parse_args()
    os.environ.update(TRITON_ALWAYS_COMPILE="1", TRITON_DEFAULT_FP_FUSION="1")
    if not has_torch():
        return 77
    import from_source
    from_source.prepare()
    names = {hashlib.sha256(kernel.path.read_bytes()).hexdigest(): kernel.name for kernel in find_kernels(options.only)}
    tasks = [(folder, options.device, options.most) for folder in sorted(options.records.iterdir()) if folder.name in names]
    counts, worst = collections.Counter(), collections.Counter()
    with multiprocessing.get_context("fork").Pool(options.jobs, maxtasksperchild=1) as pool:
        for folder, lines in pool.imap_unordered(check, tasks):
            for outcome, kind, distance, text in lines:
                counts[outcome] += 1
                if outcome == "close":
                    worst[kind] = max(worst[kind], distance)
                elif text:
                    print("not ok %s: %s: %s" % (names[folder.name], outcome, text), flush=True)
    for kind, distance in sorted(worst.items()):
        print("# %s: at most %.1e of the largest" % (kind, distance))
    print("# %d kernels: %s" % (len(tasks), ", ".join("%d %s" % (n, outcome) for outcome, n in sorted(counts.items()))))
    return 0 if counts["compiled"] and not counts["far"] and not counts["refused"] else 1


if __name__ == "__main__":
    sys.exit(main())
