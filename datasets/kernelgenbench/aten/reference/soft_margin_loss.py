# SPDX-License-Identifier: MIT
"""aten::soft_margin_loss without the overflows of PyTorch's, whose exp and sums are those of the type, float16 too."""

import torch


def soft_margin_loss(self, target, reduction=1):
    """Computed in float32, or in float64 where that is given; one rounding at the end."""
    wide = torch.float64 if self.dtype == torch.float64 else torch.float32
    z = -target.to(wide) * self.to(wide)
    losses = z.clamp(min=0) + torch.log1p(torch.exp(-z.abs()))
    result = losses.mean() if reduction == 1 else losses.sum() if reduction == 2 else losses
    return result.to(self.dtype)
