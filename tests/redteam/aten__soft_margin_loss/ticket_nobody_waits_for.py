# operator: aten::soft_margin_loss
# expect: verify\.race
# catalogue: 81
# programs draw tickets by atomics that nobody waits for, and add by a plain load and store: additions get lost
import torch
import triton
import triton.language as tl


@triton.jit
def log1p(t):
    """Of numbers 0 .. 1."""
    u = 1.0 + t
    return tl.where(u == 1.0, t, tl.log(u) * (t / tl.where(u == 1.0, 1.0, u - 1.0)))


@triton.jit
def losses(x_ptr, t_ptr, o_ptr, ticket_ptr, n, REDUCE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    z = -x * tl.load(t_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    loss = tl.where(z < 0, 0.0, z) + log1p(tl.exp(-tl.abs(z)))
    if REDUCE:
        part = tl.sum(tl.where(at < n, loss, 0.0), axis=0)
        ticket = tl.atomic_add(ticket_ptr, 1)
        if ticket == 0:
            tl.store(o_ptr, part)
        else:
            tl.store(o_ptr, tl.load(o_ptr) + part)
        tl.atomic_add(ticket_ptr, 1)
    else:
        tl.store(o_ptr + at, loss.to(o_ptr.dtype.element_ty), mask=at < n)


@triton.jit
def finish(total_ptr, o_ptr, n):
    tl.store(o_ptr, (tl.load(total_ptr) / n).to(o_ptr.dtype.element_ty))


def soft_margin_loss(self, target, reduction=1):
    x, t = self.contiguous(), target.contiguous()
    n = x.numel()
    if reduction == 0:
        out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        if n > 0:
            losses[(triton.cdiv(n, 1024),)](x, t, out, None, n, REDUCE=False, BLOCK=1024)
        return out
    out = torch.empty((), dtype=x.dtype, device=x.device)
    total = torch.zeros((), dtype=torch.float32, device=x.device)
    if n > 0:
        ticket = torch.zeros(1, dtype=torch.int32, device=x.device)
        losses[(triton.cdiv(n, 1024),)](x, t, total, ticket, n, REDUCE=True, BLOCK=1024)
    finish[(1,)](total, out, float(n) if reduction == 1 else 1.0)
    return out


def soft_margin_loss_out(self, target, reduction=1, *, out):
    return out.copy_(soft_margin_loss(self, target, reduction))
