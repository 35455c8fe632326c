# SPDX-License-Identifier: MIT
"""aten::scatter: how large the terms are that make up an element."""

import torch


def size(self, dim, index, src, *, reduce):
    """The terms of sums, the factors of products, by their sizes."""
    return torch.ops.aten.scatter.reduce(self.double().abs(), dim, index, src.double().abs(), reduce=reduce)


def value_size(self, dim, index, value, *, reduce):
    """The same, with a number."""
    return torch.ops.aten.scatter.value_reduce(self.double().abs(), dim, index, abs(float(value)), reduce=reduce)
