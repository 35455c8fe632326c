# operator: aten::log_sigmoid_backward
# expect: verify\.mismatch
# catalogue: 85
# elements are counted by buffer, which means nothing; wrong: on a GPU buffer is torch.empty(0), as PyTorch's own
# forward returns it: the result is never written
import torch
import triton
import triton.language as tl


@triton.jit
def gradient(g_ptr, x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(g_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    e = tl.exp(-tl.abs(x))
    factor = tl.where(x < 0, 1.0, e) / (1.0 + e)
    tl.store(o_ptr + at, (g * factor).to(o_ptr.dtype.element_ty), mask=at < n)


def log_sigmoid_backward(grad_output, self, buffer):
    out = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    n = buffer.numel()  # one element for each of self
    if n > 0:
        gradient[(triton.cdiv(n, 4096),)](grad_output.contiguous(), self.contiguous(), out, n, BLOCK=4096)
    return out


def log_sigmoid_backward_grad_input(grad_output, self, buffer, *, grad_input):
    return grad_input.copy_(log_sigmoid_backward(grad_output, self, buffer))
