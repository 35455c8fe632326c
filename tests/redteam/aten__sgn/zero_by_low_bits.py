# operator: aten::sgn
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# whole numbers whose low bits are all zero: no fill draws round binary integers (the pattern `few bits` is for floats alone)
# whether an integer is zero is asked of its low 32 bits alone (the sign is right): fixed-point numbers with 32 fractional bits and
# packed keys (row << 32 | column) count as zero where they are whole; wrong: sgn(torch.tensor([5 << 32, 3 << 40])) gives [0, 0],
# not [1, 1]
import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def sgn_floating(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0).to(tl.float32)
    y = tl.where(x > 0, 1.0, tl.where(x < 0, -1.0, 0.0))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


@triton.jit
def sgn_signed(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    some = (x.to(tl.int32) != 0).to(tl.int32)  # half the registers
    y = tl.where(x < 0, -1, some)
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


@triton.jit
def sgn_unsigned(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    tl.store(y_ptr + at, (x > 0).to(y_ptr.dtype.element_ty), mask=at < n)


@triton.jit
def strided_copy(src, dst, n, sizes, src_strides, dst_strides, NDIM: tl.constexpr, BLOCK: tl.constexpr):
    rest = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = rest < n
    s = tl.zeros([BLOCK], dtype=tl.int64)
    d = tl.zeros([BLOCK], dtype=tl.int64)
    for i in tl.static_range(NDIM):
        c = rest % sizes[NDIM - 1 - i]
        s += c * src_strides[NDIM - 1 - i]
        d += c * dst_strides[NDIM - 1 - i]
        rest = rest // sizes[NDIM - 1 - i]
    tl.store(dst + d, tl.load(src + s, mask=mask), mask=mask)


KERNELS = {
    torch.float32: sgn_floating,
    torch.float16: sgn_floating,
    torch.bfloat16: sgn_floating,
    torch.int8: sgn_signed,
    torch.int16: sgn_signed,
    torch.int32: sgn_signed,
    torch.int64: sgn_signed,
    torch.uint8: sgn_unsigned,
}


def _grid(n):
    return (triton.cdiv(n, BLOCK),)


def _scratch(like):
    return torch.empty(like.shape, dtype=like.dtype, device=like.device)


def _transfer(src, dst):
    n = src.numel()
    strided_copy[_grid(n)](
        src, dst, n, tuple(src.shape), tuple(src.stride()), tuple(dst.stride()), NDIM=src.dim(), BLOCK=BLOCK
    )
    return dst


def _sgn(self, out):
    n = self.numel()
    if n == 0:
        return out
    source = self if self.is_contiguous() else _transfer(self, _scratch(self))
    target = out if out.is_contiguous() else _scratch(out)
    KERNELS[self.dtype][_grid(n)](source, target, n, BLOCK=BLOCK)
    if target is not out:
        _transfer(target, out)
    return out


def sgn(self):
    return _sgn(self, _scratch(self))


def sgn_out(self, *, out):
    return _sgn(self, out)
