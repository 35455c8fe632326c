# SPDX-License-Identifier: MIT
"""aten::soft_margin_loss without the overflows of PyTorch's, whose exp and sums are those of the type, float16 too."""

import torch


def reduced(losses, reduction):
    return losses.mean() if reduction == 1 else losses.sum() if reduction == 2 else losses


def losses_of(z):
    return z.clamp(min=0) + torch.log1p(torch.exp(-z.abs()))


def soft_margin_loss(self, target, reduction=1):
    """Computed in float32, or in float64 where that is given; one rounding at the end."""
    wide = torch.float64 if self.dtype == torch.float64 else torch.float32
    return reduced(losses_of(-target.to(wide) * self.to(wide)), reduction).to(self.dtype)


def magnitude(self, target, reduction=1):
    """exp turns the rounding of its argument into a relative error as large as the argument."""
    z = -target.double() * self.double()
    return reduced(losses_of(z) * (1 + (-z).clamp(min=0)), reduction)
