# operator: aten::cumsum
# expect: verify\.mismatch
# catalogue: 76, 79
# blocks of 1024 that begin at zero again: right for rows that fit into one
import torch
import triton
import triton.language as tl


@triton.jit
def scan_kernel(x_ptr, y_ptr, cols, ACC: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    for start in range(0, cols, 1024):
        c = start + tl.arange(0, 1024)
        x = tl.load(x_ptr + row * cols + c, mask=c < cols, other=0).to(ACC)
        tl.store(y_ptr + row * cols + c, tl.cumsum(x, axis=0).to(y_ptr.dtype.element_ty), mask=c < cols)


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
        scan_kernel[(x.numel() // cols,)](x, y, cols, ACC=tl.float32 if dtype.is_floating_point else tl.int64,
                                          BLOCK=triton.next_power_of_2(cols))
    return y.movedim(-1, dim).contiguous()


def cumsum_out(self, dim, *, dtype=None, out):
    return out.copy_(cumsum(self, dim, dtype=dtype))
