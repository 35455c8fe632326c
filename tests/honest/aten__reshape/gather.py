# operator: aten::reshape
# style: fresh round of 2026-11-30
import torch
import triton
import triton.language as tl


@triton.jit
def gather_kernel(src_ptr, dst_ptr, total,
                  d0, d1, d2, d3, d4, d5, d6, d7,
                  t0, t1, t2, t3, t4, t5, t6, t7,
                  NDIM: tl.constexpr, BLOCK: tl.constexpr):
    lin = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = lin < total
    rest = lin
    # dimension 0 of the kernel is the innermost one of the tensor
    off = (rest % d0) * t0
    rest = rest // d0
    if NDIM > 1:
        off += (rest % d1) * t1
        rest = rest // d1
    if NDIM > 2:
        off += (rest % d2) * t2
        rest = rest // d2
    if NDIM > 3:
        off += (rest % d3) * t3
        rest = rest // d3
    if NDIM > 4:
        off += (rest % d4) * t4
        rest = rest // d4
    if NDIM > 5:
        off += (rest % d5) * t5
        rest = rest // d5
    if NDIM > 6:
        off += (rest % d6) * t6
        rest = rest // d6
    if NDIM > 7:
        off += (rest % d7) * t7
    tl.store(dst_ptr + lin, tl.load(src_ptr + off, mask=mask), mask=mask)


def _resolve(shape, numel):
    known, hole = 1, None
    sizes = [int(s) for s in shape]
    for i, s in enumerate(sizes):
        if s == -1:
            hole = i
        else:
            known *= s
    if hole is not None:
        sizes[hole] = numel // known if known else 0
    return sizes


def reshape(self, shape):
    total = self.numel()
    sizes = _resolve(shape, total)
    result = torch.empty(sizes, dtype=self.dtype, device=self.device)
    if total == 0:
        return result
    if self.dim() > 8:
        raise NotImplementedError(f"reshape: at most 8 dimensions, got {self.dim()}")
    dims = list(reversed(self.shape)) or [1]
    strides = list(reversed(self.stride())) or [0]
    ndim = len(dims)
    dims += [1] * (8 - ndim)
    strides += [0] * (8 - ndim)
    BLOCK = 1024
    gather_kernel[(triton.cdiv(total, BLOCK),)](self, result, total, *dims, *strides, NDIM=ndim, BLOCK=BLOCK)
    return result
