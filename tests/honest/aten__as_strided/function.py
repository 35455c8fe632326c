# operator: aten::as_strided
# style: the function instead of the method, the default offset written out
import torch


def as_strided(self, size, stride, storage_offset=None):
    first = self.storage_offset() if storage_offset is None else storage_offset
    return torch.as_strided(self, size, stride, first)
