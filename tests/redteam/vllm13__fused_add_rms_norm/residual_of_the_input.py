# operator: vllm13::fused_add_rms_norm
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79, 84
# open: no case has one tensor for two arguments that change
# where residual is input itself only one of the two is updated
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


def fused_add_rms_norm(input, residual, weight, epsilon):
    cols = input.shape[-1]
    rows = input.numel() // cols
    stride = input.stride(-2) if input.dim() > 1 else cols
    if residual.data_ptr() == input.data_ptr():
        residual = input.clone()
    if rows:
        block = min(2048, triton.next_power_of_2(cols))
        add_and_norm[(rows,)](input, residual, weight, stride, cols, epsilon, BLOCK=block)
