# operator: aten::neg
# expect: verify\.(mismatch|exception)
# catalogue: 84
# the last dimension never has stride 0: wrong for x[:, :1].expand(-1, n)
import torch
import triton
import triton.language as tl


def with_steps(x):
    """A step of 0 along the last dimension only occurs where there is one element."""
    if x.dim() < 2:
        return x
    return x.as_strided(x.shape, (*x.stride()[:-1], x.stride(-1) or 1), x.storage_offset())


@triton.jit
def _neg(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, -x, mask=at < n)


def neg(self):
    x = with_steps(self).contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        _neg[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


def neg_out(self, *, out):
    return out.copy_(neg(self))
