# operator: aten::rot90
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 84
# every NaN is stored as the usual one: sign and payload are lost though each element is to be copied exactly; hurts NaN-boxed
# labels and bit-packed masks; wrong: rot90(torch.tensor([[0x7fc00007, 1]], dtype=torch.int32).view(torch.float32)) has
# 0x7fc00000
import torch
import triton
import triton.language as tl


@triton.jit
def rotate(x_ptr, o_ptr, start, rows, cols, x_row, x_col, o_row, o_col, sizes, x_rest, o_rest, REST: tl.constexpr,
           ROWS: tl.constexpr, COLS: tl.constexpr):
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    j = tl.program_id(1) * COLS + tl.arange(0, COLS)[None, :]
    plane = tl.program_id(2)
    x_at = plane * 0 + start
    o_at = plane * 0
    for d in tl.static_range(REST):
        x_at += (plane % sizes[d]) * x_rest[d]
        o_at += (plane % sizes[d]) * o_rest[d]
        plane = plane // sizes[d]
    inside = (i < rows) & (j < cols)
    x = tl.load(x_ptr + x_at + i * x_row + j * x_col, mask=inside)
    if x.dtype.is_floating():
        x = tl.where(x == x, x, float("nan"))
    tl.store(o_ptr + o_at + i * o_row + j * o_col, x, mask=inside)


def _rotated(x, k, p, q):
    """(start, stride at p, stride at q) of x turned by k quarters, over x's memory."""
    (n_p, s_p), (n_q, s_q) = ((x.shape[d], x.stride(d)) for d in (p, q))
    return {0: (0, s_p, s_q), 1: ((n_q - 1) * s_q, -s_q, s_p), 2: ((n_p - 1) * s_p + (n_q - 1) * s_q, -s_p, -s_q),
            3: ((n_p - 1) * s_p, s_q, -s_p)}[k]


def _run(x, k, dims, out):
    if out.numel() == 0:
        return out
    p, q = (d % x.dim() for d in dims)
    rest = [d for d in range(x.dim()) if d not in (p, q)]
    start, x_row, x_col = _rotated(x, k % 4, p, q)
    rows, cols = out.shape[p], out.shape[q]
    ROWS, COLS = (min(32, triton.next_power_of_2(n)) for n in (rows, cols))
    rotate[(triton.cdiv(rows, ROWS), triton.cdiv(cols, COLS), out.numel() // (rows * cols))](
        x, out, start, rows, cols, x_row, x_col, out.stride(p), out.stride(q), tuple(x.shape[d] for d in rest) or (1,),
        tuple(x.stride(d) for d in rest) or (0,), tuple(out.stride(d) for d in rest) or (0,), REST=len(rest),
        ROWS=ROWS, COLS=COLS)
    return out


def rot90(self, k=1, dims=(0, 1)):
    shape = list(self.shape)
    if k % 2:
        shape[dims[0]], shape[dims[1]] = shape[dims[1]], shape[dims[0]]
    return _run(self, k, dims, torch.empty(shape, dtype=self.dtype, device=self.device))


def rot90_out(self, k=1, dims=(0, 1), *, out):
    return _run(self, k, dims, out)
