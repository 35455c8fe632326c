# operator: aten::cumsum
# style: fresh round of 2026-11-30
import torch
import triton
import triton.language as tl


@triton.jit
def _plus(a, b):
    return a + b


@triton.jit
def scan_rows(x_ptr, y_ptr, rows, cols, inner, ACC: tl.constexpr, VIA: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):
    # both tensors are contiguous as (outer, cols, inner); a "row" is one (outer, inner) pair
    r = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    base = (r // inner) * cols * inner + r % inner
    rmask = (r < rows)[:, None]
    carry = tl.zeros([ROWS], dtype=ACC)
    for c0 in range(0, cols, COLS):
        c = c0 + tl.arange(0, COLS)
        at = base[:, None] + c[None, :].to(tl.int64) * inner
        mask = rmask & (c < cols)[None, :]
        v = tl.load(x_ptr + at, mask=mask, other=0).to(VIA).to(ACC)
        s = tl.associative_scan(v, 1, _plus) + carry[:, None]
        tl.store(y_ptr + at, s.to(y_ptr.dtype.element_ty), mask=mask)
        carry += tl.sum(v, axis=1)


_TL = {
    torch.float16: tl.float16, torch.bfloat16: tl.bfloat16, torch.float32: tl.float32, torch.float64: tl.float64,
    torch.int8: tl.int8, torch.int16: tl.int16, torch.int32: tl.int32, torch.int64: tl.int64, torch.uint8: tl.uint8,
}


def _result_type(self, dtype):
    if dtype is not None:
        return dtype
    return self.dtype if self.dtype.is_floating_point else torch.int64


def cumsum(self, dim, *, dtype=None):
    rt = _result_type(self, dtype)
    y = torch.empty(self.shape, dtype=rt, device=self.device)
    if self.numel() == 0:
        return y
    x = self.contiguous()
    shape = list(x.shape) or [1]
    d = dim % len(shape)
    cols, inner, rows = shape[d], 1, 1
    for k, s in enumerate(shape):
        if k > d:
            inner *= s
        if k != d:
            rows *= s
    if rt == torch.float64:
        acc = tl.float64
    elif rt.is_floating_point:
        acc = tl.float32
    else:
        acc = tl.int64
    COLS = min(triton.next_power_of_2(cols), 1024)
    ROWS = max(1, min(triton.next_power_of_2(rows), 2048 // COLS))
    scan_rows[(triton.cdiv(rows, ROWS),)](x, y, rows, cols, inner, ACC=acc, VIA=_TL[rt], ROWS=ROWS, COLS=COLS)
    return y


def cumsum_out(self, dim, *, dtype=None, out):
    return out.copy_(cumsum(self, dim, dtype=out.dtype if dtype is None else dtype))
