# operator: vllm13::scaled_int8_quant
# style: an elementwise kernel for given scales and a row kernel for computed ones, libdevice.rint, sums with the zero point in int64, type hints
from typing import Optional, Tuple

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def _saturate(x):
    return tl.minimum(tl.maximum(x, -128.0), 127.0).to(tl.int8)


@triton.jit
def _saturate_shifted(x, azp):
    """sat(x + azp), exact for every int32 azp: the sum is made of whole numbers of 64 bits."""
    whole = tl.minimum(tl.maximum(x, -8589934592.0), 8589934592.0).to(tl.int64) + azp.to(tl.int64)
    return tl.minimum(tl.maximum(whole, -128), 127).to(tl.int8)


@triton.jit
def _static_kernel(x_ptr, q_ptr, scale_ptr, azp_ptr, n, HAS_AZP: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
    scaled = libdevice.rint(tl.div_rn(x, tl.load(scale_ptr)))
    if HAS_AZP:
        q = _saturate_shifted(scaled, tl.load(azp_ptr))
    else:
        q = _saturate(scaled)
    tl.store(q_ptr + at, q, mask=mask)


@triton.jit
def _dynamic_kernel(x_ptr, q_ptr, scale_ptr, azp_ptr, cols, SYMMETRIC: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    mask = col < cols
    x = tl.load(x_ptr + row * cols + col, mask=mask, other=0.0).to(tl.float32)
    if SYMMETRIC:
        m = tl.max(tl.abs(x), axis=0)
        tl.store(scale_ptr + row, tl.div_rn(m, 127.0))
        if m > 0.0:
            q = _saturate(libdevice.rint(x * tl.div_rn(127.0, m)))
            tl.store(q_ptr + row * cols + col, q, mask=mask)
        else:
            tl.store(q_ptr + row * cols + col, tl.zeros((BLOCK,), tl.int8), mask=mask)
    else:
        high = tl.max(tl.where(mask, x, float("-inf")), axis=0)
        low = tl.min(tl.where(mask, x, float("inf")), axis=0)
        scale = tl.div_rn(high - low, 255.0)
        azp = libdevice.rint(-128.0 - tl.div_rn(low, scale)).to(tl.int32)
        tl.store(scale_ptr + row, scale)
        tl.store(azp_ptr + row, azp)
        q = _saturate_shifted(libdevice.rint(tl.div_rn(x, scale)), azp)
        tl.store(q_ptr + row * cols + col, q, mask=mask)


def scaled_int8_quant(
    input: torch.Tensor,
    scale: Optional[torch.Tensor] = None,
    azp: Optional[torch.Tensor] = None,
    symmetric: bool = True,
) -> Tuple[torch.Tensor, torch.Tensor, Optional[torch.Tensor]]:
    rows, cols = input.shape
    q = torch.empty((rows, cols), dtype=torch.int8, device=input.device)
    if scale is not None:
        assert symmetric == (azp is None)
        n = input.numel()
        if n > 0:
            _static_kernel[(triton.cdiv(n, 1024),)](input, q, scale, azp, n, HAS_AZP=azp is not None, BLOCK=1024)
        return q, scale, azp

    scales = torch.empty((rows, 1), dtype=torch.float32, device=input.device)
    azps = None if symmetric else torch.empty((rows, 1), dtype=torch.int32, device=input.device)
    if rows > 0:
        block = max(16, triton.next_power_of_2(max(cols, 1)))
        _dynamic_kernel[(rows,)](
            input,
            q,
            scales,
            azps,
            cols,
            SYMMETRIC=bool(symmetric),
            BLOCK=block,
            num_warps=8 if block >= 4096 else 4,
        )
    return q, scales, azps
