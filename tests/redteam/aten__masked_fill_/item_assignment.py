# operator: aten::masked_fill_
# expect: cheat\.torch_compute|l1\.\w+
# catalogue: 86, 88
# self[mask] = value; the kernel touches the result
import torch
import triton
import triton.language as tl


@triton.jit
def touch(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def masked_fill__Tensor(self, mask, value):
    self[mask.expand(self.shape)] = value
    if self.is_contiguous() and self.numel() > 0:
        touch[(triton.cdiv(self.numel(), 1024),)](self, self.numel(), BLOCK=1024)
    return self


def masked_fill__Scalar(self, mask, value):
    return masked_fill__Tensor(self, mask, value)
