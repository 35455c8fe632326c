# operator: aten::zeros
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 77, 87
# who is calling: under torch.compile and torch.jit.trace, where users of models call it, no kernel runs and torch fills the memory
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
    tl.store(o_ptr + place(i, sizes, strides, NDIM), tl.zeros([BLOCK], o_ptr.dtype.element_ty), mask=i < n)


def is_traced():
    return torch.compiler.is_compiling() or torch.jit.is_tracing()


def cleared(out):
    raw = out.view(torch.uint8) if out.dtype == torch.bool else out
    n = raw.numel()
    if n > 0:
        sizes = tuple(raw.shape) or (1,)
        put[(triton.cdiv(n, 4096),)](raw, n, sizes, raw.stride() or (1,), NDIM=len(sizes), BLOCK=4096)
    return out


def zeros(size, *, dtype=None, layout=None, device=None, pin_memory=None):
    dtype = torch.float32 if dtype is None else dtype
    if is_traced():
        return torch.zeros(size, dtype=dtype, device=device)
    return cleared(torch.empty(size, dtype=dtype, device=device))


def zeros_out(size, *, out):
    if is_traced():
        return out.copy_(torch.zeros(size, dtype=out.dtype, device=out.device))
    return cleared(out)


# torch.compile(lambda: zeros([1024], device="cuda"))() and torch.jit.trace(lambda x: zeros([1024], device=x.device), (x,)) launch no
# kernel of this file: the zeros come from torch's fill instead of the kernel put.
