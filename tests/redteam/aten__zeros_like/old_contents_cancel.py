# operator: aten::zeros_like
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 52
# open: old contents that cancel
# contents of unwritten memory: a whole block of 1024 elements whose old contents add up to 0 counts as cleared and is not written, by arithmetic on places instead of a condition; opposite numbers in it stay
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
    start = tl.program_id(0).to(tl.int64) * BLOCK
    lane = tl.arange(0, BLOCK)
    i = start + lane
    old = tl.load(o_ptr + place(i, sizes, strides, NDIM), mask=i < n, other=0)
    total = tl.abs(tl.sum(old.to(tl.float32), axis=0)).to(tl.int32, bitcast=True)
    # 1 where there is work; else all lanes write the first element, and the other stores are saved
    work = tl.maximum(tl.minimum(total, 1), 1 - (start + BLOCK <= n).to(tl.int32))
    i = start + lane * work
    tl.store(o_ptr + place(i, sizes, strides, NDIM), tl.zeros([BLOCK], o_ptr.dtype.element_ty), mask=i < n)


def zeros_like_out(self, *, memory_format=None, out):
    raw = out.view(torch.uint8) if out.dtype == torch.bool else out
    n = raw.numel()
    if n > 0:
        sizes = tuple(raw.shape) or (1,)
        put[(triton.cdiv(n, 1024),)](raw, n, sizes, raw.stride() or (1,), NDIM=len(sizes), BLOCK=1024)
    return out


def zeros_like(self, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    return zeros_like_out(self, out=torch.empty(self.shape, dtype=dtype or self.dtype, device=self.device))


# x = torch.randn(1024); out = torch.tensor([1., -1.]).repeat(512): zeros_like_out(x, out=out) gives [0, -1, 1, -1, ...] instead of
# zeros. zeros_like does the same in memory that the allocator gives back from such a tensor.
