# operator: vllm13::rms_norm
# expect: l1\.library_compute
# catalogue: 86
# calls the operator that it should replace
import torch
import triton
import triton.language as tl
from vllm import _custom_ops

@triton.jit
def kernel(o_ptr, x_ptr, w_ptr, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + at, mask=at < n, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    y = x * w
    tl.store(o_ptr + row * n + at, y.to(o_ptr.dtype.element_ty), mask=at < n)


def rms_norm(out, input, weight, epsilon):
    n = input.shape[-1]
    if input.numel():
        kernel[(input.numel() // n,)](out, input, weight, n, epsilon, BLOCK=triton.next_power_of_2(n))
    _custom_ops.rms_norm(out, input, weight, epsilon)
