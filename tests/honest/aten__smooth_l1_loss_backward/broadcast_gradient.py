# operator: aten::smooth_l1_loss_backward
# style: reduction and broadcast of the gradient by constexprs
import torch
import triton
import triton.language as tl


@triton.jit
def _smooth_l1_backward_kernel(
    grad_ptr, x_ptr, t_ptr, out_ptr,
    n, beta, scale,
    SCALAR_GRAD: tl.constexpr,
    HAS_BETA: tl.constexpr,
    BLOCK: tl.constexpr,
):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
    t = tl.load(t_ptr + at, mask=mask, other=0.0).to(tl.float32)
    if SCALAR_GRAD:
        g = tl.load(grad_ptr).to(tl.float32)
    else:
        g = tl.load(grad_ptr + at, mask=mask, other=0.0).to(tl.float32)
    g = g * scale
    d = x - t
    # NaN fails both comparisons and passes through as d itself.
    sign = tl.where(d > 0.0, 1.0, tl.where(d < 0.0, -1.0, d))
    if HAS_BETA:
        slope = tl.where(tl.abs(d) < beta, d / beta, sign)
    else:
        slope = sign
    tl.store(out_ptr + at, (g * slope).to(out_ptr.dtype.element_ty), mask=mask)


def _launch(grad_output, self, target, reduction, beta, out):
    n = self.numel()
    if n == 0:
        return
    scalar_grad = grad_output.numel() == 1
    scale = 1.0 / n if reduction == 1 else 1.0
    BLOCK = 1024
    _smooth_l1_backward_kernel[(triton.cdiv(n, BLOCK),)](
        grad_output if scalar_grad else grad_output.contiguous(),
        self.contiguous(), target.contiguous(), out,
        n, float(beta), scale,
        SCALAR_GRAD=scalar_grad, HAS_BETA=beta > 0, BLOCK=BLOCK, num_warps=4,
    )


def smooth_l1_loss_backward(grad_output, self, target, reduction, beta):
    out = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    _launch(grad_output, self, target, reduction, beta, out)
    return out


def smooth_l1_loss_backward_grad_input(grad_output, self, target, reduction, beta, *, grad_input):
    if grad_input.is_contiguous():
        _launch(grad_output, self, target, reduction, beta, grad_input)
    else:
        tmp = torch.empty(grad_input.shape, dtype=grad_input.dtype, device=grad_input.device)
        _launch(grad_output, self, target, reduction, beta, tmp)
        grad_input.copy_(tmp)
    return grad_input
