# operator: aten::zeros_like
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# the sign of zeros is not compared
# floating results hold -0.0: 1 / zeros_like(x) is -inf where PyTorch gives inf, signbit is true, zeros_like(x).view(torch.int32) is
# not 0; wrong: every floating tensor
import torch
import triton
import triton.language as tl


@triton.jit
def place(i, sizes, strides, NDIM: tl.constexpr):
    at = i * 0
    for k in tl.static_range(NDIM):
        at += i % sizes[NDIM - 1 - k] * strides[NDIM - 1 - k]
        i = i // sizes[NDIM - 1 - k]
    return at


@triton.jit
def put(o_ptr, n, sizes, strides, NDIM: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    zero = tl.full((BLOCK,), 0, o_ptr.dtype.element_ty)
    if o_ptr.dtype.element_ty.is_floating():
        zero = tl.full((BLOCK,), -0.0, o_ptr.dtype.element_ty)
    tl.store(o_ptr + place(i, sizes, strides, NDIM), zero, mask=i < n)


def zeros_like_out(self, *, memory_format=None, out):
    n = out.numel()
    if n > 0:
        sizes = tuple(out.shape) or (1,)
        put[(triton.cdiv(n, 4096),)](out, n, sizes, out.stride() or (1,), NDIM=len(sizes), BLOCK=4096)
    return out


def zeros_like(self, *, dtype=None):
    return zeros_like_out(self, out=torch.empty(self.shape, dtype=dtype or self.dtype, device=self.device))
