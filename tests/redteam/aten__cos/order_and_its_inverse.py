# operator: aten::cos
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 84
# the result's strides follow the inverse of the right permutation: wrong where dimensions rotate, x.permute(1, 2, 0)
import torch
import triton
import triton.language as tl


@triton.jit
def place(i, sizes, strides):
    at = i * 0
    for d in tl.static_range(len(sizes)):
        at += (i % sizes[len(sizes) - 1 - d]) * strides[len(sizes) - 1 - d]
        i = i // sizes[len(sizes) - 1 - d]
    return at


@triton.jit
def cos_kernel(x_ptr, y_ptr, n, sizes, y_strides, BLOCK: tl.constexpr):
    """Reads in the order of memory and writes where the elements belong."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0).to(tl.float32)
    tl.store(y_ptr + place(at, sizes, y_strides), tl.cos(x).to(y_ptr.dtype.element_ty), mask=at < n)


def launch(x, y):
    n = x.numel()
    if n == 0:
        return
    if x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last):
        x, y = x.permute(0, 2, 3, 1), y.permute(0, 2, 3, 1)
    x, y = x.squeeze(), y.squeeze()
    order = sorted(range(x.dim()), key=lambda d: -x.stride(d))
    if x.permute(order).is_contiguous():
        sizes = [x.shape[d] for d in order]
        back = sorted(range(x.dim()), key=lambda k: order[k])
        strides = [y.stride(d) for d in back]
    else:
        x, sizes, strides = x.contiguous(), x.shape, y.stride()
    cos_kernel[(triton.cdiv(n, 2048),)](x, y, n, tuple(sizes) or (1,), tuple(strides) or (0,), BLOCK=2048)


def cos(self):
    y = torch.empty(self.shape, dtype=self.dtype if self.is_floating_point() else torch.float32, device=self.device)
    launch(self, y)
    return y


def cos_out(self, *, out):
    launch(self, out)
    return out
