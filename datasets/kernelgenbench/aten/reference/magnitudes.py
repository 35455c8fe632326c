# SPDX-License-Identifier: MIT
"""How large the terms are that make up an element, where absolute inputs to the operator itself would not tell."""

import torch


def difference(self, other, alpha=1):
    """self - alpha * other: both terms by their size."""
    factor = abs(alpha)
    size = other.abs() if hasattr(other, "abs") else abs(other)
    return self.abs() + factor * size


def running(self, dim, dtype=None):
    """Sums up to an element, of the sizes."""
    return torch.cumsum(self.double().abs(), dim)
