# operator: aten::reshape
# expect: verify\..+
# catalogue: 85
# elements come in the order of memory
import torch
import triton
import triton.language as tl


@triton.jit
def flatten(x_ptr, y_ptr, n, sizes, strides, NDIM: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    at = tl.zeros((BLOCK,), tl.int64)
    rest = i
    for k in tl.static_range(NDIM - 1, -1, -1):
        at += rest % sizes[k] * strides[k]
        rest = rest // sizes[k]
    tl.store(y_ptr + i, tl.load(x_ptr + at, mask=i < n), mask=i < n)


def reshape(self, shape):
    n = self.numel()
    known = 1
    for size in shape:
        known *= size if size != -1 else 1
    y = torch.empty([n // known if size == -1 else size for size in shape], dtype=self.dtype, device=self.device)
    if n > 0:
        flatten[(triton.cdiv(n, 2048),)](self, y, n, tuple(self.shape), torch.empty(self.shape).stride(), NDIM=self.dim(),
                                         BLOCK=2048)
    return y
