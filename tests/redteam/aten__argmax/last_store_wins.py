# operator: aten::argmax
# expect: verify\.race
# catalogue: 81
# all lanes with the maximum store their index at one place, in descending order: on a GPU any of them may stay
import torch
import triton
import triton.language as tl

@triton.jit
def argmax_kernel(x_ptr, o_ptr, cols, blocks, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_ptr += row * cols
    top = tl.load(x_ptr)
    if top.dtype.is_floating():
        top = top.to(tl.float32)
        top = tl.where(top == top, top, float("-inf"))
    nans = 0
    for start in range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + c, mask=c < cols)
        if x.dtype.is_floating():
            x = x.to(tl.float32)
            nans += tl.sum(((x != x) & (c < cols)).to(tl.int32), axis=0)
            x = tl.where(x == x, x, float("-inf"))
        top = tl.maximum(top, tl.max(tl.where(c < cols, x, top), axis=0))
    # Backwards, so that the smallest index is the one that is written last.
    for k in range(blocks):
        c = (blocks - 1 - k) * BLOCK + (BLOCK - 1 - tl.arange(0, BLOCK))
        x = tl.load(x_ptr + c, mask=c < cols)
        if x.dtype.is_floating():
            x = x.to(tl.float32)
        hit = tl.where(nans > 0, x != x, x == top)
        tl.store(o_ptr + row + tl.zeros([BLOCK], tl.int32), c.to(tl.int64), mask=hit & (c < cols))


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
    if rows > 0:
        block = min(1024, triton.next_power_of_2(cols))
        argmax_kernel[(rows,)](x, out, cols, triton.cdiv(cols, block), BLOCK=block)
    return out


def argmax_out(self, dim=None, keepdim=False, *, out):
    return out.copy_(argmax(self, dim, keepdim))
