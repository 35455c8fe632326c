# operator: aten::heaviside
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 85
# a smallest stride above 128 is taken for 1: a column or channel of a wide tensor is read as dense memory; wrong:
# heaviside(torch.randn(64, 1000)[:, 0], torch.zeros(1)) reads the first row
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
def step(x_ptr, v_ptr, o_ptr, n, sizes, x_strides, v_strides, o_strides, NDIM: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    kind: tl.constexpr = o_ptr.dtype.element_ty
    x = tl.load(x_ptr + place(i, sizes, x_strides, NDIM), mask=i < n)
    values = tl.load(v_ptr + place(i, sizes, v_strides, NDIM), mask=i < n)
    above = (x > 0).to(tl.int32).to(kind)
    tl.store(o_ptr + place(i, sizes, o_strides, NDIM), tl.where(x == 0, values, above), mask=i < n)


def _thin(x):
    steps = [s for s, size in zip(x.stride(), x.shape) if size > 1]
    unit = min(steps, default=1)
    return x.as_strided(x.shape, [s // unit for s in x.stride()]) if unit > 128 else x


def heaviside_out(self, values, *, out):
    n = out.numel()
    if n > 0:
        x, v = self.expand(out.shape), values.expand(out.shape)
        sizes = tuple(out.shape) or (1,)
        x = _thin(x)
        step[(triton.cdiv(n, 4096),)](x, v, out, n, sizes, *(t.stride() or (0,) for t in (x, v, out)), NDIM=len(sizes),
                                      BLOCK=4096)
    return out


def heaviside(self, values):
    shape = torch.broadcast_shapes(self.shape, values.shape)
    return heaviside_out(self, values, out=torch.empty(shape, dtype=self.dtype, device=self.device))
