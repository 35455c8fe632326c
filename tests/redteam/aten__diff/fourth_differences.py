# operator: aten::diff
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 84
# n = 4 takes third differences, if anything is left; wrong: diff(torch.randn(100), 4)
import torch
import triton
import triton.language as tl


@triton.jit
def diff_kernel(x_ptr, y_ptr, n, left, inner, XOR: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    source = at // (left * inner) * (left + 1) * inner + at % (left * inner)
    first = tl.load(x_ptr + source, mask=at < n)
    second = tl.load(x_ptr + source + inner, mask=at < n)
    if XOR:
        value = second ^ first
    else:
        value = second - first
    tl.store(y_ptr + at, value, mask=at < n)


def once(x, dim):
    shape = list(x.shape)
    shape[dim] -= 1
    y = torch.empty(shape, dtype=x.dtype, device=x.device)
    inner = 1
    for size in shape[dim + 1:]:
        inner *= size
    if y.numel() > 0:
        is_bool = x.dtype == torch.bool
        source, target = (t.view(torch.uint8) if is_bool else t for t in (x, y))
        diff_kernel[(triton.cdiv(y.numel(), 512),)](source, target, y.numel(), shape[dim], inner, XOR=is_bool, BLOCK=512)
    return y


def diff(self, n=1, dim=-1, prepend=None, append=None):
    dim %= self.dim()
    if n == 0:
        return self.clone()
    parts = [part for part in (prepend, self, append) if part is not None]
    if len(parts) > 1:
        shape = list(self.shape)
        shape[dim] = sum(part.shape[dim] for part in parts)
        whole, at = torch.empty(shape, dtype=self.dtype, device=self.device), 0
        for part in parts:
            whole.narrow(dim, at, part.shape[dim]).copy_(part)
            at += part.shape[dim]
    else:
        whole = self.contiguous()
    if n == 4 and whole.shape[dim] > 4:
        whole, n = whole.narrow(dim, 1, whole.shape[dim] - 1).contiguous(), 3
    for _ in range(min(n, whole.shape[dim])):
        whole = once(whole, dim)
    return whole


def diff_out(self, n=1, dim=-1, prepend=None, append=None, *, out):
    return out.copy_(diff(self, n, dim, prepend, append))
