# operator: aten::scalar_tensor
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 75
# integers of up to 32 bits pass through one float32 argument, so int32 values beyond 2^24 lose their last bits
import torch
import triton
import triton.language as tl


# One argument for all narrow types: 32 bits are enough for a number of 32 bits.
@triton.jit
def put(o_ptr, number):
    at = tl.arange(0, 1)
    tl.store(o_ptr + at, tl.full((1,), number, tl.float32).to(o_ptr.dtype.element_ty))


@triton.jit
def put_wide(o_ptr, real: tl.float64, whole):
    at = tl.arange(0, 1)
    kind: tl.constexpr = o_ptr.dtype.element_ty
    if kind == tl.float64:
        x = tl.full((1,), real, kind)
    else:
        x = tl.full((1,), whole, kind)
    tl.store(o_ptr + at, x)


def scalar_tensor_out(s, *, out):
    if out.element_size() == 8:
        if out.dtype.is_floating_point:
            put_wide[(1,)](out, float(s), 0)
        else:
            put_wide[(1,)](out, 0.0, int(s))
    elif out.dtype == torch.bool:
        put_wide[(1,)](out, 0.0, int(bool(s)))
    elif out.dtype.is_floating_point:
        put[(1,)](out, float(s))
    else:
        put[(1,)](out, float(int(s)))
    return out


def scalar_tensor(s, *, dtype=None, device=None):
    return scalar_tensor_out(s, out=torch.empty((), dtype=dtype or torch.float32, device=device))


# wrong: scalar_tensor(16777217, dtype=torch.int32) returns 16777216 instead of 16777217; scalar_tensor(-1234567891, dtype=torch.int32)
# returns -1234567936
