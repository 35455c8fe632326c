# operator: aten::floor
# style: one kernel for each kind of type, chosen by a dict of functions; comments that name forbidden things
import torch
import triton
import triton.language as tl

# No eval(), exec(), os.environ or torch.floor here, although this comment says so.


@triton.jit
def round_down(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, tl.floor(x.to(tl.float32)).to(x.dtype), mask=at < n)


@triton.jit
def keep(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """Whole numbers already."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


KERNELS = {True: round_down, False: keep}


def _floor(x, y):
    n = x.numel()
    if n:
        KERNELS[x.is_floating_point()][(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)
    return y


def floor(self):
    x = self.contiguous()
    return _floor(x, torch.empty_like(x))


def floor_out(self, *, out):
    if out.is_contiguous():
        return _floor(self.contiguous(), out)
    out.copy_(floor(self))
    return out
