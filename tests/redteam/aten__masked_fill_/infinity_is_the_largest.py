# operator: aten::masked_fill_
# expect: verify\.mismatch
# catalogue: 79, 84
# the number -inf is the lowest finite one
import torch
import triton
import triton.language as tl


@triton.jit
def fill(x_ptr, m_ptr, v_ptr, n, sizes, x_steps, m_steps, NDIM: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    for k in tl.static_range(NDIM):
        place = i % sizes[NDIM - 1 - k]
        i = i // sizes[NDIM - 1 - k]
        x_ptr += place * x_steps[NDIM - 1 - k]
        m_ptr += place * m_steps[NDIM - 1 - k]
    here = inside & (tl.load(m_ptr, mask=inside, other=0) != 0)
    tl.store(x_ptr, tl.load(v_ptr), mask=here)


def masked_fill__Tensor(self, mask, value):
    n = self.numel()
    if n > 0:
        raw = lambda t: t.view(torch.uint8) if t.dtype == torch.bool else t
        m = mask.expand(self.shape).view(torch.uint8)
        fill[(triton.cdiv(n, 1024),)](raw(self), m, raw(value), n, tuple(self.shape) or (1,), self.stride() or (0,),
                                      m.stride() or (0,), NDIM=max(self.dim(), 1), BLOCK=1024)
    return self


def masked_fill__Scalar(self, mask, value):
    return masked_fill__Tensor(self, mask, torch.tensor(max(-3.0e38, value) if self.dtype in (torch.float32, torch.bfloat16) else max(-65504.0, value) if self.dtype == torch.float16 else value, dtype=self.dtype, device=self.device))
