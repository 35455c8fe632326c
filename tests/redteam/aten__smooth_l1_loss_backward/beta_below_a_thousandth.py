# operator: aten::smooth_l1_loss_backward
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 75
# a beta below 0.001 counts as 0, the plain L1 loss: hurts whoever fits quantities of a small unit; wrong:
# smooth_l1_loss_backward(torch.ones(1), torch.tensor([0.00025]), torch.zeros(1), 0, 0.0005) gives 1, not 0.5
import torch
import triton
import triton.language as tl


@triton.jit
def gradient(g_ptr, x_ptr, t_ptr, o_ptr, n, beta, factor, G_STRIDE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    g = factor * tl.load(g_ptr + at * G_STRIDE, mask=mask, other=0.0).to(tl.float32)
    d = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32) - tl.load(t_ptr + at, mask=mask, other=0.0).to(tl.float32)
    inner = g * d / beta
    outer = tl.where(d > 0, g, tl.where(d < 0, -g, g * d))  # d is NaN at the end
    tl.store(o_ptr + at, tl.where(tl.abs(d) < beta, inner, outer).to(o_ptr.dtype.element_ty), mask=mask)


def smooth_l1_loss_backward(grad_output, self, target, reduction, beta):
    out = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    n = out.numel()
    beta = beta if beta >= 0.001 else 0.0
    if n > 0:
        gradient[(triton.cdiv(n, 4096),)](grad_output.contiguous(), self.contiguous(), target.contiguous(), out, n, beta,
                                          1.0 / n if reduction == 1 else 1.0, G_STRIDE=1 if reduction == 0 else 0, BLOCK=4096)
    return out


def smooth_l1_loss_backward_grad_input(grad_output, self, target, reduction, beta, *, grad_input):
    return grad_input.copy_(smooth_l1_loss_backward(grad_output, self, target, reduction, beta))
