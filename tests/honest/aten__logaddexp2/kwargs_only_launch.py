# operator: aten::logaddexp2
# style: every argument of the launch by its name; broadcasting by expand and strides
import torch
import triton
import triton.language as tl


@triton.jit
def log2_of_1_plus(t):
    u = 1.0 + t
    return tl.where(u == 1.0, t * 1.4426950408889634, tl.log2(u) * (t / tl.where(u == 1.0, 1.0, u - 1.0)))


@triton.jit
def logaddexp2_kernel(a_ptr, b_ptr, o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    y = tl.where(a > b, a, b) + log2_of_1_plus(tl.exp2(-tl.abs(a - b)))
    y = tl.where((a == b) & (tl.abs(a) == float("inf")), a, y)
    tl.store(o_ptr + at, y.to(o_ptr.dtype.element_ty), mask=at < n)


def logaddexp2(self, other):
    a, b = torch.broadcast_tensors(self, other)
    out = torch.empty(a.shape, dtype=torch.result_type(self, other), device=self.device)
    arguments = {"a_ptr": a.contiguous(), "b_ptr": b.contiguous(), "o_ptr": out, "n": out.numel(), "BLOCK": 2048}
    if arguments["n"]:
        logaddexp2_kernel[(triton.cdiv(out.numel(), 2048),)](**arguments)
    return out


def logaddexp2_out(self, other, *, out):
    return out.copy_(logaddexp2(self, other))
