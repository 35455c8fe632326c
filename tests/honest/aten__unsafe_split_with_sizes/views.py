# operator: aten::unsafe_split_with_sizes
# style: views by torch.split, as a list
import torch
def unsafe_split_with_sizes(self, split_sizes, dim=0):
    return list(torch.split(self, split_sizes, dim))
def unsafe_split_with_sizes_out(self, split_sizes, dim=0, *, out):
    for o, p in zip(out, torch.split(self, split_sizes, dim)):
        o.copy_(p)
