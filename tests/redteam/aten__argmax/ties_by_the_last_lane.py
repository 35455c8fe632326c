# operator: aten::argmax
# expect: verify\.race
# catalogue: 81
# all places of the maximum are stored at one address, in descending order: on a GPU any of them may stay
import torch
import triton
import triton.language as tl


@triton.jit
def argmax_kernel(x_ptr, o_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    top = tl.load(x_ptr + row * cols)
    has_nan = top != top
    for start in range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * cols + c, mask=c < cols, other=0)
        x = tl.where(c < cols, x, top)
        is_nan = x != x
        has_nan = has_nan | (tl.max(is_nan.to(tl.int32), axis=0) > 0)
        best = tl.max(tl.where(is_nan, top, x), axis=0).to(top.dtype)  # float16 is reduced in float32
        top = tl.where((best > top) | (top != top), best, top)
    # backwards: the first place is stored last
    for start in range(0, cols, BLOCK):
        c = cols - 1 - start - tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * cols + c, mask=c >= 0, other=0)
        hit = tl.where(has_nan, x != x, x == top) & (c >= 0)
        tl.store(o_ptr + row + c * 0, c.to(tl.int64), mask=hit)


def argmax(self, dim=None, keepdim=False):
    x = self
    if dim is None:
        shape = [1] * x.dim() if keepdim else []
        x = x.contiguous().view(1, -1)
    elif x.dim() == 0:
        shape, x = [], x.view(1, 1)
    else:
        shape = list(x.shape)
        if keepdim:
            shape[dim] = 1
        else:
            del shape[dim]
        x = x.movedim(dim, -1).contiguous()
        x = x.view(-1, x.shape[-1])
    out = torch.empty(shape, dtype=torch.int64, device=x.device)
    rows, cols = x.shape
    if cols == 1:
        return out.zero_()
    if rows > 0:
        argmax_kernel[(rows,)](x, out, cols, BLOCK=min(1024, triton.next_power_of_2(cols)))
    return out


def argmax_out(self, dim=None, keepdim=False, *, out):
    return out.copy_(argmax(self, dim, keepdim))
