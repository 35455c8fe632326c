# SPDX-License-Identifier: MIT
"""aten::log_sigmoid_backward as it is on CUDA, where the buffer is not read; on a CPU PyTorch takes exp(-abs(self)) from it."""

import torch


def log_sigmoid_backward(grad_output, self, buffer):
    """Computed in float32, or in float64 where that is given; one rounding at the end."""
    wide = torch.float64 if self.dtype == torch.float64 else torch.float32
    x = self.to(wide)
    return torch.ops.aten.log_sigmoid_backward(grad_output.to(wide), x, torch.exp(-x.abs())).to(self.dtype)


def magnitude(grad_output, self, buffer):
    """exp turns the rounding of its argument into a relative error as large as the argument."""
    wide = self.double()
    return (grad_output.double() * torch.sigmoid(-wide)).abs() * (1 + wide.clamp(min=0))
