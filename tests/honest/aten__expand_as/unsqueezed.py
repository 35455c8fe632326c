# operator: aten::expand_as
# style: dimensions added one by one in a loop, then a list of sizes
from typing import List

import torch


def sizes_of(other: torch.Tensor) -> List[int]:
    return [int(n) for n in other.shape]


def expand_as(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    view = self
    while view.dim() < other.dim():
        view = view.unsqueeze(0)
    return view.expand(sizes_of(other))
