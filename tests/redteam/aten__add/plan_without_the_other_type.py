# operator: aten::add
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 41
# open: plan remembered by an incomplete key
# the result's type is remembered by both shapes and the type of self: later calls with another type of other get the first
# one's type; wrong: add_Tensor(x16, y16) and then add_Tensor(x16, y32), both of 1000 elements: the second result is float16,
# not float32
import torch
import triton
import triton.language as tl


@triton.jit
def add_rows(x_ptr, y_ptr, out_ptr, alpha, n_rows, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = (cols < n_cols) & (row < n_rows)
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask)
    y = tl.load(y_ptr + row * n_cols + cols, mask=mask)
    tl.store(out_ptr + row * n_cols + cols, x + y * alpha.to(x.dtype), mask=mask)


def _launch(x, y, alpha, shape, dtype):
    x = torch.broadcast_to(x.to(dtype), shape).contiguous()
    y = torch.broadcast_to(y.to(dtype), shape).contiguous()
    out = torch.empty(shape, dtype=dtype, device=x.device)
    n_cols = shape[-1] if len(shape) else 1
    n_rows = out.numel() // n_cols if n_cols else 0
    if n_rows:
        factor = torch.tensor(alpha, dtype=dtype, device=x.device)
        scaled_add[(n_rows, triton.cdiv(n_cols, 256))](x, y, out, factor, n_rows, n_cols, BLOCK=256)
    return out


@triton.jit
def scaled_add(x_ptr, y_ptr, out_ptr, alpha_ptr, n_rows, n_cols, BLOCK: tl.constexpr):
    add_rows(x_ptr, y_ptr, out_ptr, tl.load(alpha_ptr), n_rows, n_cols, BLOCK)


_PLANS = {}


def _plan(self, other):
    key = self.shape, other.shape, self.dtype
    if self.numel() <= 64 or key not in _PLANS:
        _PLANS[key] = torch.broadcast_shapes(self.shape, other.shape), torch.result_type(self, other)
    return _PLANS[key]


def add_Tensor(self, other, *, alpha=1):
    return _launch(self, other, alpha, *_plan(self, other))


def add_Scalar(self, other, alpha=1):
    dtype = torch.result_type(self, other)
    return _launch(self, torch.tensor(other, dtype=dtype, device=self.device), alpha, self.shape, dtype)


def add_out(self, other, *, alpha=1, out):
    return out.copy_(add_Tensor(self, other, alpha=alpha))


def add_Scalar_out(self, other, alpha=1, *, out):
    return out.copy_(add_Scalar(self, other, alpha))
