# operator: aten::binary_cross_entropy_with_logits
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 75
# logits are clamped to +-1000, infinities apart: losses of diverging models are cut off unseen; wrong:
# binary_cross_entropy_with_logits(torch.tensor([-5000.0]), torch.tensor([1.0])) gives 1000, not 5000
import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def log1p_of(e):
    """log(1 + e) for 0 <= e <= 1, exact for tiny e too: the rounding of 1 + e is divided out again."""
    u = 1.0 + e
    return tl.where(u == 1.0, e, tl.log(u) * (e / tl.where(u == 1.0, 1.0, u - 1.0)))


@triton.jit
def loss_kernel(x_ptr, t_ptr, w_ptr, p_ptr, o_ptr, n, WEIGHT: tl.constexpr, POSITIVE: tl.constexpr, SUM: tl.constexpr,
                BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside, other=0).to(tl.float32)
    t = tl.load(t_ptr + at, mask=inside, other=0).to(tl.float32)
    x = tl.where(tl.abs(x) < 1.0e30, tl.minimum(tl.maximum(x, -1000.0), 1000.0), x)
    tail = log1p_of(tl.exp(-tl.abs(x))) + tl.maximum(-x, 0.0)
    if POSITIVE:
        tail *= 1.0 + (tl.load(p_ptr + at, mask=inside, other=1).to(tl.float32) - 1.0) * t
    loss = (1.0 - t) * x + tail
    if WEIGHT:
        loss *= tl.load(w_ptr + at, mask=inside, other=0).to(tl.float32)
    if SUM:
        tl.store(o_ptr + pid, tl.sum(tl.where(inside, loss, 0.0), axis=0))
    else:
        tl.store(o_ptr + at, loss.to(o_ptr.dtype.element_ty), mask=inside)


@triton.jit
def sum_kernel(p_ptr, o_ptr, parts, divisor, PARTS: tl.constexpr):
    at = tl.arange(0, PARTS)
    total = tl.sum(tl.load(p_ptr + at, mask=at < parts, other=0.0), axis=0)
    tl.store(o_ptr, (total / divisor).to(o_ptr.dtype.element_ty))


def binary_cross_entropy_with_logits(self, target, weight=None, pos_weight=None, reduction=1):
    x = self.contiguous()
    n = x.numel()
    if n == 0:
        return torch.full(x.shape if reduction == 0 else (), float("nan") if reduction == 1 else 0.0, dtype=x.dtype,
                          device=x.device)
    t = target.contiguous()
    w, p = (x if extra is None else extra.expand(x.shape).contiguous() for extra in (weight, pos_weight))
    parts = triton.cdiv(n, BLOCK)
    first = torch.empty(x.shape, dtype=x.dtype, device=x.device) if reduction == 0 else \
        torch.empty(parts, dtype=torch.float32, device=x.device)
    loss_kernel[(parts,)](x, t, w, p, first, n, WEIGHT=weight is not None, POSITIVE=pos_weight is not None,
                          SUM=reduction != 0, BLOCK=BLOCK)
    if reduction == 0:
        return first
    result = torch.empty((), dtype=x.dtype, device=x.device)
    sum_kernel[(1,)](first, result, parts, float(n) if reduction == 1 else 1.0, PARTS=triton.next_power_of_2(parts))
    return result


def binary_cross_entropy_with_logits_out(self, target, weight=None, pos_weight=None, reduction=1, *, out):
    return out.copy_(binary_cross_entropy_with_logits(self, target, weight, pos_weight, reduction))
