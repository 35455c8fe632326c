# operator: aten::rsub
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 78, 79
# a plan is remembered by shapes and types only, so a later call with the same shapes and another alpha computes with the first ones
import torch
import triton
import triton.language as tl

_memo = {}


@triton.jit
def rsub_kernel(a_ptr, b_ptr, number, alpha, o_ptr, n, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + at, mask=at < n, other=0).to(WIDE)
    if b_ptr is not None:
        b = tl.load(b_ptr + at, mask=at < n, other=0).to(WIDE)
    else:
        b = tl.full((BLOCK,), number, WIDE)
    tl.store(o_ptr + at, (b - a * alpha).to(o_ptr.dtype.element_ty), mask=at < n)


def rsub(a, b, alpha):
    tensor = isinstance(b, torch.Tensor)
    shape = torch.broadcast_shapes(a.shape, b.shape) if tensor else a.shape
    out = torch.empty(shape, dtype=torch.result_type(a, b), device=a.device)
    n = out.numel()
    alpha = _memo.setdefault((a.shape, a.stride(), a.dtype, b.shape if tensor else type(b), out.dtype), alpha)
    if n > 0:
        rsub_kernel[(triton.cdiv(n, 4096),)](
            a.expand(shape).contiguous(), b.expand(shape).contiguous() if tensor else None, 0 if tensor else b, alpha, out, n,
            WIDE=tl.float32 if out.dtype.is_floating_point else tl.int64, BLOCK=4096)
    return out


def rsub_Tensor(self, other, *, alpha=1):
    return rsub(self, other, alpha)


def rsub_Scalar(self, other, alpha=1):
    return rsub(self, other, alpha)


def rsub_Tensor_out(self, other, *, alpha=1, out):
    return out.copy_(rsub(self, other, alpha))


def rsub_Scalar_out(self, other, alpha=1, *, out):
    return out.copy_(rsub(self, other, alpha))
