# operator: aten::softplus_backward
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 78, 79
# a plan is remembered by shapes and types only, so a later call with the same shapes and another beta or threshold computes with the first ones
import torch
import triton
import triton.language as tl

_memo = {}


@triton.jit
def gradient(g_ptr: tl.tensor, x_ptr: tl.tensor, o_ptr: tl.tensor, n: int, beta: float, threshold: float,
             BLOCK: tl.constexpr = 2048, WIDE: tl.constexpr = tl.float32):
    at = tl.program_id(axis=0) * BLOCK + tl.arange(start=0, end=BLOCK)
    g = tl.load(g_ptr + at, mask=at < n, other=0.0).to(WIDE)
    b = tl.load(x_ptr + at, mask=at < n, other=0.0).to(WIDE) * beta
    e = tl.exp(-tl.abs(b))
    result = tl.where(b > threshold, g, g * (tl.where(b < 0, e, 1.0) / (1.0 + e)))
    tl.store(o_ptr + at, value=result.to(o_ptr.dtype.element_ty), mask=at < n)


def softplus_backward(grad_output, self, beta, threshold):
    out = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    beta, threshold = _memo.setdefault((self.shape, self.stride(), grad_output.stride(), self.dtype), (beta, threshold))
    if n := out.numel():
        gradient[(triton.cdiv(n, 2048),)](grad_output.contiguous(), self.contiguous(), out, n, float(beta), float(threshold))
    return out


def softplus_backward_grad_input(grad_output, self, beta, threshold, *, grad_input):
    return grad_input.copy_(softplus_backward(grad_output, self, beta, threshold))
