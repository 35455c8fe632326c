# SPDX-License-Identifier: MIT
"""aten::softplus_backward: how large the terms are that make up an element."""

import torch


def magnitude(grad_output, self, beta, threshold):
    """exp turns the rounding of its argument into a relative error as large as the argument; for large arguments the factor is 1."""
    wide = self.double() * beta
    return (grad_output.double() * torch.sigmoid(wide)).abs() * (1 + (-wide).clamp(min=0))
