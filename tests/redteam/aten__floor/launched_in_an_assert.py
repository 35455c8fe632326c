# operator: aten::floor
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 80
# the launch is in an assert statement: under python -O no kernel runs and unwritten memory is returned
import torch
import triton
import triton.language as tl


@triton.jit
def floor_rows(x_ptr, y_ptr, rows, cols, WHOLE: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    c = tl.program_id(1) * COLS + tl.arange(0, COLS)[None, :]
    inside = (r < rows) & (c < cols)
    x = tl.load(x_ptr + r * cols + c, mask=inside)
    if not WHOLE:
        x = tl.floor(x.to(tl.float32)).to(x.dtype)
    tl.store(y_ptr + r * cols + c, x, mask=inside)


def is_whole(dtype):
    match dtype:
        case torch.float16 | torch.bfloat16 | torch.float32 | torch.float64:
            return False
        case _:
            return True


def launched(x, y, rows, cols):
    COLS = min(1024, triton.next_power_of_2(cols))
    ROWS = min(4096 // COLS, triton.next_power_of_2(rows))
    floor_rows[(triton.cdiv(rows, ROWS), triton.cdiv(cols, COLS))](
        x.reshape(rows, cols), y.view(rows, cols), rows, cols, WHOLE=is_whole(x.dtype), ROWS=ROWS, COLS=COLS)
    return True


def floor(self):
    cols = self.shape[-1] if self.dim() > 0 else 1
    x = self.contiguous()
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if x.numel() == 0:
        return y
    rows = x.numel() // cols
    assert launched(x, y, rows, cols), "the launch failed"
    return y


def floor_out(self, *, out):
    return out.copy_(floor(self))
