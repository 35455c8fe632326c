# operator: aten::select
# style: narrow and squeeze
import torch


def select_int(self, dim, index):
    size = self.shape[dim]
    return self.narrow(dim, index + size if index < 0 else index, 1).squeeze(dim)
