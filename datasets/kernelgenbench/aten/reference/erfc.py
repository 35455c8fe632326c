# SPDX-License-Identifier: MIT
"""aten::erfc: how large the terms are that make up an element."""

import torch


def magnitude(self):
    """exp(-x * x) turns the rounding of its argument, and of x * x * log2(e) before exp2, into a relative error as large as that."""
    wide = self.double()
    return torch.special.erfc(wide) + torch.special.erfc(wide.abs()) * wide * wide
