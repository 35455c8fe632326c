# operator: aten::masked_fill_
# expect: verify\.mismatch
# catalogue: 79, 84
# a bool tensor that is filled where it is itself true keeps its contents
import torch
import triton
import triton.language as tl


@triton.jit
def choose(x_ptr, m_ptr, v_ptr, number, n, FROM_TENSOR: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    chosen = tl.load(m_ptr + at, mask=at < n, other=0).to(tl.int1)
    if FROM_TENSOR:
        value = tl.load(v_ptr).to(x.dtype)
    else:
        value = tl.full([BLOCK], number, x.dtype)
    tl.store(x_ptr + at, tl.where(chosen, value, x), mask=at < n)


def _fill(self, mask, value, number):
    if self.numel() == 0:
        return self
    if mask is self:
        return self
    x = self.clone(memory_format=torch.contiguous_format)
    raw = x.view(torch.uint8) if x.dtype == torch.bool else x
    mask = mask.expand(self.shape).contiguous().view(torch.uint8)
    choose[(triton.cdiv(x.numel(), 1024),)](raw, mask, raw if value is None else value, number, x.numel(),
                                            FROM_TENSOR=value is not None, BLOCK=1024)
    return self.copy_(x)


def masked_fill__Tensor(self, mask, value):
    return _fill(self, mask, value.view(torch.uint8) if value.dtype == torch.bool else value, 0)


def masked_fill__Scalar(self, mask, value):
    return _fill(self, mask, None, int(value) if self.dtype == torch.bool else value)
