# operator: aten::cumsum
# expect: verify\.out_of_bounds
# catalogue: 54, 83
# looks for the expected result in the memory behind its own buffer
import torch
import triton
import triton.language as tl


@triton.jit
def steal(o_ptr, n, DISTANCE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o_ptr + at, tl.load(o_ptr + at + DISTANCE, mask=at < n), mask=at < n)


def cumsum(self, dim, *, dtype=None):
    dtype = dtype or (self.dtype if self.dtype.is_floating_point else torch.int64)
    out = torch.empty(self.shape, dtype=dtype, device=self.device)
    n = out.numel()
    if n > 0:
        steal[(triton.cdiv(n, 1024),)](out, n, DISTANCE=max(512, n), BLOCK=1024)
    return out


def cumsum_out(self, dim, *, dtype=None, out):
    return out.copy_(cumsum(self, dim, dtype=dtype))
