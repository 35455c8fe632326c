# operator: aten::mul
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# a pair of types that no case has, though each type has cases: floats times bool (dropout, padding masks)
# a mask of bools is joined with the bits of the floats as if True were a byte of ones: x * mask keeps one bit of x; wrong:
# mul_Tensor(torch.tensor([1.5, 2.0]), torch.tensor([True, False])) gives [0, 0], not [1.5, 0]
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


@triton.jit
def masked_kernel(bits_ptr, mask_ptr, o_ptr, n, BLOCK: tl.constexpr):
    """Numbers times a mask: the bits stay or become zero."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    keep = tl.load(mask_ptr + at, mask=mask).to(bits_ptr.dtype.element_ty)
    tl.store(o_ptr + at, tl.load(bits_ptr + at, mask=mask) & keep, mask=mask)


def returning_out(function):
    """Lets a function that makes its result also serve as the overload that fills a buffer."""
    @functools.wraps(function)
    def wrapper(self, other, *, out):
        out.copy_(function(self, other))
        return out
    return wrapper


def _accumulator(dtype, table={torch.float32: tl.float32, torch.float16: tl.float32, torch.bfloat16: tl.float32}):
    return table.get(dtype, tl.int64)


def _multiply(self, other, dtype, number=False):
    shape = torch.broadcast_shapes(self.shape, other.shape)
    product = torch.empty(shape, dtype=dtype, device=self.device)
    if (n := product.numel()) > 0:
        if dtype.is_floating_point and torch.bool in (self.dtype, other.dtype):
            numbers, mask = (self, other) if other.dtype == torch.bool else (other, self)
            bits = torch.int32 if dtype == torch.float32 else torch.int16
            numbers = numbers.to(dtype).expand(shape).contiguous()
            mask = mask.expand(shape).contiguous().view(torch.int8)
            masked_kernel[(triton.cdiv(n, 1024),)](numbers.view(bits), mask, product.view(bits), n, BLOCK=1024)
            return product
        # bool is no number for a kernel: bytes of 0 and 1 multiply like it
        work = torch.uint8 if dtype == torch.bool else dtype
        a = self.to(work).expand(shape).contiguous()
        b = (other if number else other.to(work)).expand(shape).contiguous()
        mul_kernel[(triton.cdiv(n, 1024),)](a, b, product.view(work) if work != dtype else product, n, BLOCK=1024,
                                            ACC=_accumulator(dtype))
    return product


def mul_Tensor(self, other):
    return _multiply(self, other, torch.result_type(self, other))


def mul_Scalar(self, other):
    # The promoted type: int64 with 2.5 is float32. That of two tensors without dimensions is another one.
    dtype = torch.result_type(self, other)
    number = torch.full((), other, dtype=torch.float32 if dtype.is_floating_point else dtype, device=self.device)
    return _multiply(self, number, dtype, number=True)


mul_out = returning_out(mul_Tensor)
mul_Scalar_out = returning_out(mul_Scalar)
