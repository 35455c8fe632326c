# SPDX-License-Identifier: MIT
"""aten::bmm.dtype, which PyTorch implements on CUDA only."""

import torch


def bmm_dtype(self, mat2, out_dtype):
    """Products and sums in float32, or in float64 where that is asked for; one rounding at the end."""
    wide = torch.float64 if torch.float64 in (self.dtype, out_dtype) else torch.float32
    return torch.bmm(self.to(wide), mat2.to(wide)).to(out_dtype)
