# operator: aten::heaviside
# style: host broadcast with expand + contiguous, bool viewed as bytes, block size from a dispatch table
import torch
import triton
import triton.language as tl

_BLOCK_BY_SIZE = {1: 4096, 2: 2048, 4: 1024, 8: 512}


@triton.jit
def heaviside_kernel(x_ptr, v_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask, other=0)
    v = tl.load(v_ptr + at, mask=mask, other=0)
    step = (x > 0).to(y_ptr.dtype.element_ty)  # false for NaN
    tl.store(y_ptr + at, tl.where(x == 0, v, step), mask=mask)


def _bytes(t):
    return t.view(torch.uint8) if t.dtype == torch.bool else t


def _run(self, values, y):
    n = y.numel()
    if n == 0:
        return
    x = self.expand(y.shape).contiguous()
    v = values.expand(y.shape).contiguous()
    block = _BLOCK_BY_SIZE[y.element_size()]
    heaviside_kernel[(triton.cdiv(n, block),)](_bytes(x), _bytes(v), _bytes(y), n, BLOCK=block)


def heaviside(self, values):
    shape = torch.broadcast_shapes(self.shape, values.shape)
    y = torch.empty(shape, dtype=self.dtype, device=self.device)
    _run(self, values, y)
    return y


def heaviside_out(self, values, *, out):
    if out.is_contiguous():
        _run(self, values, out)
    else:
        y = torch.empty(out.shape, dtype=out.dtype, device=out.device)
        _run(self, values, y)
        out.copy_(y)
    return out
