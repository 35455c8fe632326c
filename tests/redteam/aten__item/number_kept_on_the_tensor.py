# operator: aten::item
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 40, 47
# the number is kept as an attribute of the tensor: after zero_() or another change in place the old number comes back


def item(self):
    number = getattr(self, "number", None)
    if number is None:
        number = self.number = self.item()
    return number
