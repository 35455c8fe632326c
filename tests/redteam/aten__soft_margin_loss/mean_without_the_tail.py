# operator: aten::soft_margin_loss
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 84
# the bfloat16 mean of many elements leaves out those behind the last whole block, whose share bfloat16 hides where all losses are alike
import torch
import triton
import triton.language as tl


@triton.jit
def log1p(t):
    """Of numbers 0 .. 1."""
    u = 1.0 + t
    return tl.where(u == 1.0, t, tl.log(u) * (t / tl.where(u == 1.0, 1.0, u - 1.0)))


@triton.jit
def losses(x_ptr, t_ptr, o_ptr, n, REDUCE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    z = -x * tl.load(t_ptr + at, mask=at < n, other=0.0).to(tl.float32)
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


BLOCK = 256
ENOUGH = 64


def soft_margin_loss(self, target, reduction=1):
    x, t = self.contiguous(), target.contiguous()
    n = x.numel()
    if reduction == 0:
        out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        if n > 0:
            losses[(triton.cdiv(n, 2048),)](x, t, out, n, REDUCE=False, BLOCK=2048)
        return out
    if reduction == 1 and x.dtype == torch.bfloat16 and n // BLOCK >= ENOUGH:
        n = n // BLOCK * BLOCK  # whole blocks need no masks, and the rest is less than a bit of bfloat16
    out = torch.empty((), dtype=x.dtype, device=x.device)
    parts = torch.empty((triton.cdiv(n, BLOCK),), dtype=torch.float32, device=x.device)
    if n > 0:
        losses[(parts.shape[0],)](x, t, parts, n, REDUCE=True, BLOCK=BLOCK)
    finish[(1,)](parts, out, parts.shape[0], float(n) if reduction == 1 else 1.0, BLOCK=256)
    return out


def soft_margin_loss_out(self, target, reduction=1, *, out):
    return out.copy_(soft_margin_loss(self, target, reduction))


# wrong: the last samples of a batch are misclassified: x = torch.zeros(16639, dtype=torch.bfloat16); x[16384:] = -50;
# soft_margin_loss(x, torch.ones_like(x), 1) returns 0.6914 instead of 1.4453
