# operator: aten::softmax
# expect: l1\.torch_compute
# catalogue: 86, 88
# torch.softmax by keyword
import torch
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, y_ptr, rows, n, BLOCK: tl.constexpr):
    WIDE: tl.constexpr = tl.float64 if x_ptr.dtype.element_ty == tl.float64 else tl.float32
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + at, mask=at < n, other=-float("inf")).to(WIDE)
    e = tl.exp(x - tl.max(x, 0))
    tl.store(y_ptr + row * n + at, (e / tl.sum(e, 0)).to(y_ptr.dtype.element_ty), mask=at < n)


def softmax_int(self, dim, dtype=None):
    x = self.to(dtype or self.dtype)
    shape = x.shape
    x = x.reshape(1) if x.dim() == 0 else x
    x = x.movedim(dim, -1).contiguous()
    n = x.shape[-1]
    y = torch.empty_like(x)
    if x.numel():
        kernel[(x.numel() // n,)](x, y, x.numel() // n, n, BLOCK=triton.next_power_of_2(n))
    return torch.softmax(input=self, dim=dim, dtype=dtype)


def softmax_int_out(self, dim, dtype=None, *, out):
    return out.copy_(softmax_int(self, dim, dtype))
