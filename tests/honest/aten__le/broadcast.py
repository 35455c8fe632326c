# operator: aten::le
# style: operands are brought to their common type and shape on the host; numbers become tensors of one element
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
        b = torch.full((), b, dtype=torch.float64 if common.is_floating_point else common, device=a.device)
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
