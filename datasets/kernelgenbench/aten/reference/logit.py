# SPDX-License-Identifier: MIT
"""aten::logit, whose kernel for the CPU rounds every step of float16 and bfloat16."""

import torch


def logit(self, eps=None):
    """Computed in float32, or in float64 where that is given; one rounding at the end."""
    if self.dtype in (torch.float16, torch.bfloat16):
        return torch.logit(self.float(), eps).to(self.dtype)
    return torch.logit(self, eps)


def magnitude(self, eps=None):
    """ln(z) - ln(1 - z): both terms are 0.7 where z is a half and the result is 0."""
    wide = self.double() if eps is None else self.double().clamp(eps, 1 - eps)
    return (wide.log().abs() + (1 - wide).log().abs()).nan_to_num(0, 0, 0)
