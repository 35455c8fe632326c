# SPDX-License-Identifier: MIT
"""aten::silu: how large the terms are that make up an element."""

import torch


def magnitude(self):
    """exp turns the rounding of its argument, and of x * log2(e) before exp2, into a relative error as large as the argument."""
    wide = self.double()
    return torch.nn.functional.silu(wide).abs() * (1 + (-wide).clamp(min=0))
