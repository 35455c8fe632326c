# operator: aten::as_strided
# expect: verify\.(alias|exception)
# catalogue: 84
# counts from the first element of self instead of the storage's
import torch


def as_strided(self, size, stride, storage_offset=None):
    return torch.as_strided(self, size, stride, self.storage_offset() + (storage_offset or 0))
