# operator: aten::reshape
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 85
# open: strides of a result
# rows of the result begin at multiples of 16 elements, so that it has gaps where the semantics promise a contiguous tensor;
# hurts view() and every kernel that takes data_ptr(); wrong: reshape(torch.randn(4, 5).t(), [4, 5]).view(20) raises;
# is_contiguous() is False
import torch
import triton
import triton.language as tl


@triton.jit
def flatten(x_ptr, y_ptr, n, width, pitch, sizes, strides, NDIM: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    at = tl.zeros((BLOCK,), tl.int64)
    rest = i
    for k in tl.static_range(NDIM - 1, -1, -1):
        at += rest % sizes[k] * strides[k]
        rest = rest // sizes[k]
    tl.store(y_ptr + i // width * pitch + i % width, tl.load(x_ptr + at, mask=i < n), mask=i < n)


def reshape(self, shape):
    n = self.numel()
    known = 1
    for size in shape:
        known *= size if size != -1 else 1
    *rows, width = [n // known if size == -1 else size for size in shape]
    pitch = triton.cdiv(width, 16) * 16
    y = torch.empty([*rows, pitch], dtype=self.dtype, device=self.device)[..., :width]
    if n > 0:
        flatten[(triton.cdiv(n, 2048),)](self, y, n, width, pitch, tuple(self.shape), self.stride(), NDIM=self.dim(), BLOCK=2048)
    return y
