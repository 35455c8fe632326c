# operator: aten::reshape
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# layouts of four dimensions that no template draws
# the first two of four dimensions count as one that is stride(1) apart, unless channels come last; wrong: the heads of attention,
# q.view(2, 7, 4, 8).transpose(1, 2).reshape(2, 4, 56)
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
    sizes, strides = tuple(self.shape), self.stride()
    if len(sizes) == 4 and strides[1] > 1:  # not with channels last
        sizes, strides = (sizes[0] * sizes[1], *sizes[2:]), strides[1:]
    if n > 0:
        flatten[(triton.cdiv(n, 2048),)](self, y, n, sizes, strides, NDIM=len(sizes), BLOCK=2048)
    return y
