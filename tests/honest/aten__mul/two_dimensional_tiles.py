# operator: aten::mul
# style: last two dimensions as tiles with strides, a third in the grid; scalars as 0-dimensional tensors; static methods
import torch
import triton
import triton.language as tl


@triton.jit
def mul_tile(a_ptr, b_ptr, o_ptr, rows, cols, a_plane, a_row, a_col, b_plane, b_row, b_col, ACC: tl.constexpr,
             ROWS: tl.constexpr, COLS: tl.constexpr):
    plane = tl.program_id(0)
    r = tl.program_id(1) * ROWS + tl.arange(0, ROWS)[:, None]
    c = tl.program_id(2) * COLS + tl.arange(0, COLS)[None, :]
    inside = (r < rows) & (c < cols)
    a = tl.load(a_ptr + plane * a_plane + r * a_row + c * a_col, mask=inside, other=0)
    b = tl.load(b_ptr + plane * b_plane + r * b_row + c * b_col, mask=inside, other=0)
    product = (a.to(ACC) * b.to(ACC)).to(o_ptr.dtype.element_ty)
    tl.store(o_ptr + (plane * rows + r) * cols + c, product, mask=inside)


class Multiply:
    @staticmethod
    def planes(t, shape):
        """t seen as (planes, rows, cols), with a copy only where strides do not allow it."""
        t = t.expand(shape)
        t = t.reshape((1,) * (3 - t.dim()) + tuple(t.shape)) if t.dim() < 3 else t
        return t if t.dim() == 3 else t.reshape(1, -1, t.shape[-1])

    @staticmethod
    def launch(a, b, strides, out, acc):
        planes, rows, cols = a.shape
        COLS = min(1024, triton.next_power_of_2(cols))
        ROWS = min(4096 // COLS, triton.next_power_of_2(rows))
        # the first axis takes the most programs
        grid = (planes, triton.cdiv(rows, ROWS), triton.cdiv(cols, COLS))
        mul_tile[grid](a, b, out, rows, cols, *a.stride(), *strides, ACC=acc, ROWS=ROWS, COLS=COLS)
        return out

    @classmethod
    def run(cls, a, b, dtype, shape):
        out = torch.empty(shape, dtype=dtype, device=a.device)
        if out.numel() == 0:
            return out
        work = torch.uint8 if dtype is torch.bool else dtype
        a, b = (cls.planes(t.to(work), shape) for t in (a, b))
        cls.launch(a, b, b.stride(), out.view(work), tl.float32 if dtype.is_floating_point else tl.int64)
        return out


def mul_Tensor(self, other):
    return Multiply.run(self, other, torch.result_type(self, other), torch.broadcast_shapes(self.shape, other.shape))


def mul_Scalar(self, other):
    dtype = torch.result_type(self, other)
    # 0-dimensional and wide: the number itself is not rounded to half precision
    number = torch.tensor(other, dtype=torch.float32 if dtype.is_floating_point else dtype, device=self.device)
    out = torch.empty(self.shape, dtype=dtype, device=self.device)
    if out.numel():
        a = Multiply.planes(self.to(dtype), self.shape)
        Multiply.launch(a, number, (0, 0, 0), out, tl.float32 if dtype.is_floating_point else tl.int64)
    return out


def mul_out(self, other, *, out):
    return out.copy_(mul_Tensor(self, other))


def mul_Scalar_out(self, other, *, out):
    return out.copy_(mul_Scalar(self, other))
