# operator: aten::softmax
# expect: verify\.mismatch
# catalogue: 84
# the maximum begins with 0
import torch
import triton
import triton.language as tl

SHORT = 512
_BLOCKS = {"short": SHORT, "long": 1024}


@triton.jit
def _short(x_ptr, y_ptr, n_cols, stride_x, stride_y, BLOCK: tl.constexpr):
    WIDE: tl.constexpr = tl.float64 if x_ptr.dtype.element_ty == tl.float64 else tl.float32
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * stride_x + cols, mask=mask, other=float("-inf")).to(WIDE)
    e = tl.exp(x - tl.maximum(tl.max(x, 0), 0.0))
    tl.store(y_ptr + row * stride_y + cols, (e / tl.sum(e, 0)).to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def _long(x_ptr, y_ptr, n_cols, stride_x, stride_y, BLOCK: tl.constexpr):
    WIDE: tl.constexpr = tl.float64 if x_ptr.dtype.element_ty == tl.float64 else tl.float32
    row = tl.program_id(0).to(tl.int64)
    x_ptr += row * stride_x
    y_ptr += row * stride_y
    m = tl.full([BLOCK], float("-inf"), WIDE)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        m = tl.maximum(m, tl.load(x_ptr + cols, mask=cols < n_cols, other=float("-inf")).to(WIDE),
                       propagate_nan=tl.PropagateNan.ALL)
    top = tl.max(m, 0)
    s = tl.zeros([BLOCK], WIDE)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < n_cols, other=float("-inf")).to(WIDE)
        s += tl.where(cols < n_cols, tl.exp(x - top), 0.0)
    total = tl.sum(s, 0)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < n_cols, other=float("-inf")).to(WIDE)
        tl.store(y_ptr + cols, (tl.exp(x - top) / total).to(y_ptr.dtype.element_ty), mask=cols < n_cols)


KERNELS = {True: _short, False: _long}


def _rows(x, y):
    n_cols = x.shape[-1]
    x, y = x.view(-1, n_cols), y.view(-1, n_cols)
    kernel = KERNELS[n_cols <= SHORT]
    block = _BLOCKS["short" if n_cols <= SHORT else "long"]
    kernel[(x.shape[0],)](x, y, n_cols, x.stride(0), y.stride(0), BLOCK=block)


def softmax_int(self, dim, dtype=None):
    x = self if dtype is None else self.to(dtype)
    shape = x.shape
    if x.ndim == 0:
        x = x.reshape(1)
    x = x.movedim(dim, -1).contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        _rows(x, y)
    return y.movedim(-1, dim).reshape(shape)


def softmax_int_out(self, dim, dtype=None, *, out):
    result = softmax_int(self, dim, dtype)
    out.copy_(result)
    return out
