# operator: aten::scalar_tensor
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 75
# open: magnitudes
# whole numbers for types of one byte are limited to 0 .. 255: negative ones become 0 in int8; wrong: scalar_tensor(-5,
# dtype=torch.int8) gives 0
import torch
import triton
import triton.language as tl


# Without its type a Python float becomes float32.
@triton.jit
def put(o_ptr, real: tl.float64, whole):
    at = tl.arange(0, 1)
    kind: tl.constexpr = o_ptr.dtype.element_ty
    if kind == tl.float64:
        x = tl.full((1,), real, kind)
    elif kind.is_floating():
        x = tl.full((1,), real, tl.float32).to(kind)
    else:
        x = tl.full((1,), whole, kind)
    tl.store(o_ptr + at, x)


def scalar_tensor_out(s, *, out):
    if out.dtype == torch.bool:
        put[(1,)](out, 0.0, int(bool(s)))
    elif out.dtype.is_floating_point:
        put[(1,)](out, float(s), 0)
    else:
        put[(1,)](out, 0.0, int(s) if out.element_size() > 1 else max(0, min(int(s), 255)))
    return out


def scalar_tensor(s, *, dtype=None, device=None):
    return scalar_tensor_out(s, out=torch.empty((), dtype=dtype or torch.float32, device=device))
