# operator: vllm13::rms_norm_per_block_quant
# expect: verify\.mismatch
# catalogue: 72
# the largest element of the row for all its blocks
import torch
import triton
import triton.language as tl


@triton.jit
def quantise(x_ptr, w_ptr, r_ptr, ub_ptr, q_ptr, s_ptr, rows, groups, epsilon, s_row, s_column, INTEGERS: tl.constexpr,
             ROWS: tl.constexpr, GROUPS: tl.constexpr, SIZE: tl.constexpr):
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    kind = x_ptr.dtype.element_ty
    g = tl.arange(0, GROUPS)
    inside = (row < rows)[:, None] & (g < groups)[None, :]
    mask = inside[:, :, None]
    in_row = (g[:, None] * SIZE + tl.arange(0, SIZE)[None, :])[None, :, :]
    at = row[:, None, None] * groups * SIZE + in_row
    t = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
    if r_ptr is not None:
        t += tl.load(r_ptr + at, mask=mask, other=0.0).to(tl.float32)
        tl.store(r_ptr + at, t.to(kind), mask=mask)
    mean = tl.sum(tl.sum(t * t, axis=2), axis=1) / (groups * SIZE)
    w = tl.load(w_ptr + in_row, mask=(g < groups)[None, :, None], other=0.0).to(tl.float32)
    normed = (t / tl.sqrt(mean + epsilon)[:, None, None]).to(kind).to(tl.float32)
    y = (normed * w).to(kind).to(tl.float32)
    most = tl.max(tl.abs(y), axis=2) * 0.0 + tl.max(tl.max(tl.abs(y), axis=2), axis=1)[:, None]
    if ub_ptr is not None:
        most = tl.minimum(most, tl.load(ub_ptr))
    if INTEGERS:
        scale = tl.maximum(most / 127.0, 1.1920928955078125e-07)
        q = tl.clamp(y / scale[:, :, None], -128.0, 127.0)
        q = (q + 12582912.0) - 12582912.0  # 1.5 * 2^23: rounds to a whole number, ties to even
    else:
        scale = tl.maximum(most / 448.0, 1.0 / (448.0 * 512.0))
        q = tl.clamp(y / scale[:, :, None], -448.0, 448.0)
    tl.store(s_ptr + row[:, None] * s_row + g[None, :] * s_column, scale, mask=inside)
    tl.store(q_ptr + at, q.to(q_ptr.dtype.element_ty), mask=mask)


def rms_norm_per_block_quant(input, weight, epsilon, quant_dtype, group_size, scale_ub=None, residual=None,
                             is_scale_transposed=False):
    rows, n = input.shape
    groups = n // group_size[1]
    q = torch.empty((rows, n), dtype=quant_dtype, device=input.device)
    if is_scale_transposed:
        scales = torch.empty((groups, rows), dtype=torch.float32, device=input.device).t()
    else:
        scales = torch.empty((rows, groups), dtype=torch.float32, device=input.device)
    if rows:
        quantise[(triton.cdiv(rows, 8),)](input, weight, residual, scale_ub, q, scales, rows, groups, epsilon, scales.stride(0),
                                          scales.stride(1), INTEGERS=quant_dtype == torch.int8, ROWS=8,
                                          GROUPS=triton.next_power_of_2(groups), SIZE=group_size[1])
    return q, scales
