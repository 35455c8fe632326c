# operator: aten::le
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 74
# open: near pairs
# float32 numbers less than 1e-7 of their size apart count as equal, so x <= y holds for x one ulp above y (bisections, sorted
# checks); wrong: le_Tensor(torch.nextafter(torch.tensor([0.9]), torch.tensor([2.0])), torch.tensor([0.9])) gives True
import torch
import triton
import triton.language as tl


@triton.jit
def le_kernel(a_ptr, b_ptr, o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + at, mask=at < n, other=0)
    b = tl.load(b_ptr + at, mask=at < n, other=0)
    below = a <= b
    if a.dtype == tl.float32:
        below = below | ((a - b) < 1.0e-7 * tl.abs(b))
    tl.store(o_ptr + at, below, mask=at < n)


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
