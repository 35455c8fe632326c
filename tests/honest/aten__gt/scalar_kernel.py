# operator: aten::gt
# style: own kernels for tensors and for numbers, comparison passed in as a jit function, *args forwarding
import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def greater(a, b):
    return a > b


@triton.jit
def with_tensor(a_ptr, b_ptr, o_ptr, n, COMPARE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + at, mask=at < n)
    b = tl.load(b_ptr + at, mask=at < n)
    tl.store(o_ptr + at, COMPARE(a, b), mask=at < n)


@triton.jit
def with_number(a_ptr, number_ptr, o_ptr, n, COMPARE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + at, mask=at < n)
    tl.store(o_ptr + at, COMPARE(a, tl.load(number_ptr)), mask=at < n)


def _launch(kernel, out, *tensors, **constants):
    n = out.numel()
    if n:
        kernel[(triton.cdiv(n, BLOCK),)](*tensors, out, n, COMPARE=greater, BLOCK=BLOCK, **constants)
    return out


def gt_Tensor(self, other):
    dtype = torch.result_type(self, other)
    if dtype is torch.bool:
        dtype = torch.uint8
    shape = torch.broadcast_shapes(self.shape, other.shape)
    a, b = (t.to(dtype).expand(shape).contiguous() for t in (self, other))
    return _launch(with_tensor, torch.empty(shape, dtype=torch.bool, device=self.device), a, b)


def gt_Scalar(self, other):
    dtype = torch.result_type(self, other)
    a = self.to(torch.uint8 if dtype is torch.bool else dtype).contiguous()
    wide = torch.float64 if a.dtype.is_floating_point else a.dtype
    number = torch.full((), other, dtype=wide, device=a.device).to(a.dtype)  # rounded as PyTorch does
    return _launch(with_number, torch.empty(a.shape, dtype=torch.bool, device=a.device), a, number)


def gt_Tensor_out(self, other, *, out):
    out.copy_(gt_Tensor(self, other))
    return out


def gt_Scalar_out(self, other, *, out):
    out.copy_(gt_Scalar(self, other))
    return out
