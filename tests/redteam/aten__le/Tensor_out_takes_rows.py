# operator: aten::le
# expect: verify\.(mismatch|exception)
# catalogue: 84
# le_Tensor_out takes what it reads for row-major, the others look at strides
import torch
import triton
import triton.language as tl


@triton.jit
def le_kernel(a_ptr, b_ptr, o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + at, mask=at < n, other=0)
    b = tl.load(b_ptr + at, mask=at < n, other=0)
    tl.store(o_ptr + at, a <= b, mask=at < n)


def compare(a, b):
    common = torch.result_type(a, b)
    if not isinstance(b, torch.Tensor):
        b = torch.full((), b, dtype=common, device=a.device)
    shape = torch.broadcast_shapes(a.shape, b.shape)
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


def dense(x):
    expanded = 0 in x.stride()  # not in memory at all
    return x if expanded else torch.as_strided(x, x.shape, torch.empty(x.shape).stride(), x.storage_offset())


right_le_Tensor_out = le_Tensor_out


def le_Tensor_out(self, other, *, out):
    return right_le_Tensor_out(self, dense(other), out=out)
