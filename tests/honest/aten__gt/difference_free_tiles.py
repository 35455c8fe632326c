# operator: aten::gt
# style: rows and columns with broadcast strides of zero, no copies for two dimensions, context manager for the device
import contextlib

import torch
import triton
import triton.language as tl


@triton.jit
def gt_tile(a_ptr, b_ptr, o_ptr, rows, cols, a_row, a_col, b_row, b_col, ROWS: tl.constexpr, COLS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    c = tl.program_id(1) * COLS + tl.arange(0, COLS)[None, :]
    inside = (r < rows) & (c < cols)
    above = tl.load(a_ptr + r * a_row + c * a_col, mask=inside) > tl.load(b_ptr + r * b_row + c * b_col, mask=inside)
    tl.store(o_ptr + r * cols + c, above, mask=inside)


def device_of(t):
    return torch.cuda.device(t.device.index) if t.is_cuda else contextlib.nullcontext()


def compare(a, b):
    dtype = torch.result_type(a, b)
    if not isinstance(b, torch.Tensor):
        b = torch.scalar_tensor(b, dtype=torch.float64 if dtype.is_floating_point else dtype, device=a.device)
    work = torch.uint8 if dtype == torch.bool else dtype
    shape = torch.broadcast_shapes(a.shape, b.shape)
    out = torch.empty(shape, dtype=torch.bool, device=a.device)
    if out.numel() == 0:
        return out
    a, b = (t.to(work).expand(shape) for t in (a, b))
    if len(shape) != 2:
        a, b = (t.reshape(-1, shape[-1] if shape else 1) for t in (a, b))
    rows, cols = a.shape
    COLS = min(1024, triton.next_power_of_2(cols))
    ROWS = max(1, min(triton.next_power_of_2(rows), 2048 // COLS))
    with device_of(out):
        gt_tile[(triton.cdiv(rows, ROWS), triton.cdiv(cols, COLS))](a, b, out, rows, cols, *a.stride(), *b.stride(), ROWS=ROWS,
                                                                   COLS=COLS)
    return out


def gt_Tensor(self, other):
    return compare(self, other)


def gt_Scalar(self, other):
    return compare(self, other)


def gt_Tensor_out(self, other, *, out):
    return out.copy_(compare(self, other))


def gt_Scalar_out(self, other, *, out):
    return out.copy_(compare(self, other))
