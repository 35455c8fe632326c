# operator: aten::expand
# expect: verify\.(shape|exception)
# catalogue: 84
# takes -1 for a size of 1
import torch


def expand(self, size, *, implicit=False):
    return self.expand([1 if wanted == -1 else wanted for wanted in size])
