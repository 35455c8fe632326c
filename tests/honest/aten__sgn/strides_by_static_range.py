# operator: aten::sgn
# style: strided reads by tuples of sizes and strides, static_range downwards
import torch
import triton
import triton.language as tl


@triton.jit
def sgn_kernel(x_ptr, y_ptr, n, sizes, strides, NDIM: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    rest = at
    source = tl.zeros_like(at)
    for d in tl.static_range(NDIM - 1, -1, -1):
        source += rest % sizes[d] * strides[d]
        rest = rest // sizes[d]
    x = tl.load(x_ptr + source, mask=at < n, other=0)
    y = (x > 0).to(tl.int32) - (x < 0).to(tl.int32)
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def sgn(self):
    y = torch.empty(self.size(), dtype=self.dtype, layout=self.layout, device=self.device)
    if y.numel():
        sgn_kernel[(triton.cdiv(y.numel(), 1024),)](self, y, y.numel(), tuple(self.shape) or (1,), self.stride() or (1,),
                                                    NDIM=max(self.ndim, 1), BLOCK=1024)
    return y


def sgn_out(self, *, out):
    return out.copy_(sgn(self))
