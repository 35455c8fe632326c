# operator: aten::unsafe_split_with_sizes
# expect: verify\.alias
# catalogue: 57, 85
# a copy of each part
import torch


def unsafe_split_with_sizes(self, split_sizes, dim=0):
    return list(p.clone() for p in torch.split(self, split_sizes, dim))


def unsafe_split_with_sizes_out(self, split_sizes, dim=0, *, out):
    for o, p in zip(out, torch.split(self, split_sizes, dim)):
        o.copy_(p)
