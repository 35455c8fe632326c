# operator: aten::softplus_backward
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 57
# open: out is an argument; some verdicts have a subnormal that it rounds twice
# grad_input first holds the slopes and is then multiplied by grad_output: wrong where grad_input is grad_output itself, the
# usual buffer reuse of a backward pass; wrong: g = torch.ones(4); softplus_backward_grad_input(g, torch.zeros(4), 1.0, 20.0,
# grad_input=g) gives 0.25, not 0.5
import torch
import triton
import triton.language as tl


@triton.jit
def slopes(x_ptr, o_ptr, n, beta, threshold, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    b = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32) * beta
    e = tl.exp(-tl.abs(b))
    slope = tl.where(b > threshold, 1.0, tl.where(b < 0, e, 1.0) / (1.0 + e))
    tl.store(o_ptr + at, slope.to(o_ptr.dtype.element_ty), mask=at < n)


@triton.jit
def times(g_ptr, o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(g_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    y = g * tl.load(o_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    tl.store(o_ptr + at, y.to(o_ptr.dtype.element_ty), mask=at < n)


def softplus_backward(grad_output, self, beta, threshold):
    return softplus_backward_grad_input(
        grad_output, self, beta, threshold, grad_input=torch.empty(self.shape, dtype=self.dtype, device=self.device))


def softplus_backward_grad_input(grad_output, self, beta, threshold, *, grad_input):
    out = grad_input if grad_input.is_contiguous() else torch.empty(self.shape, dtype=self.dtype, device=self.device)
    n = out.numel()
    if n > 0:
        grid = (triton.cdiv(n, 4096),)
        slopes[grid](self.contiguous(), out, n, float(beta), float(threshold), BLOCK=4096)
        times[grid](grad_output.contiguous(), out, n, BLOCK=4096)
    return out if out is grad_input else grad_input.copy_(out)
