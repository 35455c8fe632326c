# operator: aten::unsqueeze
# expect: verify\.shape
# catalogue: 79, 84
# puts the new dimension in front whatever is asked for
import torch


def unsqueeze(self, dim):
    return self[None]
