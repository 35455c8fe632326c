# SPDX-License-Identifier: MIT
"""A kernel.py with the ways in which honest kernels refer to what is around them (source_cases.py)."""

import math
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from triton.language.standard import _log2 as log2  # noqa: F401

try:
    from triton.language.extra import libdevice
except ImportError:
    from triton.language.extra.cuda import libdevice

FACTOR: tl.constexpr = tl.constexpr(1 + 2)
LIMITS = [tl.constexpr(n) for n in (1, 2, 3)]
LAST = LIMITS[-1]
language = tl


class Pair(NamedTuple):
    pointer: torch.Tensor
    count: int


@triton.jit
def first_of_name(x):
    tl.store(x, 1.0)


hidden = first_of_name


@triton.jit
def plain(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) + 1.0, mask=i < n)


@triton.jit
def twice(a, by=2.0):
    return a * by


@triton.jit(noinline=True)
def apart(a):
    return a + FACTOR


@triton.jit
def helpers(x, n, factor, MODE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=-float("inf"))
    if MODE == "double":
        v = twice(v) + libdevice.rint(v) + tl.sum(tl.exp(v), axis=0) + triton.cdiv(BLOCK, 3)
    else:
        v = apart(v)
    tl.store(x + i, v * factor, mask=i < n)
    tl.store(x, apart(1.0))


@triton.jit
def constants(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, FACTOR * LAST + math.pi + i, mask=i < n)


def make(value, dtype):
    offset = tl.constexpr(value)

    @triton.jit
    def k(x):
        tl.store(x, tl.full([], offset, dtype))

    return k


in_closure, other_closure = make(5, tl.float32), make(6, tl.int32)


def undecorated(x):
    language.store(x, 3.0)


aliased = triton.jit(undecorated)

if torch.cuda.is_available():
    SIDE = tl.constexpr("gpu")
else:
    SIDE = tl.constexpr("cpu")

if FACTOR.value > 5:
    @triton.jit
    def conditional(x):
        tl.store(x, 0.0)
else:
    @triton.jit
    def conditional(x):
        tl.store(x, 1.0 if SIDE == "cpu" else 2.0)


@triton.jit(repr=lambda specialization: "renamed_%d" % specialization.constants["BLOCK"])
def renamed(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 0.0)


@triton.jit
def tuples(pair, plain_pair, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(pair.pointer + i, pair.count + plain_pair[1], mask=i < pair.count)


@triton.jit
def typed(x, dtype: tl.constexpr, torch_dtype: tl.constexpr):
    v = tl.load(x).to(dtype)
    if torch_dtype == torch.float16:
        v += 1.0
    tl.store(x, v)


@triton.constexpr_function
def power_above(n):
    return 1 << (n - 1).bit_length()


@triton.jit
def rounded(x, N: tl.constexpr):
    i = tl.arange(0, power_above(N))
    tl.store(x + i, 0.0, mask=i < N)


@triton.jit
def assembly(x):
    tl.store(x, tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [tl.load(x)], tl.float32, True, 1))


@triton.jit
def first_of_name(x):  # noqa: F811
    tl.store(x, 2.0)
