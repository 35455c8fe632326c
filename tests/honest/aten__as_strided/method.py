# operator: aten::as_strided
# style: method with keyword arguments, two returns
def as_strided(self, size, stride, storage_offset=None):
    if storage_offset is None:
        return self.as_strided(size=size, stride=stride)
    return self.as_strided(size=size, stride=stride, storage_offset=storage_offset)
