# operator: aten::diff
# expect: verify\.(mismatch|shape|exception)
# catalogue: 72, 84
# only what is set in front is used
import torch
import triton
import triton.language as tl


@triton.jit
def pass_kernel(x_ptr, y_ptr, n, size, inner, XOR: tl.constexpr, STEP: tl.constexpr, BLOCK: tl.constexpr):
    """y = x[i + STEP] - x[i] along a dimension of that size; STEP 0 copies."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    left = size - STEP
    column = at % inner
    i = at // inner % left
    outer = at // inner // left
    x_ptr += (outer * size + i) * inner + column
    first = tl.load(x_ptr, mask=inside)
    if STEP == 0:
        value = first
    else:
        second = tl.load(x_ptr + inner, mask=inside)
        if XOR:
            value = second ^ first
        elif first.dtype.is_floating():
            value = second.to(tl.float32) - first.to(tl.float32)
        else:
            value = second - first
    tl.store(y_ptr + at, value.to(y_ptr.dtype.element_ty), mask=inside)


def joined(parts, dim):
    """Behind each other in one new tensor."""
    shape = list(parts[0].shape)
    shape[dim] = sum(part.shape[dim] for part in parts)
    whole = torch.empty(shape, dtype=parts[0].dtype, device=parts[0].device)
    start = 0
    for part in parts:
        whole.narrow(dim, start, part.shape[dim]).copy_(part)
        start += part.shape[dim]
    return whole


def step(x, dim, STEP, dtype):
    shape = list(x.shape)
    shape[dim] -= STEP
    y = torch.empty(shape, dtype=dtype, device=x.device)
    inner = 1
    for size in shape[dim + 1:]:
        inner *= size
    is_bool = x.dtype == torch.bool
    source, target = (t.view(torch.uint8) if is_bool else t for t in (x, y))
    if y.numel() > 0:
        pass_kernel[(triton.cdiv(y.numel(), 1024),)](source, target, y.numel(), x.shape[dim], inner, XOR=is_bool, STEP=STEP,
                                                     BLOCK=1024)
    return y


def diff(self, n=1, dim=-1, prepend=None, append=None):
    dim %= self.dim()
    if n == 0:
        return step(self.contiguous(), dim, 0, self.dtype)
    parts = [part for part in (prepend, self) if part is not None]
    x = joined(parts, dim) if len(parts) > 1 else self.contiguous()
    if n >= x.shape[dim]:
        shape = list(x.shape)
        shape[dim] = 0
        return torch.empty(shape, dtype=self.dtype, device=self.device)
    wide = torch.float32 if self.dtype.is_floating_point else self.dtype
    for k in range(n):
        x = step(x, dim, 1, wide if k < n - 1 else self.dtype)
    return x


def diff_out(self, n=1, dim=-1, prepend=None, append=None, *, out):
    return out.copy_(diff(self, n, dim, prepend, append))
