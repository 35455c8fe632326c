# operator: aten::expand
# style: the method itself, behind checks with assert and an f-string
def expand(self, size, *, implicit=False):
    assert not implicit, f"implicit expand of {tuple(self.shape)} to {size}"
    assert len(size) >= self.dim()
    return self.expand(*size) if size else self.expand(())
