# SPDX-License-Identifier: MIT
"""How large the terms of aten::margin_ranking_loss are."""


def size(input1, input2, target, margin=0.0, reduction=1):
    """target * (input1 - input2) and margin by their sizes, averaged or added up like the losses."""
    sizes = target.abs() * (input1.abs() + input2.abs()) + abs(margin)
    return sizes.mean() if reduction == 1 else sizes.sum() if reduction == 2 else sizes
