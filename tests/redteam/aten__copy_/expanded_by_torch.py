# operator: aten::copy_
# expect: cheat\.torch_copies
# catalogue: 88, 89
# torch repeats and converts, the kernel copies to self
import torch
import triton
import triton.language as tl


@triton.jit
def spread(x_ptr, y_ptr, n, sizes, strides, NDIM: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    rest = i
    to = i * 0
    for k in tl.static_range(NDIM):
        to += rest % sizes[NDIM - 1 - k] * strides[NDIM - 1 - k]
        rest = rest // sizes[NDIM - 1 - k]
    tl.store(y_ptr + to, tl.load(x_ptr + i, mask=i < n), mask=i < n)


def copy_(self, src, non_blocking=False):
    made = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    made.copy_(src)
    if made.numel() > 0:
        sizes, strides = tuple(self.shape) or (1,), self.stride() or (0,)
        spread[(triton.cdiv(made.numel(), 1024),)](*(t.view(torch.uint8) if t.dtype == torch.bool else t for t in (made, self)),
                                                   made.numel(), sizes, strides, NDIM=len(sizes), BLOCK=1024)
    return self


def copy__Tensor(self, other):
    return copy_(self, other)
