# operator: aten::unsafe_split
# style: narrow views in a list comprehension, copies of detached parts for the out overload
def _parts(self, split_size, dim):
    size = self.shape[dim]
    return [self.narrow(dim, start, min(split_size, size - start)) for start in range(0, size, split_size)]


def unsafe_split_Tensor(self, split_size, dim=0):
    return _parts(self, split_size, dim)


def unsafe_split_Tensor_out(self, split_size, dim=0, *, out):
    for target, part in zip(out, _parts(self.detach(), split_size, dim)):
        target.copy_(part)
