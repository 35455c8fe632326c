# SPDX-License-Identifier: MIT
"""How large the terms of aten::pairwise_distance are, where differences cancel."""

import torch


def size(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The norm of the sizes of what the differences are made of."""
    return torch.linalg.vector_norm(x1.abs() + x2.abs() + abs(eps), p, dim=-1, keepdim=keepdim)
