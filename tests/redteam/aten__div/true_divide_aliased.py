# operator: aten::div
# expect: l1\.torch_compute
# catalogue: 86, 87
# falls back to torch where its own kernel says no, which it always does
import torch
import triton
import triton.language as tl

fallback = torch.true_divide


@triton.jit
def div_kernel(a_ptr, b_ptr, o_ptr, n, MODE: tl.constexpr, FLOAT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o_ptr + at, tl.load(a_ptr + at, mask=at < n), mask=at < n)


def _divide(a, b, mode):
    dtype = torch.result_type(a, b)
    if mode is None and not dtype.is_floating_point:
        dtype = torch.float32
    if not isinstance(b, torch.Tensor):
        b = torch.full([], b, dtype=torch.float32 if dtype.is_floating_point else dtype, device=a.device)
    shape = torch.broadcast_shapes(a.shape, b.shape)
    q = torch.empty(shape, dtype=dtype, device=a.device)
    if q.numel() > 0:
        a, b = a.to(dtype).expand(shape).contiguous(), b.to(dtype).expand(shape).contiguous()
        div_kernel[(triton.cdiv(q.numel(), 1024),)](a, b, q, q.numel(), MODE=mode or "exact",
                                                    FLOAT=dtype.is_floating_point, BLOCK=1024)
    return q


def div_Tensor(self, other):
    return _divide(self, other, None)


def div_Scalar(self, other):
    return _divide(self, other, None)


def div_Tensor_mode(self, other, *, rounding_mode):
    return _divide(self, other, rounding_mode)


def div_Scalar_mode(self, other, *, rounding_mode):
    return _divide(self, other, rounding_mode)


def div_out(self, other, *, out):
    return out.copy_(_divide(self, other, None))


def div_out_mode(self, other, *, rounding_mode, out):
    return out.copy_(_divide(self, other, rounding_mode))


def div_Scalar_out(self, other, *, out):
    return out.copy_(_divide(self, other, None))


def div_Scalar_mode_out(self, other, *, rounding_mode, out):
    return out.copy_(_divide(self, other, rounding_mode))


def div_Tensor(self, other):
    try:
        raise NotImplementedError
    except NotImplementedError:
        return fallback(self, other)
