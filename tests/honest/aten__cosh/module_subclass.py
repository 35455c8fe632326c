# operator: aten::cosh
# style: a torch.nn.Module made once
import torch
import triton
import triton.language as tl


@triton.jit
def cosh_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.abs(tl.load(x_ptr + at, mask=at < n, other=0).to(tl.float32))
    e = tl.exp(a)
    half = tl.exp(0.5 * a)
    y = tl.where(a < 80.0, 0.5 * e + 0.5 / e, 0.5 * half * half)
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


class Cosh(torch.nn.Module):
    def __init__(self, block: int = 1024) -> None:
        super().__init__()
        self.block = block

    def forward(self, self_: torch.Tensor) -> torch.Tensor:
        x = self_.contiguous()
        y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
        n = x.numel()
        if n:
            cosh_kernel[(triton.cdiv(n, self.block),)](x, y, n, BLOCK=self.block)
        return y


MODULE = Cosh()


def cosh(self):
    return MODULE(self)


def cosh_out(self, *, out):
    return out.copy_(cosh(self))
