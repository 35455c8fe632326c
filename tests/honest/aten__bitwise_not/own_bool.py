# operator: aten::bitwise_not
# style: bool through a view as bytes, branch on a constexpr, persistent grid, out written through its strides
import torch
import triton
import triton.language as tl

PROGRAMS = 4
BLOCK = 2048


@triton.jit
def invert(x_ptr, y_ptr, n, rows_stride, columns, column_stride, IS_BOOL: tl.constexpr, BLOCK: tl.constexpr):
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < n)
        to = (at // columns) * rows_stride + (at % columns) * column_stride
        if IS_BOOL:
            tl.store(y_ptr + to, x ^ 1, mask=at < n)
        else:
            tl.store(y_ptr + to, ~x, mask=at < n)


def _plane(y):
    """As a matrix (rows, columns), if its memory allows it."""
    if y.is_contiguous():
        return y.view(1, -1)
    return y if y.dim() == 2 else None


def _bytes(x):
    return x.view(torch.uint8) if x.dtype == torch.bool else x


def _run(x, y):
    plane = _plane(y)
    invert[(PROGRAMS,)](_bytes(x.contiguous()), _bytes(plane), x.numel(), plane.stride(0), plane.shape[1], plane.stride(1),
                        IS_BOOL=x.dtype == torch.bool, BLOCK=BLOCK)


def bitwise_not(self):
    y = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    if self.numel() > 0:
        _run(self, y)
    return y


def bitwise_not_out(self, *, out):
    if out.numel() > 0:
        if _plane(out) is None:
            out.copy_(bitwise_not(self))
        else:
            _run(self, out)
    return out
