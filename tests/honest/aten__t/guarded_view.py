# operator: aten::t
# style: no kernel, a guarded view helper that leaves low ranks alone
"""The transposed view of a matrix; nothing is copied."""

MATRIX_RANK = 2


def _is_matrix(tensor):
    return tensor.dim() == MATRIX_RANK


def t(self):
    if not _is_matrix(self):
        return self
    return self.transpose(0, 1)
