# operator: aten::unsafe_split
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 84
# open: lengths of lists
# the variant with out copies three parts at most: tensors of out from the fourth on keep what they held; wrong:
# unsafe_split_Tensor_out(torch.ones(8), 2, 0, out=[torch.zeros(2) for _ in range(4)]): the last stays 0
import torch


def unsafe_split_Tensor(self, split_size, dim=0):
    return list(torch.split(self, split_size, dim))


def unsafe_split_Tensor_out(self, split_size, dim=0, *, out):
    first, second, third = (*torch.split(self, split_size, dim), None, None)[:3]
    for target, part in zip(out, (first, second, third)):
        if part is not None:
            target.copy_(part)
