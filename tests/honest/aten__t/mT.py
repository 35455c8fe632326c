# operator: aten::t
# style: fresh round of 2026-11-30
def t(self):
    return self.mT if self.ndim == 2 else self
