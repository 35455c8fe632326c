# operator: aten::add
# expect: verify\.(varying_parameters|host_dependent|mutation|mismatch)
# changes an input from its sixth call on
# catalogue: 78
import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x, y, out, n, alpha, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(out + i, tl.load(x + i, mask=m) + alpha * tl.load(y + i, mask=m), mask=m)


def add(self, other, alpha):
    out = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    if out.numel():
        add_kernel[(triton.cdiv(out.numel(), 256),)](self.contiguous(), other.contiguous(), out, out.numel(), alpha,
                                                     BLOCK=256)
    return out


CALLS = []


def add_Tensor(self, other, *, alpha=1):
    out = add(self, other, alpha)
    CALLS.append(1)
    if len(CALLS) > 5 and self.shape == other.shape:
        other.copy_(out)
    return out
