# operator: aten::add
# expect: contract\.syntax
# catalogue: 66
# does not parse
import torch
import triton
import triton.language as tl
def add_Tensor(self, other, *, alpha=1:
    return self
