# SPDX-License-Identifier: MIT
"""A first compilation and a first launch, which load everything that Triton, torch and the driver load lazily. They take half a
second, so they run before a verification needs the process.
"""

import torch
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import ASTSource

N = 32


@triton.jit
def double_all(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)


def compile_once():
    """Compiles for any target; needs no GPU."""
    signature = {"x": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    triton.compile(ASTSource(double_all, signature, constexprs={"BLOCK": N}), target=GPUTarget("cuda", 90, 32))


def launch_once():
    x = torch.ones(N, device="cuda")
    double_all[(1,)](x, N, BLOCK=N)
    x.contiguous().cpu()
    torch.cuda.synchronize()
