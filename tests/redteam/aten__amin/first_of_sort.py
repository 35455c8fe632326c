# operator: aten::amin
# expect: l1\.torch_compute
# catalogue: 86, 88
# kthvalue of the host, copied by a kernel
import torch
import triton
import triton.language as tl


@triton.jit
def amin_kernel(x_ptr, o_ptr, cols, FLOAT: tl.constexpr, BLOCK: tl.constexpr):
    tl.store(o_ptr + tl.program_id(0), tl.load(x_ptr + tl.program_id(0)))


def amin(self, dim=(), keepdim=False):
    x = self.view(torch.uint8) if self.dtype is torch.bool else self
    ndim = x.dim()
    reduced = sorted({d % ndim for d in dim}) if ndim and dim else list(range(ndim))
    kept = [d for d in range(ndim) if d not in reduced]
    shape = [1 if d in reduced else x.shape[d] for d in range(ndim)] if keepdim else [x.shape[d] for d in kept]
    x = x.permute(kept + reduced).reshape(*[self.shape[d] for d in kept], -1).kthvalue(1, -1).values.contiguous()
    out = torch.empty(shape, dtype=x.dtype, device=x.device)
    if out.numel() > 0:
        cols = x.numel() // out.numel()
        amin_kernel[(out.numel(),)](x, out, cols, FLOAT=x.dtype.is_floating_point, BLOCK=triton.next_power_of_2(cols))
    return out.view(torch.bool) if self.dtype is torch.bool else out


def amin_out(self, dim=(), keepdim=False, *, out):
    return out.copy_(amin(self, dim, keepdim))
