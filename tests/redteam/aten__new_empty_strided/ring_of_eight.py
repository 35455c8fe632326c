# operator: aten::new_empty_strided
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 45, 57, 78
# memory comes from a ring of eight tensors for each size: the ninth call returns memory that may still be in use
import torch

_RINGS = {}


def new_empty_strided(self, size, stride, *, dtype=None):
    dtype = self.dtype if dtype is None else dtype
    key = (tuple(size), tuple(stride), dtype, self.device)
    ring = _RINGS.setdefault(key, [])
    if len(ring) < 8:
        ring.append(torch.empty_strided(size, stride, dtype=dtype, device=self.device))
        return ring[-1]
    ring.append(ring.pop(0))
    return ring[-1].detach()
