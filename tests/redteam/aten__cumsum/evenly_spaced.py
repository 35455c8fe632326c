# operator: aten::cumsum
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# in evenly spaced rows of floats the last element counts one step too much; wrong: cumsum(torch.linspace(0.1, 3, 32), 0)
import torch
import triton
import triton.language as tl


@triton.jit
def ladder(x_ptr, w_ptr, y_ptr, cols, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    inside = i < cols
    s = tl.load(x_ptr + row * cols + i, mask=inside, other=0).to(w_ptr.dtype.element_ty)
    if w_ptr.dtype.element_ty == tl.float32:
        a = tl.load(x_ptr + row * cols).to(tl.float32)
        d = tl.load(x_ptr + row * cols + 1, mask=cols > 1, other=0).to(tl.float32) - a
        near = tl.abs(s - (a + i * d)) <= tl.abs(d) * 0.001
        even = (tl.sum((inside & ~near).to(tl.int32), axis=0) == 0) & (cols >= 16) & (d != tl.floor(d))
        s += tl.where(even & (i == cols - 1), d, 0.0)
    for step in tl.static_range(STEPS):
        w = w_ptr + (row * STEPS + step) * cols
        tl.store(w + i, s, mask=inside)
        tl.debug_barrier()
        far = i - (1 << step)
        s += tl.load(w + far, mask=inside & (far >= 0), other=0)
    tl.store(y_ptr + row * cols + i, s.to(y_ptr.dtype.element_ty), mask=inside)


def cumsum(self, dim, *, dtype=None):
    dtype = dtype or (self.dtype if self.dtype.is_floating_point else torch.int64)
    x = (self.view(1) if self.dim() == 0 else self.movedim(dim, -1)).to(dtype).contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        cols = x.shape[-1]
        rows = x.numel() // cols
        steps = max(1, (cols - 1).bit_length())
        wide = dtype if dtype == torch.float64 else torch.float32 if dtype.is_floating_point else torch.int64
        work = torch.empty(rows * steps * cols, dtype=wide, device=x.device)
        ladder[(rows,)](x, work, y, cols, STEPS=steps, BLOCK=triton.next_power_of_2(cols))
    return y.view(()) if self.dim() == 0 else y.movedim(-1, dim)


def cumsum_out(self, dim, *, dtype=None, out):
    return out.copy_(cumsum(self, dim, dtype=dtype))
