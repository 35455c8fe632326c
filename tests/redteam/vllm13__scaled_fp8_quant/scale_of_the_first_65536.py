# operator: vllm13::scaled_fp8_quant
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 84
# open: sizes
# the one scale for a matrix is that of its first 65,536 elements: larger elements behind them saturate; every real activation
# is larger than that; wrong: x = torch.ones(256, 4096); x[255, 0] = 100: scale is 1/448 and the 100 is stored as 448 * scale =
# 1
import torch
import triton
import triton.language as tl


@triton.jit
def largest(x_ptr, most_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    tl.atomic_max(most_ptr, tl.max(tl.abs(x), axis=0))


@triton.jit
def quantise_all(x_ptr, q_ptr, s_ptr, most_ptr, n, n_padded, BLOCK: tl.constexpr):
    if most_ptr is not None:
        s = tl.div_rn(tl.load(most_ptr), 448.0)
        if tl.program_id(0) == 0:
            tl.store(s_ptr, s)
    else:
        s = tl.load(s_ptr)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    q = tl.where(at < n, tl.clamp(x / s, -448.0, 448.0), 0.0)
    tl.store(q_ptr + at, q.to(tl.float8e4nv), mask=at < n_padded)


@triton.jit
def quantise_row(x_ptr, q_ptr, s_ptr, ub_ptr, rows, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + at, mask=(at < n) & (row < rows), other=0.0).to(tl.float32)
    most = tl.max(tl.abs(x), axis=0)
    if ub_ptr is not None:
        most = tl.minimum(most, tl.load(ub_ptr))
    s = tl.maximum(tl.div_rn(most, 448.0), 1.0 / (448.0 * 512.0))
    tl.store(s_ptr + row, s, mask=row < rows)
    tl.store(q_ptr + row * n + at, tl.clamp(x / s, -448.0, 448.0).to(tl.float8e4nv), mask=at < n)


def scaled_fp8_quant(input, scale=None, num_token_padding=None, scale_ub=None, use_per_token_if_dynamic=False, output=None):
    rows, n = input.shape
    padded = max(rows, num_token_padding or 0)
    q = output if output is not None else torch.empty((padded, n), dtype=torch.float8_e4m3fn, device=input.device)
    if scale is None and use_per_token_if_dynamic:
        scale = torch.empty((rows, 1), dtype=torch.float32, device=input.device)
        if padded:
            quantise_row[(padded,)](input, q, scale, scale_ub, rows, n, BLOCK=triton.next_power_of_2(n))
        return q, scale
    most = None
    if scale is None:
        scale = torch.empty((1,), dtype=torch.float32, device=input.device)
        most = torch.zeros((1,), dtype=torch.float32, device=input.device)
        largest[(min(triton.cdiv(rows * n, 4096), 16),)](input, most, rows * n, BLOCK=4096)
    if padded:
        quantise_all[(triton.cdiv(padded * n, 4096),)](input, q, scale, most, rows * n, padded * n, BLOCK=4096)
    return q, scale
