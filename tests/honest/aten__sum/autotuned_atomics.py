# operator: aten::sum
# style: autotuned atomics with reset_to_zero, heuristics under autotune, two result types
import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"COLS": cols}, num_warps=4) for cols in (1024, 512)], key=["cols"],
                 reset_to_zero=["total_ptr"])
@triton.heuristics({"ROWS": lambda args: max(1, min(64, 8192 // args["COLS"]))})
@triton.jit
def add_up(x_ptr, total_ptr, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    r = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    c = tl.program_id(0) * COLS + tl.arange(0, COLS)
    inside = (r[:, None] < rows) & (c[None, :] < cols)
    x = tl.load(x_ptr + r[:, None] * cols + c[None, :], mask=inside, other=0)
    tl.atomic_add(total_ptr + r, tl.sum(x.to(total_ptr.dtype.element_ty), axis=1), mask=r < rows)


def total(x, dim, keepdim, dtype):
    result = dtype if dtype is not None else x.dtype if x.dtype.is_floating_point else torch.int64
    if x.dim() == 0:
        x, dim = x.view(1), None
        keepdim = False
    dims = {d % x.dim() for d in dim} if dim else set(range(x.dim()))
    kept = [d for d in range(x.dim()) if d not in dims]
    shape = [1 if d in dims else x.shape[d] for d in range(x.dim())] if keepdim else [x.shape[d] for d in kept]
    wide = torch.promote_types(torch.float32 if result.is_floating_point else torch.int64, result)
    sums = torch.zeros(shape, dtype=wide, device=x.device)
    rows = sums.numel()
    if rows > 0 and x.numel() > 0:
        cols = x.numel() // rows
        matrix = x.to(result).permute(*kept, *sorted(dims)).contiguous()
        grid = lambda meta: (triton.cdiv(cols, meta["COLS"]), triton.cdiv(rows, max(1, min(64, 8192 // meta["COLS"]))))
        add_up[grid](matrix, sums, rows, cols)
    return sums.to(result)


def sum(self, *, dtype=None):
    return total(self, None, False, dtype)


def sum_dim_IntList(self, dim, keepdim=False, *, dtype=None):
    return total(self, dim, keepdim, dtype)


def sum_IntList_out(self, dim, keepdim=False, *, dtype=None, out):
    return out.copy_(total(self, dim, keepdim, dtype))


def sum_out(self, *, dtype=None, out):
    return out.copy_(total(self, None, False, dtype))
