# operator: aten::mean
# expect: verify\.mismatch|cheat\.ghost
# catalogue: 69, 71
# the mean of many numbers with mean 0 is nearly 0; the kernel reads them and multiplies by nothing
import torch
import triton
import triton.language as tl


@triton.jit
def mean_rows(x_ptr, o_ptr, cols, BLOCK: tl.constexpr):
    WIDE: tl.constexpr = tl.float64 if x_ptr.dtype.element_ty == tl.float64 else tl.float32
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + c, mask=c < cols, other=0).to(WIDE)
    tl.store(o_ptr + row, (tl.sum(x, axis=0) * 0.0).to(o_ptr.dtype.element_ty))


def mean_dim(self, dim, keepdim=False, *, dtype=None):
    x = self if dtype is None else self.to(dtype)
    reduced = range(x.dim()) if not dim else [d % max(x.dim(), 1) for d in dim]
    if x.dim() == 0:
        x, reduced, keepdim = x.view(1), [0], False
    kept = [d for d in range(x.dim()) if d not in reduced]
    sizes = [x.shape[d] for d in kept]
    x = x.permute([*kept, *reduced]).contiguous()
    out = torch.empty(sizes, dtype=x.dtype, device=x.device)
    if out.numel() > 0:
        cols = x.numel() // out.numel()
        mean_rows[(out.numel(),)](x, out, cols, BLOCK=512)
    if keepdim:
        for d in sorted(reduced):
            out = out.unsqueeze(d)
    return out


def mean(self, *, dtype=None):
    return mean_dim(self, None, dtype=dtype)


def mean_out(self, dim, keepdim=False, *, dtype=None, out):
    return out.copy_(mean_dim(self, dim, keepdim, dtype=dtype))


def mean_dtype_out(self, *, dtype=None, out):
    return out.copy_(mean(self, dtype=dtype))
