# operator: aten::gather
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# nobody asks whether a new result is an inference tensor, although the caller is not in inference mode
# the result is made under torch.inference_mode(): no graph can keep it; wrong: w = torch.ones(2, requires_grad=True);
# (w * gather(torch.tensor([3., 4.]), 0, torch.tensor([1, 0]))).sum().backward() raises RuntimeError ("Inference tensors cannot be
# saved for backward"); with torch's gather w.grad is tensor([4., 3.])
import torch
import triton
import triton.language as tl


@triton.jit
def gather_kernel(x_ptr, i_ptr, o_ptr, n, s1, s2, s3, s4, s5, s6, s7, x0, x1, x2, x3, x4, x5, x6, x7,
                  i0, i1, i2, i3, i4, i5, i6, i7, o0, o1, o2, o3, o4, o5, o6, o7, DIM: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    h = at % s7
    g = at // s7 % s6
    f = at // s7 // s6 % s5
    e = at // s7 // s6 // s5 % s4
    d = at // s7 // s6 // s5 // s4 % s3
    c = at // s7 // s6 // s5 // s4 // s3 % s2
    b = at // s7 // s6 // s5 // s4 // s3 // s2 % s1
    a = at // s7 // s6 // s5 // s4 // s3 // s2 // s1
    index = tl.load(i_ptr + a * i0 + b * i1 + c * i2 + d * i3 + e * i4 + f * i5 + g * i6 + h * i7, mask=inside, other=0)
    source = a * x0 + b * x1 + c * x2 + d * x3 + e * x4 + f * x5 + g * x6 + h * x7
    if DIM == 0:
        source += (index - a) * x0
    elif DIM == 1:
        source += (index - b) * x1
    elif DIM == 2:
        source += (index - c) * x2
    elif DIM == 3:
        source += (index - d) * x3
    elif DIM == 4:
        source += (index - e) * x4
    elif DIM == 5:
        source += (index - f) * x5
    elif DIM == 6:
        source += (index - g) * x6
    else:
        source += (index - h) * x7
    target = a * o0 + b * o1 + c * o2 + d * o3 + e * o4 + f * o5 + g * o6 + h * o7
    tl.store(o_ptr + target, tl.load(x_ptr + source, mask=inside), mask=inside)


def eight(values, fill):
    values = tuple(values)
    return (fill,) * (8 - len(values)) + values


def run(x, dim, index, out):
    if index.numel() == 0:
        return out
    ndim = max(x.dim(), 1)
    dim = dim % ndim + 8 - ndim
    source, target = (t.view(torch.uint8) if t.dtype == torch.bool else t for t in (x, out))
    gather_kernel[(triton.cdiv(index.numel(), 512),)](
        source, index, target, index.numel(), *eight(index.shape, 1)[1:], *eight(x.stride(), 0), *eight(index.stride(), 0),
        *eight(out.stride(), 0), DIM=dim, BLOCK=512)
    return out


@torch.inference_mode()
def gather(self, dim, index, *, sparse_grad=False):
    return run(self, dim, index, torch.empty(index.shape, dtype=self.dtype, device=self.device))


def gather_out(self, dim, index, *, sparse_grad=False, out):
    return run(self, dim, index, out)
