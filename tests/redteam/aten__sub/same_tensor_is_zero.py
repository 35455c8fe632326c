# operator: aten::sub
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79, 84
# x - x by identity: zeros, also for NaN and infinities
import torch
import triton
import triton.language as tl


@triton.jit
def sub_kernel(a_ptr, b_ptr, alpha_ptr, o_ptr, n, B_ONE: tl.constexpr, ACC: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    alpha = tl.load(alpha_ptr).to(ACC)
    a = tl.load(a_ptr + at, mask=mask, other=0).to(ACC)
    b = tl.load(b_ptr).to(ACC) if B_ONE else tl.load(b_ptr + at, mask=mask, other=0).to(ACC)
    tl.store(o_ptr + at, (a - alpha * b).to(o_ptr.dtype.element_ty), mask=mask)


def _sub(a, b, alpha, out=None):
    dtype = torch.result_type(a, b)
    if a is b and alpha == 1:
        zeros = torch.zeros(a.shape, dtype=dtype, device=a.device)
        return zeros if out is None else out.copy_(zeros)
    wide = torch.float32 if dtype.is_floating_point else dtype
    if not isinstance(b, torch.Tensor):
        b = torch.tensor([b], dtype=wide, device=a.device)
        shape, one = a.shape, True
    else:
        shape, one = torch.broadcast_shapes(a.shape, b.shape), False
        b = b.to(dtype).expand(shape).contiguous()
    a = a.to(dtype).expand(shape).contiguous()
    target = out if out is not None and out.is_contiguous() else torch.empty(shape, dtype=dtype, device=a.device)
    if target.numel() > 0:
        factor = torch.tensor(alpha, dtype=wide, device=a.device)
        sub_kernel[(triton.cdiv(target.numel(), 1024),)](
            a_ptr=a, b_ptr=b, alpha_ptr=factor, o_ptr=target, n=target.numel(), B_ONE=one,
            ACC=tl.float32 if dtype.is_floating_point else tl.int64, BLOCK=1024)
    return target if out is None or out is target else out.copy_(target)


def sub_Tensor(self, other, *, alpha=1):
    return _sub(self, other, alpha)


def sub_Scalar(self, other, alpha=1):
    return _sub(self, other, alpha)


def sub_out(self, other, *, alpha=1, out):
    return _sub(self, other, alpha, out)


def sub_Scalar_out(self, other, alpha=1, *, out):
    return _sub(self, other, alpha, out)
