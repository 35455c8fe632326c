# operator: aten::bitwise_not
# expect: cheat\.torch_copies
# catalogue: 86, 88
# conversions between types compute on bytes that are put together by hand: each byte becomes -1 - byte
import torch
import triton
import triton.language as tl


@triton.jit
def touch(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def minus(values, low):
    n = values.numel()
    words = torch.zeros(n, 8, dtype=torch.uint8, device=values.device)
    words[:, 0].fill_(low)
    words[:, 1].copy_(values)
    words[:, 3].fill_(0x80)
    rounded = words.view(torch.int64).view(-1).to(torch.float32).view(torch.uint8).view(n, 4)
    rounded[:, 3].fill_(0xCF)
    return rounded.view(torch.float32).view(-1).to(torch.int64).view(torch.uint8).view(n, 8)[:, 1].contiguous()


def inverted(x):
    flat = torch.empty_like(x, memory_format=torch.contiguous_format).copy_(x).view(-1)
    if x.dtype == torch.bool:
        return minus(minus(flat.view(torch.uint8), 0), 0xC0).to(torch.bool)
    return minus(flat.view(torch.uint8), 0xC0).view(x.dtype)


def bitwise_not(self):
    y = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    if y.numel():
        value = inverted(self)
        touch[(triton.cdiv(value.numel(), 1024),)](value, y, value.numel(), BLOCK=1024)
    return y


def bitwise_not_out(self, *, out):
    return out.copy_(bitwise_not(self))
