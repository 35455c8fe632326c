# operator: aten::expand
# style: sizes and strides worked out in Python, then one as_strided
import torch


def expand(self, size, *, implicit=False):
    new = len(size) - self.dim()
    sizes, strides = [], []
    for d, wanted in enumerate(size):
        if d < new:
            sizes.append(wanted)
            strides.append(0)
            continue
        have, stride = self.shape[d - new], self.stride(d - new)
        wanted = have if wanted == -1 else wanted
        sizes.append(wanted)
        strides.append(0 if have == 1 and wanted != 1 else stride)
    return self.as_strided(sizes, strides)
