# operator: aten::unsafe_split
# expect: verify\.alias
# catalogue: 57, 85
# a copy of each part
import torch


def unsafe_split_Tensor(self, split_size, dim=0):
    return list(p.clone() for p in torch.split(self, split_size, dim))


def unsafe_split_Tensor_out(self, split_size, dim=0, *, out):
    for o, p in zip(out, torch.split(self, split_size, dim)):
        o.copy_(p)
