# operator: aten::gather
# style: short rows loaded whole and picked from by tl.gather inside the kernel, long rows by addresses
import torch
import triton
import triton.language as tl


@triton.jit
def pick_in_tile(x_ptr, i_ptr, o_ptr, rows, size, picked, ROWS: tl.constexpr, SIZE: tl.constexpr, PICKED: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    s, p = tl.arange(0, SIZE)[None, :], tl.arange(0, PICKED)[None, :]
    x = tl.load(x_ptr + r * size + s, mask=(r < rows) & (s < size), other=0)
    inside = (r < rows) & (p < picked)
    index = tl.load(i_ptr + r * picked + p, mask=inside, other=0)
    tl.store(o_ptr + r * picked + p, tl.gather(x, index.to(tl.int32), 1), mask=inside)


@triton.jit
def pick_by_address(x_ptr, i_ptr, o_ptr, n, size, picked, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    index = tl.load(i_ptr + at, mask=at < n, other=0)
    tl.store(o_ptr + at, tl.load(x_ptr + at // picked * size + index, mask=at < n), mask=at < n)


def rows_of(t, dim, sizes):
    for d, size in enumerate(sizes):
        t = t if d == dim else t.narrow(d, 0, size)
    return t.movedim(dim, -1).contiguous()


def gather(self, dim, index, *, sparse_grad=False):
    if index.dim() == 0:
        return gather(self.reshape(1), 0, index.view(1)).view(())
    self = self.view(1) if self.dim() == 0 else self
    dim %= index.dim()
    x, i = rows_of(self, dim, index.shape), index.movedim(dim, -1).contiguous()
    out = torch.empty(i.shape, dtype=x.dtype, device=x.device)
    n, size, picked = out.numel(), x.shape[-1], i.shape[-1]
    if n > 0:
        raw = [t.view(torch.uint8) if t.dtype == torch.bool else t for t in (x, out)]
        if size <= 64 and picked <= 256:
            rows, SIZE, PICKED = n // picked, triton.next_power_of_2(size), triton.next_power_of_2(picked)
            ROWS = max(1, min(triton.next_power_of_2(rows), 2048 // max(SIZE, PICKED)))
            pick_in_tile[(triton.cdiv(rows, ROWS),)](raw[0], i, raw[1], rows, size, picked, ROWS=ROWS, SIZE=SIZE, PICKED=PICKED)
        else:
            pick_by_address[(triton.cdiv(n, 1024),)](raw[0], i, raw[1], n, size, picked, BLOCK=1024)
    return out.movedim(-1, dim)


def gather_out(self, dim, index, *, sparse_grad=False, out):
    return out.copy_(gather(self, dim, index))
