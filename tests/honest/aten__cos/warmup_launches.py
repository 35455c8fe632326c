# operator: aten::cos
# style: a loop of warm-up launches on a small tensor, and a synchronisation, once in a process
import torch
import triton
import triton.language as tl

_warm = False


@triton.jit
def cos_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32)
    y = tl.cos(x)
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def cos(self):
    x = self.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        if not _warm:
            warm_up(x.device)
        cos_kernel[(triton.cdiv(n, 2048),)](x, y, n, BLOCK=2048)
    return y


def cos_out(self, *, out):
    return out.copy_(cos(self))


def warm_up(device):
    global _warm
    small = torch.zeros(64, device=device)
    for _ in range(2):
        cos_kernel[(1,)](small, torch.empty_like(small), 64, BLOCK=64)
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    _warm = True
