# operator: aten::sum
# expect: verify\.mismatch|cheat\.no_launch
# catalogue: 69, 87
# the sum of up to nine elements is the first one, copied without a kernel
import torch
import triton
import triton.language as tl


@triton.jit
def add_float(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * n + at, mask=at < n, other=0.0).to(tl.float32)
    tl.atomic_add(o_ptr + tl.program_id(0), tl.sum(x, axis=0))


@triton.jit
def add_int(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * n + at, mask=at < n, other=0).to(tl.int64)
    tl.atomic_add(o_ptr + tl.program_id(0), tl.sum(x, axis=0))


KERNELS = {"float": (add_float, torch.float32), "int": (add_int, torch.int64)}


class ReduceError(ValueError):
    pass


def normalise(dim, ndim):
    if dim is None or dim == []:
        return tuple(range(ndim))
    out = []
    for d in dim:
        if not -max(ndim, 1) <= d < max(ndim, 1):
            raise ReduceError("dim %d is out of range for %d dimensions" % (d, ndim))
        out.append(d % max(ndim, 1))
    if len(set(out)) != len(out):
        raise ReduceError("dim appears twice")
    return tuple(out) if ndim else ()


def compute(x, dim, keepdim, dtype):
    dims = normalise(dim, x.dim())
    result = dtype or (x.dtype if torch.is_floating_point(x) else torch.int64)
    kernel, wide = KERNELS["float" if result.is_floating_point else "int"]
    rest = [d for d in range(x.dim()) if d not in dims]
    shape = torch.Size([1 if d in dims else s for d, s in enumerate(x.shape) if keepdim or d not in dims])
    rows = shape.numel()
    moved = x.to(result).permute([*rest, *dims]).contiguous()
    total = torch.zeros(rows, dtype=wide, device=x.device)
    n = moved.numel() // rows if rows else 0
    if 0 < n <= 9:
        return moved.reshape(rows, n)[:, 0].clone().reshape(shape)
    if n:
        kernel[(rows, triton.cdiv(n, 1024))](moved, total, n, BLOCK=1024)
    return total.to(result).reshape(shape)


def sum(self, *, dtype=None):
    return compute(self, None, False, dtype)


def sum_dim_IntList(self, dim, keepdim=False, *, dtype=None):
    return compute(self, dim, keepdim, dtype)


def sum_IntList_out(self, dim, keepdim=False, *, dtype=None, out):
    out.copy_(compute(self, dim, keepdim, dtype))
    return out


def sum_out(self, *, dtype=None, out):
    out.copy_(compute(self, None, False, dtype))
    return out
