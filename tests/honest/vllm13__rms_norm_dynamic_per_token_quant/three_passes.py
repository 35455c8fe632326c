# operator: vllm13::rms_norm_dynamic_per_token_quant
# style: three passes over a row in one program, helper jit functions, optional pointers passed as None
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def _summed(x_ptr, res_ptr, at, mask):
    t = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
    if res_ptr is not None:
        t += tl.load(res_ptr + at, mask=mask, other=0.0).to(tl.float32)
    return t


@triton.jit
def _normed(t, rms, w_ptr, c, mask):
    ty = w_ptr.dtype.element_ty
    w = tl.load(w_ptr + c, mask=mask, other=0.0).to(tl.float32)
    y = tl.div_rn(t, rms).to(ty).to(tl.float32) * w
    return y.to(ty).to(tl.float32)


@triton.jit
def norm_quant_kernel(x_ptr, w_ptr, res_ptr, ub_ptr, q_ptr, scale_ptr, columns, epsilon, QMAX: tl.constexpr,
                      QMIN: tl.constexpr, SMALLEST: tl.constexpr, IS_INT: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    base = row * columns
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        c = start + tl.arange(0, BLOCK)
        t = _summed(x_ptr, res_ptr, base + c, c < columns)
        squares += t * t
    rms = tl.sqrt_rn(tl.sum(squares) / columns + epsilon)

    largest = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        c = start + tl.arange(0, BLOCK)
        mask = c < columns
        t = _summed(x_ptr, res_ptr, base + c, mask)
        largest = tl.maximum(largest, tl.abs(_normed(t, rms, w_ptr, c, mask)))
    m = tl.max(largest)
    if ub_ptr is not None:
        m = tl.minimum(m, tl.load(ub_ptr))
    scale = tl.maximum(tl.div_rn(m, QMAX), SMALLEST)
    tl.store(scale_ptr + row, scale)

    for start in range(0, columns, BLOCK):
        c = start + tl.arange(0, BLOCK)
        mask = c < columns
        t = _summed(x_ptr, res_ptr, base + c, mask)
        q = tl.div_rn(_normed(t, rms, w_ptr, c, mask), scale)
        q = tl.minimum(tl.maximum(q, QMIN), QMAX)
        if IS_INT:
            q = libdevice.rint(q)
        tl.store(q_ptr + base + c, q.to(q_ptr.dtype.element_ty), mask=mask)
        if res_ptr is not None:
            tl.store(res_ptr + base + c, t.to(res_ptr.dtype.element_ty), mask=mask)


def rms_norm_dynamic_per_token_quant(input, weight, epsilon, quant_dtype, scale_ub=None, residual=None):
    rows, columns = input.shape
    q = torch.empty(input.shape, dtype=quant_dtype, device=input.device)
    scales = torch.empty((rows, 1), dtype=torch.float32, device=input.device)
    if rows == 0 or columns == 0:
        return q, scales
    is_int = quant_dtype == torch.int8
    norm_quant_kernel[(rows,)](
        input, weight, residual, scale_ub, q, scales, columns, float(epsilon),
        QMAX=127.0 if is_int else 448.0, QMIN=-128.0 if is_int else -448.0,
        SMALLEST=2.0 ** -23 if is_int else 1.0 / (448.0 * 512.0), IS_INT=is_int,
        BLOCK=min(2048, triton.next_power_of_2(columns)), num_warps=8 if columns >= 2048 else 4)
    return q, scales
