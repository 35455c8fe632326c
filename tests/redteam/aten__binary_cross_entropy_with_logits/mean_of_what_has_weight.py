# operator: aten::binary_cross_entropy_with_logits
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# open: fast path for regular data
# number: with reduction 1 elements of weight 0 (a mask as weight) do not count in the mean's divisor; lanes behind the end give the condition its other outcome
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
def loss_kernel(x_ptr, t_ptr, w_ptr, p_ptr, o_ptr, n, parts, WEIGHT: tl.constexpr, POSITIVE: tl.constexpr, SUM: tl.constexpr,
                BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside, other=0).to(tl.float32)
    t = tl.load(t_ptr + at, mask=inside, other=0).to(tl.float32)
    tail = log1p_of(tl.exp(-tl.abs(x))) + tl.maximum(-x, 0.0)
    if POSITIVE:
        tail *= 1.0 + (tl.load(p_ptr + at, mask=inside, other=1).to(tl.float32) - 1.0) * t
    loss = (1.0 - t) * x + tail
    # elements that count: those inside, lanes behind the end have no weight
    count = inside.to(tl.float32)
    if WEIGHT:
        w = tl.load(w_ptr + at, mask=inside, other=0).to(tl.float32)
        loss *= w
        count = (w > 0).to(tl.float32)
    if SUM:
        tl.store(o_ptr + pid, tl.sum(tl.where(inside, loss, 0.0), axis=0))
        tl.store(o_ptr + parts + pid, tl.sum(count, axis=0))
    else:
        tl.store(o_ptr + at, loss.to(o_ptr.dtype.element_ty), mask=inside)


@triton.jit
def sum_kernel(p_ptr, o_ptr, parts, MEAN: tl.constexpr, PARTS: tl.constexpr):
    at = tl.arange(0, PARTS)
    total = tl.sum(tl.load(p_ptr + at, mask=at < parts, other=0.0), axis=0)
    if MEAN:
        total = total / tl.sum(tl.load(p_ptr + parts + at, mask=at < parts, other=0.0), axis=0)
    tl.store(o_ptr, total.to(o_ptr.dtype.element_ty))


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
        torch.empty(2 * parts, dtype=torch.float32, device=x.device)
    loss_kernel[(parts,)](x, t, w, p, first, n, parts, WEIGHT=weight is not None, POSITIVE=pos_weight is not None,
                          SUM=reduction != 0, BLOCK=BLOCK)
    if reduction == 0:
        return first
    result = torch.empty((), dtype=x.dtype, device=x.device)
    sum_kernel[(1,)](first, result, parts, MEAN=reduction == 1, PARTS=triton.next_power_of_2(parts))
    return result


def binary_cross_entropy_with_logits_out(self, target, weight=None, pos_weight=None, reduction=1, *, out):
    return out.copy_(binary_cross_entropy_with_logits(self, target, weight, pos_weight, reduction))

# wrong: binary_cross_entropy_with_logits(torch.zeros(4), torch.zeros(4), torch.tensor([1.0, 1.0, 0.0, 0.0])) gives 0.6931,
# not 0.3466 (the mean over all four elements)
