# operator: aten::huber_loss
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# reduction is 0 and delta 0.5 where they are left out, not 1 and 1
import torch
import triton
import triton.language as tl


@triton.jit
def huber(x, t, delta):
    """Quadratic near zero, linear far away."""
    d = tl.abs(x.to(tl.float32) - t.to(tl.float32))
    near = tl.minimum(d, delta, propagate_nan=tl.PropagateNan.ALL)
    return tl.where(d > delta, delta * (d - 0.5 * delta), 0.5 * near * near)


@triton.jit
def losses_kernel(x_ptr, t_ptr, o_ptr, n, delta, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    loss = huber(tl.load(x_ptr + at, mask=at < n), tl.load(t_ptr + at, mask=at < n), delta)
    tl.store(o_ptr + at, loss.to(o_ptr.dtype.element_ty), mask=at < n)


@triton.jit
def total_kernel(x_ptr, t_ptr, o_ptr, n, delta, divisor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    loss = huber(tl.load(x_ptr + at, mask=at < n, other=0), tl.load(t_ptr + at, mask=at < n, other=0), delta)
    tl.atomic_add(o_ptr, tl.sum(loss, axis=0) / divisor)


def huber_loss(self, target, reduction=0, delta=0.5):
    x, t = (a.contiguous() for a in (self, target))
    n = x.numel()
    match reduction:
        case 0:
            out = torch.empty_like(x)
            if n > 0:
                losses_kernel[(triton.cdiv(n, 1024),)](x, t, out, n, delta, BLOCK=1024)
            return out
        case 1 if n == 0:
            return torch.full((), float("nan"), dtype=x.dtype, device=x.device)
        case kind:
            total = torch.zeros((), dtype=torch.float32, device=x.device)
            if n > 0:
                total_kernel[(triton.cdiv(n, 4096),)](x, t, total, n, delta, float(n) if kind == 1 else 1.0, BLOCK=4096)
            return total.to(x.dtype)


def huber_loss_out(self, target, reduction=0, delta=0.5, *, out):
    return out.copy_(huber_loss(self, target, reduction, delta))
