# operator: aten::silu
# expect: verify\.(mismatch|exception)
# catalogue: 84
# outer dimensions are taken to lie one behind the other: wrong for a slice of a middle dimension (x[:, :5]) and for x.permute(1, 0, 2)
import torch
import triton
import triton.language as tl


def packed(x):
    """x with its outer dimensions one behind the other in memory, as all usual layouts have them."""
    if x.dim() < 3 or x.numel() == 0 or (x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last)):
        return x
    steps = list(x.stride())
    for d in range(x.dim() - 3, -1, -1):
        if steps[d] != 0:
            steps[d] = max(step * size for step, size in zip(steps[d + 1:], x.shape[d + 1:]))
    return x.as_strided(x.shape, steps, x.storage_offset())


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.minimum(tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), n - 1)
    x = tl.load(x_ptr + at).to(tl.float32)
    tl.store(y_ptr + at, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty))


def silu(self):
    x = packed(self).contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n > 0:
        silu_kernel[(triton.cdiv(n, 2048),)](x, y, n, BLOCK=2048)
    return y


def silu_out(self, *, out):
    return out.copy_(silu(self))
