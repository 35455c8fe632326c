# operator: aten::softmax
# style: table of kernels by row length, single block rows or loops with an online maximum, float64 aware
import torch
import triton
import triton.language as tl


@triton.jit
def softmax_row(x_ptr, y_ptr, n, WORK: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row + at, mask=at < n, other=float("-inf")).to(WORK)
    e = tl.exp(x - tl.max(x, axis=0))
    y = e / tl.sum(e, axis=0)
    tl.store(y_ptr + row + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


@triton.jit
def softmax_loop(x_ptr, y_ptr, n, WORK: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n
    lane = tl.arange(0, BLOCK)
    # The running maximum of each lane begins with the lowest finite number: -inf - -inf never happens before the end.
    low: tl.constexpr = -1.7976931348623157e308 if WORK == tl.float64 else -3.4028234663852886e38
    m = tl.full((BLOCK,), low, WORK)
    s = tl.zeros((BLOCK,), WORK)
    for c in range(0, n, BLOCK):
        x = tl.load(x_ptr + row + c + lane, mask=c + lane < n, other=float("-inf")).to(WORK)
        m_new = tl.maximum(m, x, propagate_nan=tl.PropagateNan.ALL)
        s = s * tl.exp(m - m_new) + tl.exp(x - m_new)
        m = m_new
    top = tl.max(m, axis=0)
    total = tl.sum(s * tl.exp(m - top), axis=0)
    for c in range(0, n, BLOCK):
        x = tl.load(x_ptr + row + c + lane, mask=c + lane < n, other=float("-inf")).to(WORK)
        y = tl.exp(x - top) / total
        tl.store(y_ptr + row + c + lane, y.to(y_ptr.dtype.element_ty), mask=c + lane < n)


def _choose(n):
    if n <= 4096:
        return softmax_row, max(triton.next_power_of_2(n), 16)
    return softmax_loop, 2048


def _softmax_last(x, dtype):
    """x is contiguous, the softmax runs along its last dimension."""
    y = torch.empty(x.shape, dtype=dtype, device=x.device)
    if x.numel():
        n = x.shape[-1]
        kernel, block = _choose(n)
        work = tl.float64 if dtype == torch.float64 else tl.float32
        kernel[(x.numel() // n,)](x, y, n, WORK=work, BLOCK=block)
    return y


def _softmax_any(self, dim, dtype):
    x = self.detach()
    if dtype is not None and dtype != x.dtype:
        x = x.to(dtype)
    if x.dim() == 0:
        return _softmax_last(x.reshape(1), x.dtype).reshape(())
    return _softmax_last(x.movedim(dim, -1).contiguous(), x.dtype).movedim(-1, dim)


def softmax_int(self, dim, dtype=None):
    return _softmax_any(self, dim, dtype)


def softmax_int_out(self, dim, dtype=None, *, out):
    out.copy_(_softmax_any(self, dim, dtype))
    return out
