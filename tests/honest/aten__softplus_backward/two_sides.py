# operator: aten::softplus_backward
# style: Python numbers as arguments of the kernel; the sigmoid from the side where it does not overflow
import torch
import triton
import triton.language as tl


@triton.jit
def gradient(g_ptr, x_ptr, o_ptr, n, beta, threshold, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(g_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    b = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32) * beta
    e = tl.exp(-tl.abs(b))
    result = tl.where(b > threshold, g, g * (tl.where(b < 0, e, 1.0) / (1.0 + e)))
    tl.store(o_ptr + at, result.to(o_ptr.dtype.element_ty), mask=at < n)


def softplus_backward(grad_output, self, beta, threshold):
    return softplus_backward_grad_input(
        grad_output, self, beta, threshold, grad_input=torch.empty(self.shape, dtype=self.dtype, device=self.device))


def softplus_backward_grad_input(grad_output, self, beta, threshold, *, grad_input):
    out = grad_input if grad_input.is_contiguous() else torch.empty(self.shape, dtype=self.dtype, device=self.device)
    n = out.numel()
    if n > 0:
        gradient[(triton.cdiv(n, 4096),)](grad_output.contiguous(), self.contiguous(), out, n, float(beta), float(threshold),
                                          BLOCK=4096)
    return out if out is grad_input else grad_input.copy_(out)
