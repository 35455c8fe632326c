# operator: aten::t
# expect: verify\.alias
# catalogue: 57, 85
# a copy has the right values, but whoever writes into it does not write into the original
import torch


def t(self):
    return self.transpose(0, 1).contiguous().clone() if self.dim() == 2 else self.clone()
