# operator: aten::t
# expect: verify\.(strides|mismatch|exception)
# catalogue: 84, 85
# the right shape over the right memory, in the wrong order
import torch


def t(self):
    return self.as_strided((self.shape[1], self.shape[0]), (self.shape[0], 1)) if self.dim() == 2 else self
