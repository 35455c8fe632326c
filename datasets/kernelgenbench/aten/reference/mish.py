# SPDX-License-Identifier: MIT
"""aten::mish: how large the terms are that make up an element."""

import torch


def magnitude(self):
    """log(1 + exp(x)) as it is written rounds 1 + exp(x), and so do exponential forms of tanh: an error of one spacing of 1, times x.
    Below -17 exp(x) is less than that spacing in float32, and the terms vanish."""
    return torch.where(self < 0, self.abs().clamp(max=17), self.abs())
