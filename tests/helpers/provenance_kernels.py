# SPDX-License-Identifier: MIT
"""Triton kernels in many styles, compiled without a GPU by provenance_cases.py."""

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, inside) + tl.load(y + at, inside), inside)


@triton.jit
def square(x):
    return x * x


@triton.jit
def total_of_squares(x, out, n, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += square(tl.load(x + at, at < n, 0.0))
    tl.atomic_add(out, tl.sum(total, 0))


@triton.jit
def matmul(a, b, c, m, n, k, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inner = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, k, BLOCK):
        left = tl.load(a + row[:, None] * k + start + inner[None, :])
        right = tl.load(b + (start + inner)[:, None] * n + col[None, :])
        total = tl.dot(left, right, total)
    tl.store(c + row[:, None] * n + col[None, :], total.to(tl.float16))


@triton.jit
def softmax(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + tl.program_id(0) * n + at, at < n, float("-inf"))
    value = libdevice.exp(value - tl.max(value, 0))
    tl.store(out + tl.program_id(0) * n + at, value / tl.sum(value, 0), at < n)


@triton.jit
def sine(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, libdevice.sin(tl.load(x + at, at < n)), at < n)


@triton.jit
def talkative(x, out, n, BLOCK: tl.constexpr):
    tl.assume(n > 0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at, at < n)
    tl.device_assert(n < 100000, "too many")
    tl.device_print("first", value)
    tl.debug_barrier()
    tl.store(out + at, value, at < n)


@triton.jit
def assembly(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at, at < n)
    value = tl.inline_asm_elementwise("ex2.approx.f32 $0, $1;", "=f,f", [value], dtype=tl.float32, is_pure=True, pack=1)
    tl.store(out + at, value, at < n)


FACTOR = tl.constexpr(3.0)


@triton.jit
def scaled(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, square(tl.load(x + at, at < n)) * FACTOR, at < n)


@triton.jit
def warps_of_two_kinds(a, b, c, k, n, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK
    col = tl.program_id(1) * BLOCK
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in tl.range(0, k, 64, warp_specialize=True):
        total = tl.dot(a.load([row, start]), b.load([col, start]).T, total)
    at = tl.arange(0, BLOCK)
    tl.store(c + (row + at)[:, None] * n + (col + at)[None, :], total.to(tl.float16))


F32 = "*fp32"
VECTOR = {"x": F32, "out": F32, "n": "i32", "BLOCK": "constexpr"}
SQUARE = {"a": "*fp16", "b": "*fp16", "c": "*fp16", "m": "i32", "n": "i32", "k": "i32", "BLOCK": "constexpr"}
# name: (function, types, BLOCK, options)
STYLES = {
    "add": (add, {"x": F32, "y": F32, "out": F32, "n": "i32", "BLOCK": "constexpr"}, 1024, {}),
    "add_options": (add, {"x": F32, "y": F32, "out": F32, "n": "i32", "BLOCK": "constexpr"}, 512,
                    {"num_warps": 8, "num_stages": 2, "maxnreg": 64, "enable_fp_fusion": False}),
    "add_cluster": (add, {"x": F32, "y": F32, "out": F32, "n": "i32", "BLOCK": "constexpr"}, 1024, {"num_ctas": 2}),
    "total_of_squares": (total_of_squares, VECTOR, 256, {}),
    "matmul": (matmul, SQUARE, 64, {"num_warps": 4, "num_stages": 3}),
    "softmax": (softmax, VECTOR, 1024, {}),
    "sine": (sine, VECTOR, 256, {}),
    "talkative": (talkative, VECTOR, 256, {"debug": True}),
    "assembly": (assembly, VECTOR, 256, {}),
    "scaled": (scaled, VECTOR, 256, {}),
}
# Not every version of Triton can compile these.
OPTIONAL_STYLES = {
    "warps_of_two_kinds": (warps_of_two_kinds, {"a": "tensordesc<fp16[128,64]>", "b": "tensordesc<fp16[128,64]>",
                                                "c": "*fp16", "k": "i32", "n": "i32", "BLOCK": "constexpr"}, 128, {}),
}
