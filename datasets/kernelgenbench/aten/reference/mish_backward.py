# SPDX-License-Identifier: MIT
"""How large the terms of aten::mish_backward are, which cancel near -1.2."""

import torch


def size(grad_output, self):
    """exp turns the rounding of its argument, and of x * log2(e) before exp2, into a relative error as large as the argument."""
    wide = self.double()
    tanh = torch.tanh(torch.nn.functional.softplus(wide))
    terms = tanh + wide.abs() * torch.sigmoid(wide) * (1 - tanh * tanh)
    return grad_output.double().abs() * terms * (1 + (-wide).clamp(min=0))
