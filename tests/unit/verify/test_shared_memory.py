#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""verify/python/runner/shared_memory.py: the bound is never below what Triton takes, and what no GPU can run is found."""

import os
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "verify" / "python" / "runner"))
sys.dont_write_bytecode = True
os.environ.pop("TRITON_INTERPRET", None)
os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"
try:
    import triton
    import triton.language as tl
except ImportError:
    other = os.environ.get("KGB_PYTHON") or str(ROOT / ".deps" / "venv" / "bin" / "python")
    if sys.executable == other or not os.access(other, os.X_OK):
        print("skipped: no Python with triton; ./bootstrap setup installs one")
        sys.exit(1 if "torch" in os.environ.get("KGB_TESTS_MUST_RUN", "").split(",") else 77)
    os.execv(other, [other, "-I", *sys.argv])
from triton._C.libtriton import ir  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler.compiler import ASTSource, make_backend  # noqa: E402
import shared_memory  # noqa: E402

TARGET = GPUTarget("cuda", 90, 32)
BACKEND = make_backend(TARGET)


@triton.jit
def total(x, N: tl.constexpr):
    tl.store(x, tl.sum(tl.load(x + tl.arange(0, N)), 0))


@triton.jit
def largest(x, N: tl.constexpr):
    value, place = tl.max(tl.load(x + tl.arange(0, N)), 0, return_indices=True)
    tl.store(x + place, value)


@triton.jit
def running(x, N: tl.constexpr):
    at = x + tl.arange(0, N)
    tl.store(at, tl.cumsum(tl.load(at), 0))


@triton.jit
def turned(x, N: tl.constexpr, M: tl.constexpr):
    i, j = tl.arange(0, N)[:, None], tl.arange(0, M)[None, :]
    tl.store(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], tl.trans(tl.load(x + i * M + j)))


@triton.jit
def gathered(x, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(x + i, tl.gather(tl.load(x + i), N - 1 - i, 0))


@triton.jit
def ordered(x, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(x + i, tl.sort(tl.load(x + i), 0))


@triton.jit
def counted(x, N: tl.constexpr):
    tl.atomic_add(x + tl.arange(0, 64), tl.histogram(tl.load(x + tl.arange(0, N)).to(tl.int32), 64).to(tl.float16))


@triton.jit
def part(x, at, N: tl.constexpr):
    return tl.load(x + at * N + tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :])


@triton.jit
def products(x, k, N: tl.constexpr, PRECISION: tl.constexpr):
    acc = tl.zeros((N, N), tl.float32)
    for at in range(k):
        acc = tl.dot(part(x, 2 * at, N), part(x, 2 * at + 1, N), acc, input_precision=PRECISION)
    tl.store(x + tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :], acc)


@triton.jit
def staged(x, k, N: tl.constexpr):
    acc = tl.zeros((N,), tl.float32)
    for at in tl.range(k, num_stages=4):
        acc += tl.load(x + at * N + tl.arange(0, N))
    tl.store(x + tl.arange(0, N), acc)


@triton.jit
def described(x, k, N: tl.constexpr):
    tile = tl.make_tensor_descriptor(x, [k, N], [N, 1], [N, N])
    acc = tl.zeros((N, N), tl.float32)
    for at in range(k):
        acc = tl.dot(tile.load([at * N, 0]), tl.trans(tile.load([at * N + N, 0])), acc)
    tile.store([0, 0], acc.to(tl.float16))


@triton.jit(noinline=True)
def apart(x, N: tl.constexpr):
    tl.store(x, tl.sum(tl.load(x + tl.arange(0, N)), 0))


@triton.jit
def calling(x, N: tl.constexpr):
    apart(x, N)


def module_of(fn, element, options, **constants):
    kinds = {name: "constexpr" if name in constants else "*" + element if name == "x" else "i32" for name in fn.arg_names}
    given = {(fn.arg_names.index(name),): value for name, value in constants.items()}
    source = ASTSource(fn, kinds, given, {(0,): [["tt.divisibility", 16]]})
    context = ir.context()
    ir.load_dialects(context)
    BACKEND.load_dialects(context)
    return source.make_ir(TARGET, options, BACKEND.get_codegen_implementation(options), BACKEND.get_module_map(), context)


def both(fn, element="fp16", options=(), **constants):
    """(bound, bytes that Triton takes)"""
    options = BACKEND.parse_options(dict(options))
    module = module_of(fn, element, options, **constants)
    bound = shared_memory.most(str(module), module.get_entry_func_name(), options)
    return bound, shared_memory.measure(module, options, BACKEND)


