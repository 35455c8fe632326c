# operator: aten::as_strided
# style: method call
import torch


def as_strided(self: torch.Tensor, size, stride, storage_offset=None) -> torch.Tensor:
    if storage_offset is None:
        storage_offset = self.storage_offset()
    return self.as_strided(size, stride, storage_offset)
