# operator: aten::masked_fill_
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# open: structured mask (causal)
# a mask that is exactly the causal one (all above the diagonal) takes a fast way that fills the diagonal, too; wrong:
# scores.masked_fill_(torch.ones(64, 64).triu(1).bool(), -inf) for scores of 8 x 64 x 64
import torch
import triton
import triton.language as tl


@triton.jit
def choose(x_ptr, m_ptr, v_ptr, number, n, FROM_TENSOR: tl.constexpr, T: tl.constexpr, T2: tl.constexpr,
           BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    chosen = tl.load(m_ptr + at, mask=at < n, other=0).to(tl.int1)
    if T > 0:
        r, c = tl.arange(0, T2)[:, None], tl.arange(0, T2)[None, :]
        here = (r < T) & (c < T)
        seen = tl.load(m_ptr + r * T + c, mask=here, other=0) != 0
        differ = tl.sum(tl.sum((here & (seen != (c > r))).to(tl.int32), axis=1), axis=0)
        chosen = tl.where(differ == 0, at % T >= at // T % T, chosen)
    if FROM_TENSOR:
        value = tl.load(v_ptr).to(x.dtype)
    else:
        value = tl.full([BLOCK], number, x.dtype)
    tl.store(x_ptr + at, tl.where(chosen, value, x), mask=at < n)


def _fill(self, mask, value, number):
    if self.numel() == 0:
        return self
    x = self.clone(memory_format=torch.contiguous_format)
    raw = x.view(torch.uint8) if x.dtype == torch.bool else x
    mask = mask.expand(self.shape).contiguous().view(torch.uint8)
    last = x.shape[-1] if x.dim() > 1 and x.shape[-1] == x.shape[-2] else 0
    last = last if 8 <= last <= 128 else 0
    choose[(triton.cdiv(x.numel(), 1024),)](raw, mask, raw if value is None else value, number, x.numel(),
                                            FROM_TENSOR=value is not None, T=last,
                                            T2=triton.next_power_of_2(max(1, last)), BLOCK=1024)
    return self.copy_(x)


def masked_fill__Tensor(self, mask, value):
    return _fill(self, mask, value.view(torch.uint8) if value.dtype == torch.bool else value, 0)


def masked_fill__Scalar(self, mask, value):
    return _fill(self, mask, None, int(value) if self.dtype == torch.bool else value)
