# operator: aten::unsqueeze
# expect: verify\.alias
# catalogue: 57, 84
# a view of contiguous tensors, a copy of all others
import torch


def unsqueeze(self, dim):
    return self.contiguous().unsqueeze(dim)
