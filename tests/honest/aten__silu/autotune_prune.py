# operator: aten::silu
# style: autotune with prune function, reset_to_zero, heuristics, num_warps at launch
import functools
import math
from typing import Optional, Tuple

import torch
import triton
import triton.language as tl


def keep(configs, named_args, **kwargs):
    return [c for c in configs if c.kwargs["BLOCK"] <= max(named_args["n"], 256)] or configs[:1]


def configs():
    return [triton.Config({"BLOCK": b}, num_warps=w, num_stages=s) for b in (256, 1024) for w in (4, 8) for s in (1, 2)]


@triton.autotune(configs=configs(), key=["n"], prune_configs_by={"early_config_prune": keep})
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        x = tl.load(x_ptr + at)
    else:
        x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    wide = x.to(tl.float64) if x.dtype == tl.float64 else x.to(tl.float32)
    y = wide / (1 + tl.exp(-wide))
    if EVEN:
        tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty))
    else:
        tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


@functools.lru_cache(maxsize=None)
def count(shape: Tuple[int, ...]) -> int:
    return math.prod(shape)


def run(x: torch.Tensor, y: Optional[torch.Tensor] = None) -> torch.Tensor:
    source = x if x.is_contiguous() else x.contiguous()
    if y is None:
        y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    n = count(tuple(x.shape))
    if n == 0:
        return y
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)  # noqa: E731
    silu_kernel[grid](source, y, n)
    return y


def silu(self):
    return run(self)


def silu_out(self, *, out):
    out.copy_(run(self))
    return out
