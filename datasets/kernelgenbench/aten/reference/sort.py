# SPDX-License-Identifier: MIT
"""aten::sort, whose order of equal elements PyTorch leaves open: stable here, so that the indices are determined."""

import torch


def sort(self, dim=-1, descending=False):
    return torch.sort(self, dim=dim, descending=descending, stable=True)
