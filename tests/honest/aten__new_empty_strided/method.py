# operator: aten::new_empty_strided
# style: method of the tensor
def new_empty_strided(self, size, stride, *, dtype=None):
    return self.new_empty_strided(size, stride, dtype=dtype if dtype is not None else self.dtype)
