# operator: aten::select
# style: sizes, strides and offset computed in a dataclass, as_strided at the end
import dataclasses

import torch


@dataclasses.dataclass
class Geometry:
    sizes: list
    strides: list
    offset: int

    @classmethod
    def of(cls, t: torch.Tensor) -> "Geometry":
        return cls(list(t.shape), list(t.stride()), t.storage_offset())

    def without(self, dim: int, index: int) -> "Geometry":
        size, stride = self.sizes.pop(dim), self.strides.pop(dim)
        self.offset += stride * (index + size if index < 0 else index)
        return self


def select_int(self, dim, index):
    g = Geometry.of(self).without(dim, index)
    return self.as_strided(g.sizes, g.strides, g.offset)
