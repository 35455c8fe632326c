# operator: aten::_local_scalar_dense
# style: the element as a Python number


def _local_scalar_dense(self):
    return self.item()
