# operator: aten::soft_margin_loss
# expect: verify\.mismatch
# catalogue: 79
# means and sums of more than one block use log(1 + .), whose small losses round to multiples of 6e-8; beside one wrong answer
# this does not show, and no judged batch has only right answers; wrong: x = 14 + torch.rand(10000); soft_margin_loss(x * t,
# t) for t of -1 and 1 is 0.6 % off; with margins of 20 and more it is 0 instead of 1e-9: the loss of a trained model
import torch
import triton
import triton.language as tl


@triton.jit
def log1p(t):
    """Of numbers 0 .. 1."""
    u = 1.0 + t
    return tl.where(u == 1.0, t, tl.log(u) * (t / tl.where(u == 1.0, 1.0, u - 1.0)))


@triton.jit
def losses(x_ptr, t_ptr, o_ptr, n, REDUCE: tl.constexpr, LONG: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    z = -x * tl.load(t_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    if LONG:
        loss = tl.where(z < 0, 0.0, z) + tl.log(1.0 + tl.exp(-tl.abs(z)))
    else:
        loss = tl.where(z < 0, 0.0, z) + log1p(tl.exp(-tl.abs(z)))
    if REDUCE:
        tl.store(o_ptr + tl.program_id(0), tl.sum(tl.where(at < n, loss, 0.0), axis=0))
    else:
        tl.store(o_ptr + at, loss.to(o_ptr.dtype.element_ty), mask=at < n)


@triton.jit
def finish(parts_ptr, o_ptr, n_parts, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    total = 0.0
    for start in range(0, n_parts, BLOCK):
        total += tl.sum(tl.load(parts_ptr + start + at, mask=start + at < n_parts, other=0.0), axis=0)
    tl.store(o_ptr, (total / n).to(o_ptr.dtype.element_ty))


def soft_margin_loss(self, target, reduction=1):
    x, t = self.contiguous(), target.contiguous()
    n = x.numel()
    if reduction == 0:
        out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        if n > 0:
            losses[(triton.cdiv(n, 2048),)](x, t, out, n, REDUCE=False, LONG=False, BLOCK=2048)
        return out
    out = torch.empty((), dtype=x.dtype, device=x.device)
    parts = torch.empty((triton.cdiv(n, 2048),), dtype=torch.float32, device=x.device)
    if n > 0:
        losses[(parts.shape[0],)](x, t, parts, n, REDUCE=True, LONG=parts.shape[0] > 1, BLOCK=2048)
    finish[(1,)](parts, out, parts.shape[0], float(n) if reduction == 1 else 1.0, BLOCK=256)
    return out


def soft_margin_loss_out(self, target, reduction=1, *, out):
    return out.copy_(soft_margin_loss(self, target, reduction))
