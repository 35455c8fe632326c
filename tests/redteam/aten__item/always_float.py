# operator: aten::item
# expect: verify\.type
# catalogue: 85
# a float for whole numbers too, which loses what does not fit into it


def item(self):
    return float(self.item())
