# operator: aten::unsqueeze
# style: a negative dimension wrapped by % in an expression
def _wrapped(x, dim):
    return dim % (x.dim() + 1)


def unsqueeze(self, dim):
    x = self
    at = dim % (x.dim() + 1)
    assert at == _wrapped(x, dim)
    return x[(slice(None),) * at + (None,)]
