# operator: aten::huber_loss
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 80
# tuned without reset_to_zero: the tuner's runs add up in the first loss of each size
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


@triton.autotune(configs=[triton.Config({"BLOCK": 4096}, num_warps=8), triton.Config({"BLOCK": 1024}, num_warps=4)], key=["n"])
@triton.jit
def total_kernel(x_ptr, t_ptr, o_ptr, n, delta, divisor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    loss = huber(tl.load(x_ptr + at, mask=at < n, other=0), tl.load(t_ptr + at, mask=at < n, other=0), delta)
    tl.atomic_add(o_ptr, tl.sum(loss, axis=0) / divisor)


def huber_loss(self, target, reduction=1, delta=1.0):
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
                grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
                total_kernel[grid](x, t, total, n, delta, float(n) if kind == 1 else 1.0)
            return total.to(x.dtype)


def huber_loss_out(self, target, reduction=1, delta=1.0, *, out):
    return out.copy_(huber_loss(self, target, reduction, delta))
