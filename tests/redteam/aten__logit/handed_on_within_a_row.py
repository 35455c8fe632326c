# operator: aten::logit
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 81
# warps of a block of two dimensions: the machine takes 32 neighbours in row-major order for one warp, whatever the block's layout
# each lane takes the logarithm of what a lane of its row has written to memory before, without a barrier. The tile is column-major
# in memory, so the compiler deals columns to the four warps (TTGIR: order = [0, 1], warpsPerCTA = [1, 4]) and the other lane is
# of another warp: a race; wrong on a GPU: logit(torch.full((4096,), 0.75)) is ln of unwritten memory wherever the other warp
# comes later, not 1.0986
import torch
import triton
import triton.language as tl


@triton.jit
def logit_kernel(x_ptr, odds_ptr, y_ptr, n, eps, CLAMPED: tl.constexpr, SIDE: tl.constexpr):
    first = tl.program_id(0) * SIDE * SIDE
    i = tl.arange(0, SIDE)[:, None]
    j = tl.arange(0, SIDE)[None, :]
    at = first + j * SIDE + i
    z = tl.load(x_ptr + at, mask=at < n, other=0).to(tl.float32)
    if CLAMPED:
        z = tl.where(z < eps, eps, tl.where(z > 1.0 - eps, 1.0 - eps, z))
    tl.store(odds_ptr + at, z / (1.0 - z), mask=at < n)
    # Backwards: the columns that were written last are still in the cache.
    back = first + (SIDE - 1 - j) * SIDE + i
    odds = tl.load(odds_ptr + back, mask=back < n, other=1)
    tl.store(y_ptr + back, tl.log(odds).to(y_ptr.dtype.element_ty), mask=back < n)


def logit(self, eps=None):
    x = self.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        odds = torch.empty((n,), dtype=torch.float32, device=x.device)
        logit_kernel[(triton.cdiv(n, 1024),)](x, odds, y, n, 0.0 if eps is None else eps, CLAMPED=eps is not None, SIDE=32,
                                              num_warps=4)
    return y


def logit_out(self, eps=None, *, out):
    return out.copy_(logit(self, eps))
