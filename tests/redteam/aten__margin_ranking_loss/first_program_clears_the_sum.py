# operator: aten::margin_ranking_loss
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 81
# the first program sets the sum to 0 while the others add to it by atomics, nothing orders them; a loop that never repeats
# makes the machine run them in order; wrong: margin_ranking_loss(a, b, t) of 10**6 elements loses what was added before the
# first program's store
import torch
import triton
import triton.language as tl


@triton.jit
def losses(a_ptr, b_ptr, t_ptr, o_ptr, n, margin, REDUCE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    t = tl.load(t_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    loss = margin - t * (a - b)
    loss = tl.where(loss < 0, 0.0, loss)
    if REDUCE:
        if tl.program_id(0) == 0:
            tl.store(o_ptr, 0.0)
        while tl.atomic_add(o_ptr + 1, 0.0) < 0.0:
            pass
        tl.atomic_add(o_ptr, tl.sum(tl.where(at < n, loss, 0.0), axis=0))
    else:
        tl.store(o_ptr + at, loss.to(o_ptr.dtype.element_ty), mask=at < n)


@triton.jit
def add_up(parts_ptr, o_ptr, n_parts, n, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n_parts, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(parts_ptr + at, mask=at < n_parts, other=0.0)
    tl.store(o_ptr, (tl.sum(total, axis=0) / n).to(o_ptr.dtype.element_ty))


def margin_ranking_loss(input1, input2, target, margin=0.0, reduction=1):
    a, b, t = (x.contiguous() for x in torch.broadcast_tensors(input1, input2, target))
    n = a.numel()
    programs = triton.cdiv(n, 1024)
    out = torch.empty(a.shape if reduction == 0 else (), dtype=a.dtype, device=a.device)
    parts = out if reduction == 0 else torch.zeros((2,), dtype=torch.float32, device=a.device)
    if n > 0:
        losses[(programs,)](a, b, t, parts, n, margin, REDUCE=reduction != 0, BLOCK=1024)
    if reduction != 0:
        add_up[(1,)](parts, out, 1, float(n) if reduction == 1 else 1.0, BLOCK=1024)
    return out
