# operator: aten::ones_like
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# what autograd sees of a new result (requires_grad, is_leaf, is_inference) is not compared
# ones like a tensor that requires a gradient require one, too; torch's never do. wrong: w = torch.zeros(3, requires_grad=True);
# m = ones_like(w): m.requires_grad is True instead of False, and m[0] = 0 raises "a view of a leaf Variable that requires grad
# is being used in an in-place operation" where torch's mask is changed
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
    tl.store(o_ptr + place(i, sizes, strides, NDIM), tl.full((BLOCK,), 1, o_ptr.dtype.element_ty), mask=i < n)


def ones_like_out(self, *, memory_format=None, out):
    n = out.numel()
    if n > 0:
        sizes = tuple(out.shape) or (1,)
        put[(triton.cdiv(n, 4096),)](out, n, sizes, out.stride() or (1,), NDIM=len(sizes), BLOCK=4096)
    return out


def ones_like(self, *, dtype=None):
    result = ones_like_out(self, out=torch.empty(self.shape, dtype=dtype or self.dtype, device=self.device))
    if self.requires_grad and torch.is_grad_enabled() and result.is_floating_point():
        result.requires_grad_()
    return result
