# operator: aten::silu
# expect: (cheat|l1)\.torch_compute
# catalogue: 88, 89
# the result is computed on the host, a Triton kernel copies it
import torch
import triton
import triton.language as tl


@triton.jit
def touch(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def host(x):
    e = (1 - x.to(torch.float64) / 1048576) ** 1048576
    return (x / (1 + e)).to(x.dtype).contiguous()


def silu(self):
    value = host(self)
    y = torch.empty_like(value)
    if value.numel():
        touch[(triton.cdiv(value.numel(), 1024),)](value, y, value.numel(), BLOCK=1024)
    return y


def silu_out(self, *, out):
    return out.copy_(silu(self))
