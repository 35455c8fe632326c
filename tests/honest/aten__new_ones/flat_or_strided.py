# operator: aten::new_ones
# style: two small kernels (flat and strided) chosen by a predicate, warps picked by a table
import torch
import triton
import triton.language as tl

# (largest number of elements, block, warps)
_LAUNCH_TABLE = ((256, 256, 1), (4096, 512, 2), (1 << 62, 2048, 8))


@triton.jit
def ones_flat_kernel(dst, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(dst + at, tl.full([BLOCK], 1, dtype=dst.dtype.element_ty), mask=at < n)


@triton.jit
def ones_strided_kernel(dst, n, shape, strides, NDIM: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    left = at
    where = tl.zeros([BLOCK], dtype=tl.int64)
    for back in tl.static_range(NDIM):
        size = shape[NDIM - 1 - back]
        where += (left % size) * strides[NDIM - 1 - back]
        left = left // size
    tl.store(dst + where, tl.full([BLOCK], 1, dtype=dst.dtype.element_ty), mask=at < n)


def _launch_parameters(n):
    for limit, block, warps in _LAUNCH_TABLE:
        if n <= limit:
            return block, warps
    raise ValueError("too many elements")


def _fill(result):
    n = result.numel()
    if n == 0:
        return
    block, warps = _launch_parameters(n)
    grid = (triton.cdiv(n, block),)
    raw = result.view(torch.uint8) if result.dtype is torch.bool else result
    if raw.is_contiguous():
        ones_flat_kernel[grid](raw, n, BLOCK=block, num_warps=warps)
    else:
        ones_strided_kernel[grid](
            raw, n, tuple(raw.shape), tuple(raw.stride()), NDIM=raw.dim(), BLOCK=block, num_warps=warps
        )


def new_ones(self, size, *, dtype=None):
    result = torch.empty(tuple(size), dtype=self.dtype if dtype is None else dtype, device=self.device)
    _fill(result)
    return result


def new_ones_out(self, size, *, out):
    _fill(out)
    return out
