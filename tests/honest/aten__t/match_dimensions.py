# operator: aten::t
# style: match on the number of dimensions, permute
def t(self):
    match self.dim():
        case 2:
            return self.permute(1, 0)
        case 0 | 1:
            return self
        case n:
            raise ValueError(f"t() expects at most 2 dimensions, got {n}")
