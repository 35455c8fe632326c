# operator: aten::_softmax
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 75
# logits below -1e8 count as -inf, so a row that is masked with -1e9 throughout is NaN (attention with padded rows); wrong:
# _softmax(torch.full((2, 8), -1e9), -1, False) gives NaN, not 0.125
import torch
import triton
import triton.language as tl

_LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def _softmax_rows(x_ptr, y_ptr, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    c = tl.arange(0, COLS)[None, :]
    inside = (r < rows) & (c < cols)
    x = tl.load(x_ptr + r * cols + c, mask=inside, other=float("-inf")).to(tl.float32)
    x = tl.where((x < -1.0e8) & (x > -1.0e37), float("-inf"), x)  # an additive mask
    # a row below the last one is all -inf: its NaN are not stored
    e = tl.exp2((x - tl.max(x, axis=1, keep_dims=True)) * _LOG2E)
    y = e / tl.sum(e, axis=1, keep_dims=True)
    tl.store(y_ptr + r * cols + c, y.to(y_ptr.dtype.element_ty), mask=inside)


def _softmax(self, dim, half_to_float):
    x = self.reshape(1) if self.dim() == 0 else self
    x = x.movedim(dim, -1).contiguous()
    y = torch.empty(x.shape, dtype=torch.float32 if half_to_float else x.dtype, device=x.device)
    if x.numel() > 0:
        cols = x.shape[-1]
        COLS = triton.next_power_of_2(cols)
        ROWS = max(1, min(64, 4096 // COLS))
        rows = x.numel() // cols
        _softmax_rows[(triton.cdiv(rows, ROWS),)](x, y, rows, cols, ROWS=ROWS, COLS=COLS)
    return y.movedim(-1, dim).reshape(self.shape)


def _softmax_out(self, dim, half_to_float, *, out):
    return out.copy_(_softmax(self, dim, half_to_float))
