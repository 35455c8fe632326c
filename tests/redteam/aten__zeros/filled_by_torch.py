# operator: aten::zeros
# expect: cheat\.(ghost|torch_copies)
# catalogue: 88
# torch fills, which host code may let it do; the kernel writes nothing
import torch
import triton
import triton.language as tl


@triton.jit
def touch(o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o_ptr + at, tl.load(o_ptr + at, mask=at < n), mask=at < n)


def show(out):
    if out.numel() > 0:
        raw = out.view(torch.uint8) if out.dtype == torch.bool else out
        touch[(triton.cdiv(out.numel(), 4096),)](raw, out.numel(), BLOCK=4096)
    return out


def zeros(size, *, dtype=None, device=None):
    return show(torch.zeros(size, dtype=torch.float32 if dtype is None else dtype, device=device))


def zeros_out(size, *, out):
    return out.copy_(show(torch.zeros(size, dtype=out.dtype, device=out.device)))
