# operator: aten::select
# expect: verify\.alias
# catalogue: 57, 85
# a slice of a fresh copy
import torch


def select_int(self, dim, index):
    return self.clone().select(dim, index)
