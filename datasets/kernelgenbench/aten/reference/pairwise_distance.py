# SPDX-License-Identifier: MIT
"""How large the terms of aten::pairwise_distance are, where differences cancel."""

import torch


def size(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The norm of the sizes of what the differences are made of. Where their powers are below the smallest float32 they are flushed to
    zero: as an error that is the root of that number, and 8 eps of a magnitude are allowed. Where they are above the largest one they
    overflow, which torch avoids in rows of one element: an infinity is allowed for magnitudes above that number. Powers of other
    exponents than 1 and 2 are exponentials: the rounding of p * ln(d) becomes a relative error of its size, of which the root leaves
    the p-th part."""
    norm = torch.linalg.vector_norm(x1.abs() + x2.abs() + abs(eps), p, dim=-1, keepdim=keepdim)
    limits = torch.finfo(torch.float32)
    overflows = norm.pow(p) > limits.max
    if p not in (0, 1, 2):
        norm = norm * (1 + torch.nan_to_num(torch.log(norm), nan=0.0, posinf=0.0, neginf=0.0).abs())
    norm = torch.where(overflows, 4 * limits.max, norm)
    return norm.clamp(min=limits.tiny ** (1 / p) / (8 * limits.eps)) if 0 < p < float("inf") else norm
