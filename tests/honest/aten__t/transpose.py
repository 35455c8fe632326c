# operator: aten::t
# style: no kernel at all, a view; the docstring names what is not used
"""Nothing is computed here: no torch.mm, no exec, no cache."""


def t(self):
    return self.transpose(0, 1) if self.dim() == 2 else self
