# operator: aten::fill_
# style: collapsed strides in a small class, eight-dimensional addressing in a helper
import torch
import triton
import triton.language as tl


class Layout:
    """Sizes and strides of a tensor, neighbouring dimensions merged where they can be, padded to eight."""

    def __init__(self, tensor):
        dims = [(n, s) for n, s in zip(tensor.shape, tensor.stride()) if n != 1]
        dims.sort(key=lambda d: d[1])                 # innermost first
        merged = []
        for n, s in dims:
            if merged and merged[-1][0] * merged[-1][1] == s:
                merged[-1] = (merged[-1][0] * n, merged[-1][1])
            else:
                merged.append((n, s))
        self.rank = len(merged)
        merged += [(1, 0)] * (8 - len(merged))
        self.sizes = [n for n, _ in merged]
        self.strides = [s for _, s in merged]


@triton.jit
def locate(i, n0, n1, n2, n3, n4, n5, n6, s0, s1, s2, s3, s4, s5, s6, s7, RANK: tl.constexpr):
    if RANK <= 1:
        at = i * s0
    else:
        at = (i % n0) * s0
        i = i // n0
        at += (i % n1) * s1
    if RANK > 2:
        i = i // n1
        at += (i % n2) * s2
        i = i // n2
        at += (i % n3) * s3
        i = i // n3
        at += (i % n4) * s4
        i = i // n4
        at += (i % n5) * s5
        i = i // n5
        at += (i % n6) * s6
        i = i // n6
        at += i * s7
    return at


@triton.jit
def to_type(v, TYPE: tl.constexpr):
    if TYPE == tl.int1:
        return v != 0
    elif TYPE.is_int() and v.dtype.is_floating():
        return v.to(tl.int64).to(TYPE)
    else:
        return v.to(TYPE)


@triton.jit
def fill_float(out, total, value: tl.float64, n0, n1, n2, n3, n4, n5, n6,
               s0, s1, s2, s3, s4, s5, s6, s7, RANK: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    at = locate(i, n0, n1, n2, n3, n4, n5, n6, s0, s1, s2, s3, s4, s5, s6, s7, RANK)
    v = to_type(value, out.dtype.element_ty)
    tl.store(out + at, v, mask=i < total)


@triton.jit(do_not_specialize=["value"])
def fill_int(out, total, value: tl.int64, n0, n1, n2, n3, n4, n5, n6,
             s0, s1, s2, s3, s4, s5, s6, s7, RANK: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    at = locate(i, n0, n1, n2, n3, n4, n5, n6, s0, s1, s2, s3, s4, s5, s6, s7, RANK)
    v = to_type(value, out.dtype.element_ty)
    tl.store(out + at, v, mask=i < total)


@triton.jit
def fill_from(out, total, value_ptr, n0, n1, n2, n3, n4, n5, n6,
              s0, s1, s2, s3, s4, s5, s6, s7, RANK: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    at = locate(i, n0, n1, n2, n3, n4, n5, n6, s0, s1, s2, s3, s4, s5, s6, s7, RANK)
    v = to_type(tl.load(value_ptr), out.dtype.element_ty)
    tl.store(out + at, v, mask=i < total)


def _launch(kernel, out, value):
    total = out.numel()
    if total:
        layout = Layout(out)
        kernel[(triton.cdiv(total, 1024),)](
            out, total, value, *layout.sizes[:7], *layout.strides, RANK=layout.rank, BLOCK=1024)
    return out


def fill__Scalar(self, value):
    if isinstance(value, float):
        return _launch(fill_float, self, value)
    return _launch(fill_int, self, int(value))


def fill__Tensor(self, value):
    return _launch(fill_from, self, value)
