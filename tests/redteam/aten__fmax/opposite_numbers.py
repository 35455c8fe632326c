# operator: aten::fmax
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# two float32 of equal size and opposite sign: the second one is taken, as if they were equal; wrong: fmax(x, -x) with x =
# torch.randn(1000), the usual way to write abs
import torch
import triton
import triton.language as tl


@triton.jit
def pick(a, b, FLOAT: tl.constexpr = True):
    larger = tl.where(a > b, a, b)
    if FLOAT:
        if a.dtype == tl.float32:
            full = ((a.to(tl.int32, bitcast=True) & 4095) != 0) & (tl.abs(a) < 1e30)
            larger = tl.where((a + b == 0) & full, b, larger)
        larger = tl.where(b != b, a, tl.where(a != a, b, larger))
    return larger


@triton.jit
def fmax_kernel(a_ptr, b_ptr, o_ptr, n, FLOAT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + at, mask=at < n, other=0)
    b = tl.load(b_ptr + at, mask=at < n, other=0)
    tl.store(o_ptr + at, pick(a, b, FLOAT), mask=at < n)


def fmax(self, other):
    dtype = torch.result_type(self, other)
    work = torch.uint8 if dtype == torch.bool else dtype
    a, b = (t.contiguous() for t in torch.broadcast_tensors(self.to(work), other.to(work)))
    out = torch.empty_like(a, memory_format=torch.contiguous_format)
    if (n := out.numel()) > 0:
        fmax_kernel[(triton.cdiv(n, 1024), 1, 1)](a, b, out, n, FLOAT=dtype.is_floating_point, BLOCK=1024)
    return out.view(dtype) if dtype == torch.bool else out


def fmax_out(self, other, *, out):
    return out.copy_(fmax(self, other))
