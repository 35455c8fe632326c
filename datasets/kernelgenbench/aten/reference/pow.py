# SPDX-License-Identifier: MIT
"""How exactly aten::pow can be computed: exp makes the rounding of exponent * ln(self) a relative error of that size."""

import torch


def size(self, exponent):
    result = torch.pow(self, exponent).double().abs()
    base = (self.double() if isinstance(self, torch.Tensor) else torch.tensor(float(self), dtype=torch.float64)).abs()
    power = exponent.double() if isinstance(exponent, torch.Tensor) else float(exponent)
    argument = torch.nan_to_num(power * torch.log(base), nan=0.0, posinf=0.0, neginf=0.0).abs()
    return result * (1 + argument)


def by_number(self, exponent):
    """-0.5 may be the reciprocal of the root, as natively, or C's pow, as here in float64: they differ for -inf."""
    if isinstance(exponent, float) and exponent == -0.5 and self.dtype == torch.float64:
        return torch.pow(self, torch.full_like(self, exponent))
    return torch.pow(self, exponent)
