# operator: aten::linear
# style: autotuned tiled matrix product with grouped program order; leading dimensions addressed in the kernel, no reshapes
import math

import torch
import triton
import triton.language as tl

_CONFIGS = [
    triton.Config({"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 32, "GROUP": 8}, num_warps=4, num_stages=2),
    triton.Config({"BLOCK_M": 16, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP": 8}, num_warps=4, num_stages=3),
    triton.Config({"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP": 4}, num_warps=4, num_stages=3),
]


@triton.autotune(configs=_CONFIGS, key=["M", "N", "K"])
@triton.jit
def linear_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr,
    M, N, K,
    lead_sizes, x_lead, y_lead,
    x_k, w_n, w_k, b_n, y_n,
    LEAD: tl.constexpr, HAS_BIAS: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
):
    # Programs walk through the tiles in groups of GROUP rows of tiles, so that tiles of the weight are reused.
    pid = tl.program_id(0)
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    in_group = GROUP * tiles_n
    first = pid // in_group * GROUP
    height = tl.minimum(tiles_m - first, GROUP)
    tile_m = first + pid % in_group % height
    tile_n = pid % in_group // height

    m = tile_m.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tile_n.to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K).to(tl.int64)
    m_ok = m < M
    n_ok = n < N

    rest = m
    x_row = tl.zeros([BLOCK_M], dtype=tl.int64)
    y_row = tl.zeros([BLOCK_M], dtype=tl.int64)
    for back in tl.static_range(LEAD):
        coord = rest % lead_sizes[LEAD - 1 - back]
        rest = rest // lead_sizes[LEAD - 1 - back]
        x_row += coord * x_lead[LEAD - 1 - back]
        y_row += coord * y_lead[LEAD - 1 - back]

    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for k0 in range(0, K, BLOCK_K):
        kk = k + k0
        k_ok = kk < K
        x = tl.load(x_ptr + x_row[:, None] + (kk * x_k)[None, :], mask=m_ok[:, None] & k_ok[None, :], other=0.0)
        w = tl.load(w_ptr + (kk * w_k)[:, None] + (n * w_n)[None, :], mask=k_ok[:, None] & n_ok[None, :], other=0.0)
        acc = tl.dot(x, w, acc, input_precision="ieee")
    if HAS_BIAS:
        acc += tl.load(b_ptr + n * b_n, mask=n_ok, other=0.0).to(tl.float32)[None, :]
    tl.store(
        y_ptr + y_row[:, None] + (n * y_n)[None, :],
        acc.to(y_ptr.dtype.element_ty),
        mask=m_ok[:, None] & n_ok[None, :],
    )


def _apply(input, weight, bias, out):
    if out.numel() == 0:
        return out
    lead = tuple(input.shape[:-1])
    N, K = weight.shape
    M = math.prod(lead)

    def grid(meta):
        return (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),)

    linear_kernel[grid](
        input, weight, weight if bias is None else bias, out,
        M, N, K,
        lead or (1,), tuple(input.stride()[:-1]) or (0,), tuple(out.stride()[:-1]) or (0,),
        input.stride(-1), weight.stride(0), weight.stride(1),
        0 if bias is None else bias.stride(0), out.stride(-1),
        LEAD=max(1, len(lead)), HAS_BIAS=bias is not None,
    )
    return out


def linear(input, weight, bias=None):
    shape = tuple(input.shape[:-1]) + (weight.shape[0],)
    return _apply(input, weight, bias, torch.empty(shape, dtype=input.dtype, device=input.device))


def linear_out(input, weight, bias=None, *, out):
    return _apply(input, weight, bias, out)
