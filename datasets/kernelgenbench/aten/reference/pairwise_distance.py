# SPDX-License-Identifier: MIT
"""How large the terms of aten::pairwise_distance are, where differences cancel."""

import torch


def size(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The norm of the sizes of what the differences are made of. Where their powers are below the smallest float32 they are flushed to
    zero: as an error that is the root of that number, and 8 eps of a magnitude are allowed."""
    norm = torch.linalg.vector_norm(x1.abs() + x2.abs() + abs(eps), p, dim=-1, keepdim=keepdim)
    limits = torch.finfo(torch.float32)
    return norm.clamp(min=limits.tiny ** (1 / p) / (8 * limits.eps)) if 0 < p < float("inf") else norm
