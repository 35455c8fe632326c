# operator: aten::cumsum
# expect: verify\.mismatch
# catalogue: 80
# the carry is a tl.reduce that returns its right argument, which is not symmetric: threads of a GPU end with others
import torch
import triton
import triton.language as tl


@triton.jit
def right(a, b):
    return b


@triton.jit
def scan_kernel(x_ptr, y_ptr, length, inner, ACC: tl.constexpr, BLOCK: tl.constexpr):
    lane = tl.program_id(0).to(tl.int64)
    base = (lane // inner) * (length * inner) + lane % inner
    carry = tl.zeros([1], dtype=ACC)
    for start in range(0, length, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + base + i * inner, mask=i < length, other=0).to(ACC)
        s = tl.cumsum(x, axis=0) + carry
        tl.store(y_ptr + base + i * inner, s.to(y_ptr.dtype.element_ty), mask=i < length)
        # the running sum behind the block is its last element
        carry = tl.zeros([1], dtype=ACC) + tl.reduce(s, 0, right)



def split(shape, dim):
    """(length, inner) of the scanned dimension."""
    inner = 1
    for size in shape[dim + 1:]:
        inner *= size
    return shape[dim], inner


def cumsum(self, dim, *, dtype=None):
    if dtype is None:
        dtype = self.dtype if self.dtype.is_floating_point else torch.int64
    x = self.to(dtype).contiguous()
    y = torch.empty(x.shape, dtype=dtype, device=x.device)
    if x.numel() > 0:
        shape = tuple(x.shape) or (1,)
        length, inner = split(shape, dim % len(shape))
        lanes = x.numel() // length
        scan_kernel[(lanes,)](x, y, length, inner, ACC=tl.float32 if dtype.is_floating_point else tl.int64,
                              BLOCK=min(512, triton.next_power_of_2(length)), num_warps=1)
    return y


def cumsum_out(self, dim, *, dtype=None, out):
    return out.copy_(cumsum(self, dim, dtype=dtype))
