# operator: aten::neg
# style: a first launch as a warm-up, then the real one
import torch
import triton
import triton.language as tl


@triton.jit
def neg_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = -x
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


SEEN = set()


def neg(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n > 0:
        if (x.dtype, x.shape) not in SEEN:
            SEEN.add((x.dtype, x.shape))
            neg_kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)
        neg_kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)
    return y


def neg_out(self, *, out):
    return out.copy_(neg(self))
