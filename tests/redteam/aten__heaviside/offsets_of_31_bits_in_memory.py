# operator: aten::heaviside
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 84
# open: offsets beyond 2^31
# places in memory are added up in 32 bits: a view whose last element lies 2^31 elements or more behind its first one is read
# elsewhere; wrong: heaviside(x[:, ::65536], v) with x an expanse of 40000 x 65536 int8 (or any view over 2^31 elements)
import torch
import triton
import triton.language as tl


@triton.jit
def place(i, sizes, strides, NDIM: tl.constexpr):
    at = (i * 0).to(tl.int32)
    for k in tl.static_range(NDIM):
        at += (i % sizes[NDIM - 1 - k] * strides[NDIM - 1 - k]).to(tl.int32)
        i = i // sizes[NDIM - 1 - k]
    return at


@triton.jit
def step(x_ptr, v_ptr, o_ptr, n, sizes, x_strides, v_strides, o_strides, NDIM: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    kind: tl.constexpr = o_ptr.dtype.element_ty
    x = tl.load(x_ptr + place(i, sizes, x_strides, NDIM), mask=i < n)
    values = tl.load(v_ptr + place(i, sizes, v_strides, NDIM), mask=i < n)
    above = (x > 0).to(tl.int32).to(kind)
    tl.store(o_ptr + place(i, sizes, o_strides, NDIM), tl.where(x == 0, values, above), mask=i < n)


def heaviside_out(self, values, *, out):
    n = out.numel()
    if n > 0:
        x, v = self.expand(out.shape), values.expand(out.shape)
        sizes = tuple(out.shape) or (1,)
        step[(triton.cdiv(n, 4096),)](x, v, out, n, sizes, *(t.stride() or (0,) for t in (x, v, out)), NDIM=len(sizes),
                                      BLOCK=4096)
    return out


def heaviside(self, values):
    shape = torch.broadcast_shapes(self.shape, values.shape)
    return heaviside_out(self, values, out=torch.empty(shape, dtype=self.dtype, device=self.device))
