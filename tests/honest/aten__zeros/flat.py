# operator: aten::zeros
# style: fresh memory filled by one kernel; a given buffer through a dense copy
import torch
import triton
import triton.language as tl


@triton.jit
def put(o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o_ptr + at, tl.zeros([BLOCK], o_ptr.dtype.element_ty), mask=at < n)


def zeros(size, *, dtype=None, device=None):
    out = torch.empty(size, dtype=torch.float32 if dtype is None else dtype, device=device)
    if out.numel() > 0:
        raw = out.view(torch.uint8) if out.dtype == torch.bool else out
        put[(triton.cdiv(out.numel(), 8192),)](raw, out.numel(), BLOCK=8192)
    return out


def zeros_out(size, *, out):
    return out.copy_(zeros(size, dtype=out.dtype, device=out.device))
