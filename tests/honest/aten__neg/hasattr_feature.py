# operator: aten::neg
# style: hasattr for a feature of triton
import torch
import triton
import triton.language as tl

if hasattr(triton, "set_allocator"):
    WARPS = 8
else:
    WARPS = 4


@triton.jit
def neg_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = -x
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def neg(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n > 0:
        neg_kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024, num_warps=WARPS)
    return y


def neg_out(self, *, out):
    return out.copy_(neg(self))
