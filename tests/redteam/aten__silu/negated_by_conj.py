# operator: aten::silu
# expect: cheat\.torch_compute|l1\.\w+
# catalogue: 93
# the imaginary part of a conjugated view is the negative: torch computes it while it copies
import torch
import triton
import triton.language as tl


@triton.jit
def silu_of_negative(z_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    z = tl.load(z_ptr + at, mask=at < n).to(tl.float32)
    tl.store(y_ptr + at, (-z / (1 + tl.exp(z))).to(y_ptr.dtype.element_ty), mask=at < n)


def silu(self):
    x = self.contiguous()
    pairs = torch.zeros(x.numel(), 2, dtype=torch.float32, device=x.device)
    pairs[:, 1].copy_(x.view(-1))
    z = torch.view_as_complex(pairs).conj().imag.clone()
    y = torch.empty_like(x)
    if y.numel():
        silu_of_negative[(triton.cdiv(y.numel(), 1024),)](z, y, y.numel(), BLOCK=1024)
    return y


def silu_out(self, *, out):
    return out.copy_(silu(self))
