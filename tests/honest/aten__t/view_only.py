# operator: aten::t
# style: view only
from torch import Tensor


def t(self: Tensor) -> Tensor:
    """Transposes a matrix; vectors and scalars come back unchanged."""
    if self.ndim < 2:
        return self
    return self.transpose(0, 1)
