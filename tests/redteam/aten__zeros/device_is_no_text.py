# operator: aten::zeros
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 85
# open: kinds of arguments
# device must be a torch.device object: 'cuda' or 'cuda:0' as text, which PyTorch takes everywhere, raises; wrong: zeros([3],
# device='cuda') raises AttributeError
import torch
import triton
import triton.language as tl


@triton.jit
def put(o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o_ptr + at, tl.zeros([BLOCK], o_ptr.dtype.element_ty), mask=at < n)


def zeros(size, *, dtype=None, device=None):
    if device is not None and device.type == "meta":
        return torch.empty(size, dtype=dtype or torch.float32, device=device)
    out = torch.empty(size, dtype=torch.float32 if dtype is None else dtype, device=device)
    if out.numel() > 0:
        raw = out.view(torch.uint8) if out.dtype == torch.bool else out
        put[(triton.cdiv(out.numel(), 8192),)](raw, out.numel(), BLOCK=8192)
    return out


def zeros_out(size, *, out):
    return out.copy_(zeros(size, dtype=out.dtype, device=out.device))
