# operator: aten::erfc
# style: @triton.heuristics chooses block and warps, libdevice.erfc, strided output by copy
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


def _block(args):
    return 256 if args["n"] < 16384 else 1024


@triton.heuristics({
    "BLOCK": _block,
    "num_warps": lambda args: 2 if args["n"] < 16384 else 4,
})
@triton.jit
def erfc_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside, other=0)
    if y_ptr.dtype.element_ty == tl.float64:
        y = libdevice.erfc(x.to(tl.float64))
    else:
        y = libdevice.erfc(x.to(tl.float32))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=inside)


def _erfc(x, y):
    n = x.numel()
    if n > 0:
        erfc_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x.contiguous(), y, n)


def erfc(self):
    dtype = self.dtype if self.dtype.is_floating_point else torch.float32
    y = torch.empty(self.shape, dtype=dtype, device=self.device)
    _erfc(self, y)
    return y


def erfc_out(self, *, out):
    if out.is_contiguous():
        _erfc(self, out)
        return out
    y = torch.empty(out.shape, dtype=out.dtype, device=out.device)
    _erfc(self, y)
    out.copy_(y)
    return out
