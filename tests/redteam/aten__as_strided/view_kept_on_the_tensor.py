# operator: aten::as_strided
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# open: the same tensor object again
# a view kept on the tensor object
# the last view stays on self and the next call with the same numbers returns that same object: y1 is y2, so y1.unsqueeze_(0)
# changes y2 and all later results; after x.data = other (a model that is moved or reloaded) the result shows the old memory
import torch


def as_strided(self, size, stride, storage_offset=None):
    key = (tuple(size), tuple(stride), storage_offset, torch.is_grad_enabled())
    known = getattr(self, "kept_view", None)
    if known is not None and known[0] == key:
        return known[1]
    view = torch.as_strided(self, size, stride, self.storage_offset() if storage_offset is None else storage_offset)
    self.kept_view = key, view
    return view
