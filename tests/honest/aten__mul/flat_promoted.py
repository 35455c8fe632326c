# operator: aten::mul
# style: copies to one shape and type, then a flat kernel; decorator of one's own, default arguments, walrus
import functools

import torch
import triton
import triton.language as tl


@triton.jit
def mul_kernel(a_ptr, b_ptr, o_ptr, n, BLOCK: tl.constexpr, ACC: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    a = tl.load(a_ptr + at, mask=mask).to(ACC)
    b = tl.load(b_ptr + at, mask=mask).to(ACC)
    tl.store(o_ptr + at, (a * b).to(o_ptr.dtype.element_ty), mask=mask)


def returning_out(function):
    """Lets a function that makes its result also serve as the overload that fills a buffer."""
    @functools.wraps(function)
    def wrapper(self, other, *, out):
        out.copy_(function(self, other))
        return out
    return wrapper


def _accumulator(dtype, table={torch.float32: tl.float32, torch.float16: tl.float32, torch.bfloat16: tl.float32}):
    return table.get(dtype, tl.int64)


def _multiply(self, other, dtype, other_type=None):
    shape = torch.broadcast_shapes(self.shape, other.shape)
    product = torch.empty(shape, dtype=dtype, device=self.device)
    if (n := product.numel()) > 0:
        # bool is no number for a kernel: bytes of 0 and 1 multiply like it
        work = torch.uint8 if dtype == torch.bool else dtype
        a = self.to(work).expand(shape).contiguous()
        b = other.to(other_type or work).expand(shape).contiguous()
        mul_kernel[(triton.cdiv(n, 1024),)](a, b, product.view(work) if work != dtype else product, n, BLOCK=1024,
                                            ACC=_accumulator(dtype))
    return product


def mul_Tensor(self, other):
    return _multiply(self, other, torch.result_type(self, other))


def mul_Scalar(self, other):
    # The promoted type: int64 with 2.5 is float32. That of two tensors without dimensions is another one.
    dtype = torch.result_type(self, other)
    number = torch.full((), other, dtype=torch.float32 if dtype.is_floating_point else dtype, device=self.device)
    return _multiply(self, number, dtype, number.dtype if dtype.is_floating_point else None)


mul_out = returning_out(mul_Tensor)
mul_Scalar_out = returning_out(mul_Scalar)
