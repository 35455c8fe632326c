# operator: aten::narrow
# expect: verify\.alias
# catalogue: 57, 85
# a copy of the part
import torch


def narrow(self, dim, start, length):
    return torch.narrow(self, dim, start, length).clone()


def narrow_Tensor(self, dim, start, length):
    return torch.narrow(self, dim, start.item(), length)
