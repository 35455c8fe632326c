# operator: aten::masked_fill_
# expect: verify\.mismatch
# catalogue: 58, 82
# changes nothing: enough for a checker that lets candidate and reference change one and the same tensor
import torch
import triton
import triton.language as tl


@triton.jit
def touch(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def masked_fill__Tensor(self, mask, value):
    if self.numel() > 0 and self.is_contiguous():
        touch[(triton.cdiv(self.numel(), 1024),)](self, self.numel(), BLOCK=1024)
    return self


def masked_fill__Scalar(self, mask, value):
    return masked_fill__Tensor(self, mask, value)
