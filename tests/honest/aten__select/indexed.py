# operator: aten::select
# style: indexing with a tuple made of slices
def select_int(self, dim, index):
    at = [slice(None)] * self.dim()
    at[dim] = index
    return self[tuple(at)]
