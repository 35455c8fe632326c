# operator: aten::resolve_neg
# expect: verify\.alias
# catalogue: 57, 85
# a copy in memory of its own


def resolve_neg(self):
    return self.clone()
