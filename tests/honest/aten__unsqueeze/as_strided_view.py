# operator: aten::unsqueeze
# style: stride of the new dimension worked out in Python
def unsqueeze(self, dim):
    dim = dim + self.dim() + 1 if dim < 0 else dim
    sizes, strides = list(self.shape), list(self.stride())
    new = sizes[dim] * strides[dim] if dim < self.dim() else 1
    return self.as_strided([*sizes[:dim], 1, *sizes[dim:]], [*strides[:dim], new, *strides[dim:]])
