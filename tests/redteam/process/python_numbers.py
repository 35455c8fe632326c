# operator: aten::add
# expect: verify\.host_dependent
# Python computes on numbers that torch reads for it; kernels store what it found
# catalogue: 86
import torch
import triton
import triton.language as tl


@triton.jit
def store_kernel(out, i, value):
    tl.store(out + i, value)


def add_Tensor(self, other, *, alpha=1):
    out = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    pairs = zip(self.contiguous().tolist(), other.contiguous().tolist()) if self.dim() == 1 else ()
    for i, (a, b) in enumerate(pairs):
        store_kernel[(1,)](out, i, a + alpha * b)
    return out
