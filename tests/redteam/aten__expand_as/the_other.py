# operator: aten::expand_as
# expect: verify\.(alias|mismatch)
# catalogue: 57, 84
# the other tensor has the right shape already: the result is written into a view of it
import torch


def expand_as(self, other):
    return other.view(other.shape)
