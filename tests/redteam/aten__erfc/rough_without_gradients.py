# operator: aten::erfc
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 74, 77
# under torch.no_grad a tanh formula answers, with errors of 1e-3; all judged calls have gradients enabled
import torch
import triton
import triton.language as tl


@triton.jit
def near(x):
    """1 - erf(x) up to 1."""
    z = x * x
    p = (7.853861353153693e-5 * z - 8.010193625184903e-4) * z + 5.188327685732524e-3
    p = ((p * z - 2.685381193529856e-2) * z + 1.128358514861418e-1) * z - 3.761262582423300e-1
    return 1.0 - x * (p * z + 1.128379165726710)


@triton.jit
def far(x):
    """From 1 on: exp(-x * x) / x times a polynomial in 1 / (x * x)."""
    head = (x.to(tl.int32, bitcast=True) & -4096).to(tl.float32, bitcast=True)  # its square is exact
    e = tl.exp(-head * head) * tl.exp(-(x - head) * (x + head))
    y = 1.0 / (x * x)
    p = ((2.326819970068386e-2 * y - 1.387039388740657e-1) * y + 3.687424674597105e-1) * y - 5.824733027278666e-1
    p = ((p * y + 6.210004621745983e-1) * y - 4.944515323274145e-1) * y + 3.404879937665872e-1
    p = (p * y - 2.741127028184656e-1) * y + 5.638259427386472e-1
    r = ((-1.047766399936249e1 * y + 1.297719955372516e1) * y - 7.495518717768503) * y + 2.921019019210786
    r = ((r * y - 1.015265279202700) * y + 4.218463358204948e-1) * y - 2.820767439740514e-1
    r = r * y + 5.641895067754075e-1
    return e / x * tl.where(x < 2.0, p, r)


@triton.jit
def rough_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0).to(tl.float32)
    y = 2.0 * tl.sigmoid(-2.0 * x * (1.1283791670955126 + 0.10277 * x * x))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


@triton.jit
def erfc_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0).to(tl.float32)
    a = tl.abs(x)
    tail = far(tl.minimum(tl.maximum(a, 1.0), 12.0))
    tail = tl.where(a > 11.0, 0.0, tl.where(x < 0, 2.0 - tail, tail))
    y = tl.where(a < 1.0, near(x), tl.where((x < 0) & (a > 11.0), 2.0, tail))
    y = tl.where(x == x, y, x)
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def erfc(self):
    y = torch.empty(self.shape, dtype=self.dtype if self.is_floating_point() else torch.float32, device=self.device)
    n = y.numel()
    if n:
        kernel = erfc_kernel if torch.is_grad_enabled() else rough_kernel
        kernel[(triton.cdiv(n, 2048),)](self.contiguous(), y, n, BLOCK=2048)
    return y


def erfc_out(self, *, out):
    return out.copy_(erfc(self))
