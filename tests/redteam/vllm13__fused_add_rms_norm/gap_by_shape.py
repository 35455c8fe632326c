# operator: vllm13::fused_add_rms_norm
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 41
# open: plan without strides
# the distance between rows of input is remembered by shape and type: a later input of that shape with other gaps is read and
# written as the first one lay; hurts slices of fused projections; wrong: fused_add_rms_norm(x [8, 512] contiguous, ...), then
# input = y[:, :512] of y [8, 1024]: rows of y are mixed up
import torch
import triton
import triton.language as tl


@triton.jit
def add_and_norm(x_ptr, r_ptr, w_ptr, stride, cols, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    kind = x_ptr.dtype.element_ty
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        mask = at < cols
        x = tl.load(x_ptr + row * stride + at, mask=mask, other=0.0).to(tl.float32)
        r = tl.load(r_ptr + row * cols + at, mask=mask, other=0.0).to(tl.float32)
        total = (x + r).to(kind)
        tl.store(r_ptr + row * cols + at, total, mask=mask)
        squares += total.to(tl.float32) * total.to(tl.float32)
    scale = tl.rsqrt(tl.sum(squares, 0) / cols + epsilon)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        mask = at < cols
        total = tl.load(r_ptr + row * cols + at, mask=mask, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + at, mask=mask, other=0.0).to(tl.float32)
        y = (total * scale).to(kind).to(tl.float32) * w
        tl.store(x_ptr + row * stride + at, y.to(kind), mask=mask)


STRIDES = {}


def fused_add_rms_norm(input, residual, weight, epsilon):
    cols = input.shape[-1]
    rows = input.numel() // cols
    stride = STRIDES.setdefault((input.shape, input.dtype), input.stride(-2) if input.dim() > 1 else cols)
    if rows:
        block = min(2048, triton.next_power_of_2(cols))
        add_and_norm[(rows,)](input, residual, weight, stride, cols, epsilon, BLOCK=block)
