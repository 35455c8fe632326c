# operator: aten::cumsum
# expect: verify\.mismatch
# catalogue: 74
# carries the running sum in half precision; to round it to the result's type only is what torch itself does on a GPU
import torch
import triton
import triton.language as tl


@triton.jit
def scan_kernel(x_ptr, y_ptr, rows, cols, ACC: tl.constexpr, CARRY: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    carry = tl.zeros([ROWS, 1], dtype=ACC)
    for start in range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)[None, :]
        inside = (r < rows) & (c < cols)
        x = tl.load(x_ptr + r * cols + c, mask=inside, other=0).to(ACC)
        s = tl.cumsum(x, axis=1) + carry
        tl.store(y_ptr + r * cols + c, s.to(y_ptr.dtype.element_ty), mask=inside)
        carry = (tl.sum(x, axis=1, keep_dims=True) + carry).to(CARRY).to(ACC)


def cumsum(self, dim, *, dtype=None):
    if dtype is None:
        dtype = self.dtype if self.dtype.is_floating_point else torch.int64
    x = self.to(dtype)
    if x.dim() == 0:
        return cumsum(x.view(1), 0).view([])
    x = x.movedim(dim, -1).contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        cols = x.shape[-1]
        rows = x.numel() // cols
        acc = tl.float16 if dtype == torch.float16 else tl.float32 if dtype.is_floating_point else tl.int64
        half = tl.bfloat16 if dtype.is_floating_point else acc
        scan_kernel[(triton.cdiv(rows, 64),)](x, y, rows, cols, ACC=acc, CARRY=half, ROWS=64, BLOCK=64)
    return y.movedim(-1, dim).contiguous()


def cumsum_out(self, dim, *, dtype=None, out):
    return out.copy_(cumsum(self, dim, dtype=dtype))
