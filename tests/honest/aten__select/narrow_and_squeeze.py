# operator: aten::select
# style: indexing through narrow and squeeze
def select_int(self, dim, index):
    dim = dim + self.dim() if dim < 0 else dim
    index = index + self.size(dim) if index < 0 else index
    return self.narrow(dim, index, 1).squeeze(dim)
