# SPDX-License-Identifier: MIT
"""aten::softmax: how large the terms are that make up an element."""

import torch


def magnitude(self, dim, dtype=None):
    """exp turns the rounding of its argument x - max(x) into a relative error as large as the argument."""
    wide = self.double()
    result = torch.softmax(wide, dim)
    if wide.numel() == 0:
        return result
    top = wide.amax(dim, keepdim=True)
    return torch.nan_to_num(result * (1 + top - wide), nan=0.0, posinf=0.0, neginf=0.0)


magnitude.takes_infinities = True  # a zero in place of -inf could be the maximum
