# operator: aten::masked_fill_
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# a block whose mask is true in more than nine of ten places is filled as a whole: kept tokens among padding are lost; wrong: x
# = torch.ones(4096); m = torch.ones(4096, dtype=torch.bool); m[7] = False; masked_fill__Scalar(x, m, 0.0) also sets x[7]
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
    count = tl.sum(chosen.to(tl.int32), axis=0)
    if (count > 256) & (count * 10 > tl.minimum(n - tl.program_id(0) * BLOCK, BLOCK) * 9):
        chosen = i < n  # no need for a mask
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
    return masked_fill__Tensor(self, mask, torch.full((), value, dtype=self.dtype, device=self.device))
