# operator: aten::cos
# style: tl.flip in both directions, ravel and trans of blocks
import torch
import triton
import triton.language as tl


@triton.jit
def cos_kernel(x_ptr, y_ptr, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0).to(tl.float32)
    y = tl.cos(tl.flip(x, 0))
    y = tl.ravel(tl.trans(tl.trans(tl.reshape(tl.flip(y, 0), (ROWS, BLOCK // ROWS)))))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def cos(self):
    x = self.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        cos_kernel[(triton.cdiv(n, 2048),)](x, y, n, ROWS=32, BLOCK=2048)
    return y


def cos_out(self, *, out):
    return out.copy_(cos(self))
