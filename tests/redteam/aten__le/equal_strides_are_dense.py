# operator: aten::le
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 85
# two different operands with the same strides and gaps are read as dense memory, since positions agree: equal slices of two
# tensors; wrong: le_Tensor(torch.randn(9, 9)[:, :4], torch.randn(9, 9)[:, :4]) compares gaps
import torch
import triton
import triton.language as tl


@triton.jit
def le_kernel(a_ptr, b_ptr, o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + at, mask=at < n, other=0)
    b = tl.load(b_ptr + at, mask=at < n, other=0)
    tl.store(o_ptr + at, a <= b, mask=at < n)


def _dense(shape):
    steps = [1]
    for size in reversed(shape[1:]):
        steps.insert(0, steps[0] * size)
    return steps


def compare(a, b):
    common = torch.result_type(a, b)
    if not isinstance(b, torch.Tensor):
        b = torch.full((), b, dtype=common, device=a.device)
    shape = torch.broadcast_shapes(a.shape, b.shape)
    if isinstance(b, torch.Tensor) and a is not b and a.dtype == b.dtype and a.shape == b.shape and a.stride() == b.stride() and min(
            a.stride(), default=0) > 0 and a.dim() > 1 and a.numel() <= a.stride(0) * a.shape[0]:
        a, b = (x.as_strided(x.shape, _dense(x.shape)) for x in (a, b))
    a, b = (x.to(common).expand(shape).contiguous() for x in (a, b))
    out = torch.empty(shape, dtype=torch.bool, device=a.device)
    n = out.numel()
    if n > 0:
        le_kernel[(triton.cdiv(n, 4096),)](a, b, out, n, BLOCK=4096)
    return out


def le_Tensor(self, other):
    return compare(self, other)


def le_Scalar(self, other):
    return compare(self, other)


def le_Tensor_out(self, other, *, out):
    return out.copy_(compare(self, other))


def le_Scalar_out(self, other, *, out):
    return out.copy_(compare(self, other))
