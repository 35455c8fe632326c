# operator: aten::narrow
# style: a metadata operator in plain torch
import torch
def narrow(self, dim, start, length):
    return torch.narrow(self, dim, start, length)
def narrow_Tensor(self, dim, start, length):
    return torch.narrow(self, dim, start.item(), length)
