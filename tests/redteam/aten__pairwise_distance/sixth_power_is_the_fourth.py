# operator: aten::pairwise_distance
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 84
# p = 6 has a way of its own, which forgets a square; wrong: pairwise_distance(a, b, p=6.0)
import torch
import triton
import triton.language as tl


@triton.jit
def distance(a_ptr, b_ptr, o_ptr, rows, columns, eps, p, P: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, columns, COLUMNS):
        j = start + tl.arange(0, COLUMNS)
        at = i.to(tl.int64)[:, None] * columns + j[None, :]
        mask = (i < rows)[:, None] & (j < columns)[None, :]
        a = tl.load(a_ptr + at, mask=mask, other=0.0).to(tl.float32)
        b = tl.load(b_ptr + at, mask=mask, other=0.0).to(tl.float32)
        d = tl.where(mask, tl.abs(a - b + eps), 0.0)
        if P == "0":
            total += (d != 0).to(tl.float32)
        elif P == "1":
            total += d
        elif P == "2":
            total += d * d
        elif P == "6":
            total += d * d * (d * d)
        else:
            total += tl.where(d == 0, 0.0, tl.exp2(p * tl.log2(d)))
    norm = tl.sum(total, axis=1)
    if P == "2":
        norm = tl.sqrt(norm)
    elif P == "p" or P == "6":
        norm = tl.where(norm == 0, 0.0, tl.exp2(tl.log2(norm) / p))
    tl.store(o_ptr + i, norm.to(o_ptr.dtype.element_ty), mask=i < rows)


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    a, b = (x.contiguous() for x in torch.broadcast_tensors(x1, x2))
    columns = a.shape[-1]
    out = torch.empty(a.shape[:-1], dtype=x1.dtype, device=a.device)
    rows = out.numel()
    if rows > 0:
        width = min(1024, triton.next_power_of_2(columns))
        height = max(1, 4096 // width)
        distance[(triton.cdiv(rows, height),)](a, b, out, rows, columns, eps, p, P={0: "0", 1: "1", 2: "2", 6: "6"}.get(p, "p"),
                                               ROWS=height,
                                               COLUMNS=width)
    return out.unsqueeze(-1) if keepdim else out
