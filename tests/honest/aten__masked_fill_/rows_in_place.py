# operator: aten::masked_fill_
# style: in place through eight padded strides, pointer advanced dimension by dimension, scalar tensor loaded in the kernel
import torch
import triton
import triton.language as tl


@triton.jit
def fill(x_ptr, m_ptr, v_ptr, n, s1, s2, s3, s4, s5, s6, s7, x0, x1, x2, x3, x4, x5, x6, x7,
         m0, m1, m2, m3, m4, m5, m6, m7, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    x_ptr += i % s7 * x7
    m_ptr += i % s7 * m7
    i = i // s7
    x_ptr += i % s6 * x6
    m_ptr += i % s6 * m6
    i = i // s6
    x_ptr += i % s5 * x5
    m_ptr += i % s5 * m5
    i = i // s5
    x_ptr += i % s4 * x4
    m_ptr += i % s4 * m4
    i = i // s4
    x_ptr += i % s3 * x3
    m_ptr += i % s3 * m3
    i = i // s3
    x_ptr += i % s2 * x2
    m_ptr += i % s2 * m2
    i = i // s2
    x_ptr += i % s1 * x1 + i // s1 * x0
    m_ptr += i % s1 * m1 + i // s1 * m0
    here = inside & (tl.load(m_ptr, mask=inside, other=0) != 0)
    tl.store(x_ptr, tl.load(v_ptr), mask=here)


def eight(values, fill):
    return [fill] * (8 - len(values)) + list(values)


def masked_fill__Tensor(self, mask, value):
    n = self.numel()
    if n > 0:
        raw = lambda t: t.view(torch.uint8) if t.dtype == torch.bool else t
        m = mask.expand(self.shape).view(torch.uint8)
        fill[(triton.cdiv(n, 1024),)](raw(self), m, raw(value), n, *eight(self.shape, 1)[1:], *eight(self.stride(), 0),
                                      *eight(m.stride(), 0), BLOCK=1024)
    return self


def masked_fill__Scalar(self, mask, value):
    return masked_fill__Tensor(self, mask, torch.tensor(value, dtype=self.dtype, device=self.device))
