# operator: aten::_to_copy
# expect: cheat\.(torch_copies|ghost)
# catalogue: 88, 89
# torch converts, the kernel copies
import torch
import triton
import triton.language as tl


@triton.jit
def pass_on(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def through_kernel(x):
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if y.numel() > 0:
        raw = x.view(torch.uint8) if x.dtype == torch.bool else x
        pass_on[(triton.cdiv(y.numel(), 1024),)](raw, y.view(raw.dtype), y.numel(), BLOCK=1024)
    return y


def _to_copy(self, *, dtype=None, layout=None, device=None, pin_memory=None, non_blocking=False, memory_format=None):
    return through_kernel(self.to(dtype or self.dtype).contiguous())


def _to_copy_out(self, *, non_blocking=False, memory_format=None, out):
    return out.copy_(through_kernel(self.to(out.dtype).contiguous()))
