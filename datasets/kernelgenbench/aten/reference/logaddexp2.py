# SPDX-License-Identifier: MIT
"""How large the terms of aten::logaddexp2 are."""

import torch


def size(self, other):
    """max + log2(1 + 2^-distance): both by their size, the second at most 1."""
    return torch.maximum(self.abs(), other.abs()) + 1
