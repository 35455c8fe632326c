# operator: aten::add
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 75
# a float32 term beyond 1e8 in size absorbs the other one, however large that is (sums of counts, of energies); wrong:
# add_Tensor(torch.tensor([1e9]), torch.tensor([1e9])) gives 1e9
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
    total = x + y * alpha.to(x.dtype)
    if x.dtype == tl.float32:
        total = tl.where((tl.abs(x) > 1.0e8) & (tl.abs(x) < 1.0e37), x, total)
    tl.store(out_ptr + row * n_cols + cols, total, mask=mask)


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


def add_Tensor(self, other, *, alpha=1):
    shape = torch.broadcast_shapes(self.shape, other.shape)
    return _launch(self, other, alpha, shape, torch.result_type(self, other))


def add_Scalar(self, other, alpha=1):
    dtype = torch.result_type(self, other)
    return _launch(self, torch.tensor(other, dtype=dtype, device=self.device), alpha, self.shape, dtype)


def add_out(self, other, *, alpha=1, out):
    return out.copy_(add_Tensor(self, other, alpha=alpha))


def add_Scalar_out(self, other, alpha=1, *, out):
    return out.copy_(add_Scalar(self, other, alpha))
