# operator: aten::item
# style: the tensor's own way


def item(self):
    return self.item()
