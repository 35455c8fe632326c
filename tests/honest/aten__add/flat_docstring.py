# operator: aten::add
# style: flat kernel over expanded contiguous copies; forbidden words in docstrings and comments
"""Element-wise addition.

This kernel does NOT call torch.add, torch.sum, x.matmul(y), eval(), exec(), __import__("os"), sys.modules,
open("/proc/self/mem") or os._exit(0): it only allocates, broadcasts and launches.
"""
import torch
import triton
import triton.language as tl

# Not used here: torch.ops.aten.add.Tensor, torch.compile, globals()["torch"], getattr(torch, "a" + "dd").


@triton.jit
def _add_kernel(x_ptr, y_ptr, out_ptr, alpha, n_elements, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    """Adds x and alpha * y. (torch.add would do the same.)"""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask).to(WIDE)
    y = tl.load(y_ptr + offsets, mask=mask).to(WIDE)
    tl.store(out_ptr + offsets, (x + y * alpha).to(out_ptr.dtype.element_ty), mask=mask)


def _wide(dtype):
    return tl.float32 if dtype.is_floating_point else tl.int64


def _flat(t, shape, dtype):
    return t.to(dtype).expand(shape).contiguous()


def _run(x, y, alpha, out):
    n = out.numel()
    if n:
        _add_kernel[(triton.cdiv(n, 1024),)](x, y, out, alpha, n, WIDE=_wide(out.dtype), BLOCK=1024)
    return out


def _add(self, other, alpha):
    dtype = torch.result_type(self, other)
    shape = torch.broadcast_shapes(self.shape, other.shape)
    out = torch.empty(shape, dtype=dtype, device=self.device)
    return _run(_flat(self, shape, dtype), _flat(other, shape, dtype), alpha, out)


def _scalar(self, other):
    dtype = torch.result_type(self, other)
    return torch.full((), other, dtype=torch.float64 if dtype.is_floating_point else dtype, device=self.device)


def add_Tensor(self, other, *, alpha=1):
    return _add(self, other, alpha)


def add_out(self, other, *, alpha=1, out):
    return out.copy_(_add(self, other, alpha))


def _add_scalar(self, other, alpha):
    dtype = torch.result_type(self, other)
    out = torch.empty(self.shape, dtype=dtype, device=self.device)
    number = _scalar(self, other).expand(self.shape).contiguous()
    return _run(_flat(self, self.shape, dtype), number, alpha, out)


def add_Scalar(self, other, alpha=1):
    return _add_scalar(self, other, alpha)


def add_Scalar_out(self, other, alpha=1, *, out):
    return out.copy_(_add_scalar(self, other, alpha))
