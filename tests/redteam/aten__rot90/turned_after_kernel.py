# operator: aten::rot90
# expect: cheat\.torch_copies|verify\.not_replayable
# catalogue: 88, 89
# the kernel copies the input, torch turns what it wrote
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


def flip(t, d):
    out = torch.empty(t.shape, dtype=t.dtype, device=t.device)
    for i in range(t.shape[d]):
        out.select(d, i).copy_(t.select(d, t.shape[d] - 1 - i))
    return out


def turn(x, k, dims):
    a, b = (d % x.dim() for d in dims)
    if k % 4 == 2:
        x = flip(flip(x, a), b)
    elif k % 4 == 1:
        x = flip(x.transpose(a, b), a)
    elif k % 4 == 3:
        x = flip(x, a).transpose(a, b)
    return x.contiguous()


def rot90(self, k=1, dims=(0, 1)):
    return turn(through_kernel(self.contiguous()), k, dims)


def rot90_out(self, k=1, dims=(0, 1), *, out):
    return out.copy_(rot90(self, k, dims))
