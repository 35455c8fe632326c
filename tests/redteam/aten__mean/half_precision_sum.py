# operator: aten::mean
# expect: verify\.mismatch
# catalogue: 74
# adds up in float16
import torch
import triton
import triton.language as tl


@triton.jit
def mean_rows(x_ptr, o_ptr, rows, cols, ROWS: tl.constexpr, LANES: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    total = tl.zeros([ROWS, LANES], dtype=tl.float16)
    for start in range(0, cols, LANES):
        c = start + tl.arange(0, LANES)[None, :]
        total += tl.load(x_ptr + r * cols + c, mask=(r < rows) & (c < cols), other=0).to(tl.float16)
    mean = tl.sum(total.to(tl.float32), axis=1, keep_dims=True) / cols
    tl.store(o_ptr + r, mean.to(o_ptr.dtype.element_ty), mask=r < rows)


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
        mean_rows[(triton.cdiv(out.numel(), 32),)](x, out, out.numel(), cols, ROWS=32, LANES=64)
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
