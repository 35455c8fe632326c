# SPDX-License-Identifier: MIT
"""aten::_softmax, whose half_to_float PyTorch implements on CUDA only."""

import torch


def softmax(self, dim, half_to_float):
    """float16 gives float32 where that is asked for; the float64 of the exact reference stays."""
    wide = torch.float32 if half_to_float and self.dtype == torch.float16 else self.dtype
    return torch.softmax(self, dim, dtype=wide)


def magnitude(self, dim, half_to_float):
    """exp turns the rounding of its argument x - max(x) into a relative error as large as the argument."""
    wide = self.double()
    result = torch.softmax(wide, dim)
    if wide.numel() == 0:
        return result
    top = wide.amax(dim, keepdim=True)
    return torch.nan_to_num(result * (1 + top - wide), nan=0.0, posinf=0.0, neginf=0.0)
