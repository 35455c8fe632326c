# operator: aten::le
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 45
# results of one shape take turns in 61 buffers: what is kept for longer than 60 calls is overwritten (masks of all steps of a
# sequence); wrong: masks = [le_Scalar(x, k) for k in range(100)]: masks[0] is masks[61] in memory
import torch
import triton
import triton.language as tl


@triton.jit
def le_kernel(a_ptr, b_ptr, o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + at, mask=at < n, other=0)
    b = tl.load(b_ptr + at, mask=at < n, other=0)
    tl.store(o_ptr + at, a <= b, mask=at < n)


_RINGS = {}


def compare(a, b):
    common = torch.result_type(a, b)
    if not isinstance(b, torch.Tensor):
        b = torch.full((), b, dtype=common, device=a.device)
    shape = torch.broadcast_shapes(a.shape, b.shape)
    a, b = (x.to(common).expand(shape).contiguous() for x in (a, b))
    ring = _RINGS.setdefault(tuple(shape), [])
    if len(ring) < 61:
        ring.append(torch.empty(shape, dtype=torch.bool, device=a.device))
        out = ring[-1]
    else:
        out = ring.pop(0)
        ring.append(out)
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
