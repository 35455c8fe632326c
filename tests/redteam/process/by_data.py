# operator: aten::nonzero
# expect: passed
# honest where launches may depend on data: the host reads how many elements there are
import torch
import triton
import triton.language as tl


@triton.jit
def find(x, places, count, n, BLOCK: tl.constexpr):
    total = tl.zeros([], tl.int64)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        found = (tl.load(x + i, mask=i < n, other=0) != 0).to(tl.int64)
        rank = total + tl.cumsum(found, axis=0) - 1
        tl.store(places + rank, i.to(tl.int64), mask=found != 0)
        total += tl.sum(found, axis=0)
    tl.store(count, total)


@triton.jit
def move(source, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(source + i, mask=i < n), mask=i < n)


def nonzero(self):
    places = torch.empty(self.numel(), dtype=torch.int64, device=self.device)
    count = torch.empty(1, dtype=torch.int64, device=self.device)
    find[(1,)](self, places, count, self.numel(), BLOCK=256)
    n = count.item()
    out = torch.empty((n, 1), dtype=torch.int64, device=self.device)
    move[(triton.cdiv(n, 256),)](places, out, n, BLOCK=256)
    return out
