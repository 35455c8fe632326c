# SPDX-License-Identifier: MIT
"""How large the terms are that make up an element, where absolute inputs to the operator itself would not tell."""

import torch


def difference(self, other, alpha=1):
    """self - alpha * other: both terms by their size."""
    size = other.double().abs() if hasattr(other, "abs") else abs(float(other))
    return self.double().abs() + abs(float(alpha)) * size


def running(self, dim, dtype=None):
    """Sums up to an element, of the sizes."""
    return torch.cumsum(self.double().abs(), dim)


def repeated_difference(self, n=1, dim=-1, prepend=None, append=None):
    """n times, each element takes the sizes of two neighbours."""
    sizes = torch.cat([part.double().abs() for part in (prepend, self, append) if part is not None], dim)
    for _ in range(min(n, sizes.shape[dim])):
        rest = sizes.shape[dim] - 1
        sizes = sizes.narrow(dim, 0, rest) + sizes.narrow(dim, 1, rest)
    return sizes


def renorm(self, p, dim, maxnorm):
    """Powers and roots by way of logarithms err by the logarithms of the elements and of the norm."""
    order = float(p) or torch.inf  # a magnitude gets 0 for infinity
    result = torch.renorm(self, order, dim, maxnorm).double().abs()
    if order in (1.0, 2.0, torch.inf) or self.numel() == 0:
        return result
    logs = torch.where(self == 0, 0.0, self.double().abs().log2().abs())
    rest = [k for k in range(self.dim()) if k != dim % self.dim()]
    return result * (1 + (logs.amax(rest, keepdim=True) if rest else logs))
