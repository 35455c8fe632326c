# SPDX-License-Identifier: MIT
"""How large the two terms of aten::rsub are."""


def size(self, other, alpha=1):
    """other - alpha * self: both terms by their size."""
    return abs(other) + abs(alpha) * self.abs()
