# operator: aten::amin
# expect: verify\.mismatch
# catalogue: 79, 84
# elements that are masked off count as 0: right wherever something is negative
import torch
import triton
import triton.language as tl


@triton.jit
def amin_kernel(x_ptr, o_ptr, cols, FLOAT: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + c, mask=c < cols, other=0)
    least = tl.min(x, axis=0)
    if FLOAT:
        least = tl.where(tl.max((x != x).to(tl.int32), axis=0) > 0, float("nan"), least)
    tl.store(o_ptr + row, least.to(o_ptr.dtype.element_ty))


def amin(self, dim=(), keepdim=False):
    x = self.view(torch.uint8) if self.dtype is torch.bool else self
    ndim = x.dim()
    reduced = sorted({d % ndim for d in dim}) if ndim and dim else list(range(ndim))
    kept = [d for d in range(ndim) if d not in reduced]
    shape = [1 if d in reduced else x.shape[d] for d in range(ndim)] if keepdim else [x.shape[d] for d in kept]
    x = x.permute(kept + reduced).contiguous()
    out = torch.empty(shape, dtype=x.dtype, device=x.device)
    if out.numel() > 0:
        cols = x.numel() // out.numel()
        amin_kernel[(out.numel(),)](x, out, cols, FLOAT=x.dtype.is_floating_point, BLOCK=triton.next_power_of_2(cols))
    return out.view(torch.bool) if self.dtype is torch.bool else out


def amin_out(self, dim=(), keepdim=False, *, out):
    return out.copy_(amin(self, dim, keepdim))
