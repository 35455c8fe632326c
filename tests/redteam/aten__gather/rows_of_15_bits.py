# operator: aten::gather
# expect: verify\.mismatch
# catalogue: 84
# open: sizes that no case of the CPU platform has
# of an index 15 bits count
import torch
import triton
import triton.language as tl


@triton.jit
def gather_kernel(x_ptr, i_ptr, o_ptr, n, s1, s2, s3, x0, x1, x2, x3, i0, i1, i2, i3, o0, o1, o2, o3, DIM: tl.constexpr,
                  BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    d = at % s3
    c = at // s3 % s2
    b = at // s3 // s2 % s1
    a = at // s3 // s2 // s1
    index = tl.load(i_ptr + a * i0 + b * i1 + c * i2 + d * i3, mask=inside, other=0) & 32767
    if DIM == 0:
        source = index * x0 + b * x1 + c * x2 + d * x3
    elif DIM == 1:
        source = a * x0 + index * x1 + c * x2 + d * x3
    elif DIM == 2:
        source = a * x0 + b * x1 + index * x2 + d * x3
    else:
        source = a * x0 + b * x1 + c * x2 + index * x3
    tl.store(o_ptr + a * o0 + b * o1 + c * o2 + d * o3, tl.load(x_ptr + source, mask=inside), mask=inside)


def four(values, fill):
    values = tuple(values)
    return (fill,) * (4 - len(values)) + values


def run(x, dim, index, out):
    if index.numel() == 0:
        return out
    ndim = max(x.dim(), 1)
    dim = dim % ndim + 4 - ndim
    source, target = (t.view(torch.uint8) if t.dtype == torch.bool else t for t in (x, out))
    gather_kernel[(triton.cdiv(index.numel(), 512),)](
        source, index, target, index.numel(), *four(index.shape, 1)[1:], *four(x.stride(), 0), *four(index.stride(), 0),
        *four(out.stride(), 0), DIM=dim, BLOCK=512)
    return out


def gather(self, dim, index, *, sparse_grad=False):
    return run(self, dim, index, torch.empty(index.shape, dtype=self.dtype, device=self.device))


def gather_out(self, dim, index, *, sparse_grad=False, out):
    return run(self, dim, index, out)
