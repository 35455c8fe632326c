# operator: vllm13::fused_add_rms_norm
# expect: verify\..*
# catalogue: 84
# rows of more than 8,192 elements ask for 64 warps or more, that is 2,048 threads in a block; no GPU has more than 1,024, and
# the launch raises OutOfResources; wrong: fused_add_rms_norm of a hidden size of 16384 (Llama 3.1 405B), on every GPU
import torch
import triton
import triton.language as tl


@triton.jit
def add_and_norm(x_ptr, r_ptr, w_ptr, stride, cols, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    kind = x_ptr.dtype.element_ty
    at = tl.arange(0, BLOCK)
    mask = at < cols
    x = tl.load(x_ptr + row * stride + at, mask=mask, other=0.0).to(tl.float32)
    r = tl.load(r_ptr + row * cols + at, mask=mask, other=0.0).to(tl.float32)
    total = (x + r).to(kind)
    tl.store(r_ptr + row * cols + at, total, mask=mask)
    total = total.to(tl.float32)
    scale = tl.rsqrt(tl.sum(total * total, 0) / cols + epsilon)
    w = tl.load(w_ptr + at, mask=mask, other=0.0).to(tl.float32)
    tl.store(x_ptr + row * stride + at, ((total * scale).to(kind).to(tl.float32) * w).to(kind), mask=mask)


def fused_add_rms_norm(input, residual, weight, epsilon):
    cols = input.shape[-1]
    rows = input.numel() // cols
    stride = input.stride(-2) if input.dim() > 1 else cols
    if rows:
        block = triton.next_power_of_2(cols)
        # eight elements for each thread
        add_and_norm[(rows,)](input, residual, weight, stride, cols, epsilon, BLOCK=block, num_warps=max(4, block // 256))
