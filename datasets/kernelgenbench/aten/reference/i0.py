# SPDX-License-Identifier: MIT
"""aten::i0: how large the terms are that make up an element."""

import torch


def magnitude(self):
    """exp turns the rounding of its argument, and of x * log2(e) before exp2, into a relative error as large as the argument."""
    wide = self.double()
    return torch.special.i0(wide) * (1 + wide.abs())
