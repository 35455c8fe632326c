# operator: aten::unsafe_split_with_sizes
# style: generator of narrow views
import torch


def _parts(self, split_sizes, dim):
    begin = 0
    for length in split_sizes:
        yield self.narrow(dim, begin, length)
        begin += length


def unsafe_split_with_sizes(self, split_sizes, dim=0):
    return tuple(_parts(self, split_sizes, dim))


def unsafe_split_with_sizes_out(self, split_sizes, dim=0, *, out):
    for target, part in zip(out, _parts(self.detach(), split_sizes, dim)):
        target.copy_(part)
    return None
