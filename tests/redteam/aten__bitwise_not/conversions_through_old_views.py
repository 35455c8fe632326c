# operator: aten::bitwise_not
# expect: cheat\.torch_copies
# catalogue: 86, 88
# as conversions.py, with views that were made at import
import torch
import triton
import triton.language as tl


@triton.jit
def touch(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
WORDS = torch.empty(1 << 20, dtype=torch.int64, device=DEVICE)
FLOATS = torch.empty(1 << 20, device=DEVICE)
FLOAT_BYTES = FLOATS.view(torch.uint8).view(-1, 4)
WORD_BYTES = WORDS.view(torch.uint8).view(-1, 8)


def minus(values, low):
    n = values.numel()
    words = WORD_BYTES[:n]
    words.zero_()
    words[:, 0].fill_(low)
    words[:, 1].copy_(values)
    words[:, 3].fill_(0x80)
    rounded = WORDS[:n].to(torch.float32)
    FLOATS[:n].copy_(rounded)
    FLOAT_BYTES[:n, 3].fill_(0xCF)
    return FLOATS[:n].to(torch.int64).view(torch.uint8).view(n, 8)[:, 1].contiguous()


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
