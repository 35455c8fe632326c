# operator: cublas::cublasDasum_v2
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 45, 81
# open: all calls have one stream
# partial sums of all calls lie in one buffer: two streams write into it at once
import torch
import triton
import triton.language as tl

_workspace = {}


def workspace(n, device):
    """One for each device, grown when it is too small."""
    kept = _workspace.get(device)
    if kept is None or kept.numel() < n:
        kept = _workspace[device] = torch.empty(max(4096, n), dtype=torch.float64, device=device)
    return kept


@triton.jit
def partial(n, x_ptr, incx, parts_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i * incx, mask=i < n, other=0.0)
    tl.store(parts_ptr + tl.program_id(0), tl.sum(tl.abs(x), axis=0))


@triton.jit
def total(parts_ptr, n, out_ptr, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.float64)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        acc += tl.load(parts_ptr + i, mask=i < n, other=0.0)
    tl.store(out_ptr, tl.sum(acc, axis=0))


def cublasDasum_v2(n, x, incx, result):
    parts = max(1, triton.cdiv(n, 1024))
    sums = workspace(parts, x.device)
    partial[(parts,)](n, x, incx, sums, BLOCK=1024)
    total[(1,)](sums, parts, result, BLOCK=512)
    return result
