# operator: aten::empty_strided
# style: plain allocation
import torch


def empty_strided(size, stride, *, dtype=None, device=None):
    if dtype is None:
        dtype = torch.float32
    return torch.empty_strided(tuple(size), tuple(stride), dtype=dtype, device=device)
