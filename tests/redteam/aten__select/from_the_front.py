# operator: aten::select
# expect: verify\.alias
# catalogue: 84
# counts negative indices from the front
import torch


def select_int(self, dim, index):
    return self.select(dim, abs(index) % self.shape[dim])
