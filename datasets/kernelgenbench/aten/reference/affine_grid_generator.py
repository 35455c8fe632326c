# SPDX-License-Identifier: MIT
"""The sizes of the terms of aten::affine_grid_generator, whose coordinates are of both signs."""

import torch


def terms(theta, size, align_corners, out=None):
    """abs(theta) times the terms of the coordinates, k / length and 1, added up: where these cancel their rounding stays."""
    n_dims = len(size) - 2
    grid = torch.ones([*size[2:], n_dims + 1], dtype=torch.float64, device=theta.device)
    for i, length in enumerate(reversed(size[2:])):
        at = torch.arange(length, dtype=torch.float64, device=theta.device)
        if length == 1:
            at.zero_()
        elif align_corners:
            at = at * 2 / (length - 1) - 1
        else:
            at = (at * 2 + 1) / length - 1
        shape = [1] * n_dims
        shape[n_dims - 1 - i] = length
        grid[..., i] = (at.abs() + (length > 1)).reshape(shape)
    flat = grid.reshape(1, -1, n_dims + 1)
    return (flat @ theta.double().abs().transpose(1, 2)).reshape(size[0], *size[2:], n_dims)
