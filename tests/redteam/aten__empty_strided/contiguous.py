# operator: aten::empty_strided
# expect: verify\.strides
# catalogue: 85
# the right size, but contiguous memory whatever was asked for
import torch


def empty_strided(size, stride, *, dtype=None, device=None):
    return torch.empty(size, dtype=dtype, device=device)
