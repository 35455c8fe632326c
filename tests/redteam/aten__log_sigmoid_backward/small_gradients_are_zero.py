# operator: aten::log_sigmoid_backward
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 75
# gradients below 1e-7 count as 0: a mean loss over many elements has gradients of that size (training stops); wrong:
# log_sigmoid_backward(torch.full((1000,), 1e-8), torch.zeros(1000), torch.empty(0)) gives 0, not 5e-9
import torch
import triton
import triton.language as tl


@triton.jit
def denoised(x, LIMIT: tl.constexpr):
    """Noise of the arithmetic in front."""
    return tl.where((tl.abs(x) < LIMIT) & (tl.abs(x) > 1.0e-30), 0.0, x)


@triton.jit
def gradient(g_ptr, x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(g_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    if g_ptr.dtype.element_ty != tl.float16:
        g = denoised(g, 1.0e-7)
    e = tl.exp(-tl.abs(x))
    factor = tl.where(x < 0, 1.0, e) / (1.0 + e)
    tl.store(o_ptr + at, (g * factor).to(o_ptr.dtype.element_ty), mask=at < n)


def log_sigmoid_backward(grad_output, self, buffer):
    out = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    n = out.numel()
    if n > 0:
        gradient[(triton.cdiv(n, 4096),)](grad_output.contiguous(), self.contiguous(), out, n, BLOCK=4096)
    return out


def log_sigmoid_backward_grad_input(grad_output, self, buffer, *, grad_input):
    return grad_input.copy_(log_sigmoid_backward(grad_output, self, buffer))
