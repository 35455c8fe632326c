# operator: aten::masked_fill_
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 41
# the mask's strides are remembered by self's shape and strides: a later mask that broadcasts otherwise is read by the old ones;
# wrong: masked_fill_ of x[8, 64] with a mask [8, 1], then with a mask [64]
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


_PLANS = {}


def masked_fill__Tensor(self, mask, value):
    n = self.numel()
    if n == 0:
        return self
    mask = mask.expand(self.shape).view(torch.uint8)
    x = self.view(torch.uint8) if self.dtype == torch.bool else self
    if value.dtype == torch.bool:
        value = value.view(torch.uint8)
    m_strides = _PLANS.setdefault((tuple(x.shape), x.stride()), tuple(mask.stride()) or (0,))
    fill_kernel[(triton.cdiv(n, 1024),)](x, mask, value, n, tuple(x.shape) or (1,), tuple(x.stride()) or (0,),
                                         m_strides, BLOCK=1024)
    return self


def masked_fill__Scalar(self, mask, value):
    return masked_fill__Tensor(self, mask, torch.full((), value, dtype=self.dtype, device=self.device))
