# operator: vllm13::rms_norm_dynamic_per_token_quant
# expect: verify\.mismatch
# catalogue: 75
# activations beyond the range of float16 are clipped to it; the condition comes true for the infinities and largest numbers
# that the semantics exclude, so it counts as covered, and for no judged element; wrong: a row of 64 with the massive
# activations 200000 and 60000 (bfloat16 models have such channels), int8: q of the second is 116 instead of 38, the scale
# 0.0465 instead of 0.0603
import torch
import triton
import triton.language as tl


@triton.jit
def quantise(x_ptr, w_ptr, r_ptr, ub_ptr, q_ptr, s_ptr, cols, epsilon, limit, INTEGERS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    mask = at < cols
    kind = x_ptr.dtype.element_ty
    t = tl.load(x_ptr + row * cols + at, mask=mask, other=0.0).to(tl.float32)
    if r_ptr is not None:
        t += tl.load(r_ptr + row * cols + at, mask=mask, other=0.0).to(tl.float32)
        tl.store(r_ptr + row * cols + at, t.to(kind), mask=mask)
    t = tl.where(tl.abs(t) > limit, tl.where(t > 0.0, limit, -limit), t)
    scaled = (t * tl.rsqrt(tl.sum(t * t, 0) / cols + epsilon)).to(kind).to(tl.float32)
    w = tl.load(w_ptr + at, mask=mask, other=0.0).to(tl.float32)
    y = (scaled * w).to(kind).to(tl.float32)
    most = tl.max(tl.abs(y), 0)
    if ub_ptr is not None:
        most = tl.minimum(most, tl.load(ub_ptr))
    if INTEGERS:
        scale = tl.maximum(most / 127.0, 1.1920928955078125e-07)
        q = tl.minimum(tl.maximum(y / scale, -128.0), 127.0)
        q = (q + 12582912.0) - 12582912.0  # to the nearest whole number, ties to even
    else:
        scale = tl.maximum(most / 448.0, 1.0 / (448.0 * 512.0))
        q = tl.minimum(tl.maximum(y / scale, -448.0), 448.0)
    tl.store(s_ptr + row, scale)
    tl.store(q_ptr + row * cols + at, q.to(q_ptr.dtype.element_ty), mask=mask)


def rms_norm_dynamic_per_token_quant(input, weight, epsilon, quant_dtype, scale_ub=None, residual=None):
    rows, cols = input.shape
    q = torch.empty_like(input, dtype=quant_dtype)
    scales = torch.empty((rows, 1), dtype=torch.float32, device=input.device)
    if rows:
        quantise[(rows,)](input, weight, residual, scale_ub, q, scales, cols, epsilon,
                          torch.finfo(torch.float16).max,
                          INTEGERS=quant_dtype == torch.int8, BLOCK=triton.next_power_of_2(cols))
    return q, scales
