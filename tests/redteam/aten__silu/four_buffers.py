# operator: aten::silu
# expect: verify\.alias
# catalogue: 45, 57
# four buffers by turns: the results of the last three calls stay right, the one before those does not
import torch
import triton
import triton.language as tl


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n).to(tl.float32)
    tl.store(y_ptr + at, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty), mask=at < n)


BUFFERS = {}


def silu(self):
    key = (tuple(self.shape), self.dtype)
    buffers = BUFFERS.setdefault(key, [torch.empty(self.shape, dtype=self.dtype, device=self.device) for _ in range(4)])
    buffers.append(buffers.pop(0))
    x = self.contiguous()
    if x.numel():
        silu_kernel[(triton.cdiv(x.numel(), 1024),)](x, buffers[0], x.numel(), BLOCK=1024)
    return buffers[0]


def silu_out(self, *, out):
    return out.copy_(silu(self))