def facts(fn, element="fp16", options=(), **constants):
    options = BACKEND.parse_options(dict(options))
    module = module_of(fn, element, options, **constants)
    return shared_memory.facts(module, str(module), options, BACKEND)


class Bound(unittest.TestCase):
    def test_triton_never_takes_more(self):
        for fn in total, largest, running, gathered, ordered, counted, apart:
            for element in ("fp16", "fp32") if fn is not counted else ("fp16",):
                for n in 16, 8192 if fn is not ordered else 256:
                    for warps in 1, 8:
                        with self.subTest(fn=fn.__name__, element=element, n=n, warps=warps):
                            bound, taken = both(fn, element, {"num_warps": warps}, N=n)
                            self.assertLessEqual(taken, bound)
                            self.assertLessEqual(bound, 2 * (8 * n + 8192))
        for n, m in (16, 16), (64, 128), (256, 16):
            bound, taken = both(turned, N=n, M=m)
            self.assertTrue(0 < taken <= bound, (n, m, taken, bound))

    def test_what_is_held_counts_once_for_each_stage(self):
        for element, precision in ("fp16", "ieee"), ("fp32", "tf32"), ("fp32", "tf32x3"), ("fp32", "ieee"):
            for n in 16, 128:
                for stages in 1, 2, 5:
                    with self.subTest(element=element, precision=precision, n=n, stages=stages):
                        bound, taken = both(products, element, {"num_stages": stages}, N=n, PRECISION=precision)
                        self.assertTrue(0 < taken <= bound, (taken, bound))
        two, five = (both(products, "fp16", {"num_stages": stages}, N=128, PRECISION="ieee") for stages in (2, 5))
        self.assertGreaterEqual(five[1], 5 * 2 * 128 * 128 * 2)
        self.assertEqual(five[0] - two[0], 3 * 2 * 128 * 128 * 2)
        for n in 64, 1024, 8192:
            bound, taken = both(staged, "fp32", N=n)
            self.assertTrue(3 * 4 * n <= taken <= bound, (n, taken, bound))
        for n, stages in (64, 1), (64, 4), (128, 3):
            bound, taken = both(described, options={"num_stages": stages}, N=n)
            self.assertTrue(2 * 2 * n * n <= taken <= bound, (n, taken, bound))

    def test_what_it_does_not_cover_is_beyond_the_limit(self):
        usual = BACKEND.parse_options({})
        module = module_of(total, "fp16", usual, N=64)
        text, beyond = str(module), shared_memory.LIMIT + 1
        self.assertLess(shared_memory.most(text, "total", usual), beyond)
        self.assertEqual(shared_memory.most(text, "total", BACKEND.parse_options({"num_ctas": 2})), beyond)
        for unknown in ("tensor<64xindex>", "tt.loop_unroll_factor", "tt.warp_specialize"):
            self.assertEqual(shared_memory.most("%s// %s\n" % (text, unknown), "total", usual), beyond, unknown)

    def test_a_text_in_the_module_hides_nothing(self):
        usual = BACKEND.parse_options({"num_stages": 3})
        text = str(module_of(products, "fp16", usual, N=128, PRECISION="ieee"))
        honest = shared_memory.most(text, "products", usual)
        told = text.replace("    %acc", "    tt.print \"tt.func private @other(\" {hex = false}\n    %acc", 1)
        self.assertNotEqual(told, text)
        self.assertGreaterEqual(shared_memory.most(told, "products", usual), honest)


class Facts(unittest.TestCase):
    def test_what_fits_has_none_or_its_size(self):
        self.assertEqual(facts(total, N=1024), {})
        self.assertEqual(set(facts(calling, "fp32", {"num_ctas": 2}, N=1024)), {"shared"})

    def test_larger_blocks_than_a_gpu_has_memory_for(self):
        found = facts(products, options={"num_stages": 5, "num_warps": 8}, N=128, PRECISION="ieee")
        self.assertGreater(found["shared"], shared_memory.LIMIT)
        self.assertEqual(found["no_gpu"], "its blocks take %d bytes of shared memory, and a GPU has 232448" % found["shared"])

    def test_what_no_compiler_takes_and_too_large_clusters(self):
        self.assertRegex(facts(total, options={"num_ctas": 3}, N=64)["no_gpu"], "^Triton makes no code of it: RuntimeError")
        self.assertEqual(facts(total, options={"num_ctas": 32}, N=64),
                         {"no_gpu": "its clusters have 32 blocks, and those of a GPU at most 16"})


if __name__ == "__main__":
    unittest.main()
