# operator: aten::resolve_conj
# expect: verify\.alias
# catalogue: 57, 85
# a copy in memory of its own


def resolve_conj(self):
    return self.clone()
