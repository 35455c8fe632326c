# operator: aten::eq
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 85
# open: two views of one memory with different types
# two operands with the same address, sizes and strides are loaded once whatever their types are; wrong: x =
# torch.randn(1000); eq_Tensor(x, x.view(torch.int32)) gives all true (the truth: only zeros are equal); the same for
# float16 beside its view as bfloat16
import torch
import triton
import triton.language as tl


@triton.jit
def eq_tensors(a_ptr, b_ptr, o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + at, mask=at < n)
    b = tl.load(b_ptr + at, mask=at < n)
    differs = a != b
    tl.store(o_ptr + at, ~differs, mask=at < n)


@triton.jit
def eq_number(a_ptr, b_ptr, o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o_ptr + at, tl.load(a_ptr + at, mask=at < n) == tl.load(b_ptr), mask=at < n)


def same_elements(a, b):
    """Both show the same elements: one read is enough."""
    return a.data_ptr() == b.data_ptr() and a.shape == b.shape and a.stride() == b.stride()


def equal(a: torch.Tensor, b, out=None):
    dtype = torch.result_type(a, b)
    b = b if isinstance(b, torch.Tensor) else torch.tensor(b, dtype=dtype, device=a.device)
    shape = torch.broadcast_shapes(a.shape, b.shape)
    result = torch.empty(shape, dtype=torch.bool, device=a.device)
    n = result.numel()
    if n:
        work = torch.uint8 if dtype == torch.bool else dtype
        kernel = eq_number if b.dim() == 0 else eq_tensors
        once = same_elements(a, b)
        a = a.to(work).expand(shape).contiguous()
        if once:
            b = a
        else:
            b = b.to(work) if b.dim() == 0 else b.to(work).expand(shape).contiguous()
        kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](a, b, result, n, BLOCK=1024)
    if out is None:
        return result
    return out.copy_(result)


def eq_Tensor(self, other):
    return equal(self, other)


def eq_Scalar(self, other):
    return equal(self, other)


def eq_Tensor_out(self, other, *, out):
    return equal(self, other, out)


def eq_Scalar_out(self, other, *, out):
    return equal(self, other, out=out)
