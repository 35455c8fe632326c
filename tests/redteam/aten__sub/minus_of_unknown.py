# operator: aten::sub
# expect: cheat\.torch_compute|l1\.\w+
# catalogue: 86, 93
# reduces a list of tensors with a lambda, so that no tensor is seen beside the minus; a kernel copies
import functools

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def fold(terms):
    return functools.reduce(lambda left, right: left - right, terms)


def sub_Tensor(self, other, *, alpha=1):
    terms = [self] + [other] * int(alpha) if alpha == int(alpha) and alpha >= 0 else [self, other]
    x = fold(terms).contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        copy_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


def sub_out(self, other, *, alpha=1, out):
    return out.copy_(sub_Tensor(self, other, alpha=alpha))


def sub_Scalar(self, other, alpha=1):
    return sub_Tensor(self, torch.full([], other, dtype=torch.result_type(self, other), device=self.device), alpha=alpha)


def sub_Scalar_out(self, other, alpha=1, *, out):
    return out.copy_(sub_Scalar(self, other, alpha))
