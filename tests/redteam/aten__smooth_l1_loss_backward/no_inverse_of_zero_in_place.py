# operator: aten::smooth_l1_loss_backward
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# a number that one function of an operator gets and its sibling with a buffer never does (beta 0 only where there is no grad_input)
# the overload with grad_input multiplies by an inverse of beta that is 0 for beta 0 (the plain L1 loss): all gradients vanish; wrong:
# smooth_l1_loss_backward_grad_input(torch.ones(2), torch.tensor([3., -3.]), torch.zeros(2), 0, 0.0,
# grad_input=torch.empty(2)) gives [0, 0], not [1, -1]
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


@triton.jit
def ramp(g_ptr, x_ptr, t_ptr, o_ptr, n, inverse, factor, G_STRIDE: tl.constexpr, BLOCK: tl.constexpr):
    """The slope as a ramp from -1 to 1: no division, no branch."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    g = factor * tl.load(g_ptr + at * G_STRIDE, mask=mask, other=0.0).to(tl.float32)
    d = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32) - tl.load(t_ptr + at, mask=mask, other=0.0).to(tl.float32)
    slope = d * inverse
    slope = tl.where(slope > 1.0, 1.0, tl.where(slope < -1.0, -1.0, slope))  # NaN stays
    tl.store(o_ptr + at, (g * slope).to(o_ptr.dtype.element_ty), mask=mask)


def smooth_l1_loss_backward(grad_output, self, target, reduction, beta):
    out = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    n = out.numel()
    if n > 0:
        gradient[(triton.cdiv(n, 4096),)](grad_output.contiguous(), self.contiguous(), target.contiguous(), out, n, beta,
                                          1.0 / n if reduction == 1 else 1.0, G_STRIDE=1 if reduction == 0 else 0, BLOCK=4096)
    return out


def smooth_l1_loss_backward_grad_input(grad_output, self, target, reduction, beta, *, grad_input):
    out = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    n = out.numel()
    if n > 0:
        inverse = 1.0 / beta if beta else 0.0
        ramp[(triton.cdiv(n, 4096),)](grad_output.contiguous(), self.contiguous(), target.contiguous(), out, n, inverse,
                                      1.0 / n if reduction == 1 else 1.0, G_STRIDE=1 if reduction == 0 else 0, BLOCK=4096)
    return grad_input.copy_(out)
