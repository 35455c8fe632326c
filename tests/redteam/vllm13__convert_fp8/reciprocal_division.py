# operator: vllm13::convert_fp8
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 74
# open: few verdicts have an element that this rounds otherwise
# division as '/' (2 ulp on a GPU) where bytes are compared bit by bit
import torch
import triton
import triton.language as tl


@triton.jit
def to_bytes(x_ptr, o_ptr, n, scale, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    y = tl.clamp(x / scale, -448.0, 448.0)
    tl.store(o_ptr + at, y.to(tl.float8e4nv).to(tl.uint8, bitcast=True), mask=at < n)


@triton.jit
def from_bytes(x_ptr, o_ptr, n, scale, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0).to(tl.float8e4nv, bitcast=True)
    tl.store(o_ptr + at, (x.to(tl.float32) * scale).to(o_ptr.dtype.element_ty), mask=at < n)


def convert_fp8(output, input, scale=1.0, kv_dtype="fp8"):
    n = input.numel()
    if n:
        kernel = to_bytes if output.dtype == torch.uint8 else from_bytes
        kernel[(triton.cdiv(n, 2048),)](input, output, n, scale, BLOCK=2048)
