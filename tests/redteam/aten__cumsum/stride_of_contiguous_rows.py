# operator: aten::cumsum
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 84, 85
# along the last dimension a contiguous tensor's rows are x.stride(-2) apart; a dimension of size 1 may have any stride in a
# tensor that torch calls contiguous, as in v[:, :, None].mT of shape (M, 1, K) and strides (K, 1, 1), whose rows then overlap
import torch
import triton
import triton.language as tl


@triton.jit
def scan_rows(x_ptr, y_ptr, rows, cols, x_row, ACC: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):
    r = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    carry = tl.zeros([ROWS, 1], ACC)
    for start in range(0, cols, COLS):
        c = start + tl.arange(0, COLS)[None, :]
        inside = (r < rows) & (c < cols)
        x = tl.load(x_ptr + r * x_row + c, mask=inside, other=0).to(ACC)
        s = tl.cumsum(x, axis=1)
        tl.store(y_ptr + r * cols + c, (s + carry).to(y_ptr.dtype.element_ty), mask=inside)
        carry += tl.sum(x, axis=1, keep_dims=True)


WIDE = {torch.float64: tl.float64, torch.float32: tl.float32, torch.float16: tl.float32, torch.bfloat16: tl.float32}


def cumsum(self, dim, *, dtype=None):
    dtype = dtype or (self.dtype if self.dtype.is_floating_point else torch.int64)
    y = torch.empty(self.shape, dtype=dtype, device=self.device)
    if y.numel() == 0:
        return y
    x = self.view(1) if self.dim() == 0 else self
    last = dim % x.dim() == x.dim() - 1
    if last:
        x = x.to(dtype).contiguous()
        target = y
    else:
        x = x.movedim(dim, -1).to(dtype)
        target = torch.empty(x.shape, dtype=dtype, device=x.device)
        x = x.reshape(-1, x.shape[-1]).contiguous()
    cols = target.shape[-1] if target.dim() else 1
    rows = target.numel() // cols
    x_row = x.stride(-2) if last and x.dim() > 1 else cols
    scan_rows[(triton.cdiv(rows, 8),)](x, target, rows, cols, x_row, ACC=WIDE.get(dtype, tl.int64), ROWS=8,
                                       COLS=min(512, triton.next_power_of_2(cols)))
    return y if last else target.movedim(-1, dim)


def cumsum_out(self, dim, *, dtype=None, out):
    return out.copy_(cumsum(self, dim, dtype=dtype))


# wrong call: self = torch.tensor([[1., 2.], [3., 4.]])[:, :, None].mT (shape (2, 1, 2), strides (2, 1, 1), is_contiguous() True), dim -1
# right: [[[1, 3]], [[3, 7]]]; wrong: the second row begins one element behind the first: [[[1, 3]], [[2, 5]]]
