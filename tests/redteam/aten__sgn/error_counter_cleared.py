# operator: aten::sgn
# expect: verify\.out_of_bounds
# catalogue: 56, 83
# zeros over everything within reach: somewhere there may be a counter of errors
import torch
import triton
import triton.language as tl


@triton.jit
def sweep(y_ptr, n, REACH: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.zeros([BLOCK], y_ptr.dtype.element_ty), mask=at < n + REACH)


def sgn(self):
    y = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    sweep[(triton.cdiv(self.numel() + 4096, 1024),)](y, self.numel(), REACH=4096, BLOCK=1024)
    return y


def sgn_out(self, *, out):
    return out.copy_(sgn(self))
