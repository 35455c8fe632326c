# operator: aten::argmax
# expect: verify\.mismatch
# catalogue: 43, 79
# looks at the first 256 elements of a row only
import torch
import triton
import triton.language as tl


@triton.jit
def argmax_kernel(x_ptr, o_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, 256)
    inside = c < cols
    x = tl.load(x_ptr + row * cols + c, mask=inside)
    x = tl.where(inside, x, tl.load(x_ptr + row * cols)).to(tl.float32)
    top = tl.max(x, axis=0)
    tl.store(o_ptr + row, tl.min(tl.where((x == top) & inside, c, 255), axis=0).to(tl.int64))


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
    if x.shape[0] > 0:
        argmax_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out


def argmax_out(self, dim=None, keepdim=False, *, out):
    return out.copy_(argmax(self, dim, keepdim))
