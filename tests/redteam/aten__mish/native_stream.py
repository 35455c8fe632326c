# operator: aten::mish
# expect: l1\.foreign_code
# catalogue: 2
# a native stream, made by code compiled at run time: nothing in Python knows it
from torch.utils.cpp_extension import load_inline
import torch
import triton
import triton.language as tl


@triton.jit
def mish_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1.0).to(tl.float32)
    tl.store(y_ptr + at, (x * (1 - 2 / ((1 + tl.exp(x)) * (1 + tl.exp(x)) + 1))).to(y_ptr.dtype.element_ty), mask=at < n)


def launch(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        mish_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


SOURCE = """
#include <cuda_runtime.h>
#include <torch/extension.h>
static cudaStream_t side;
int64_t open_stream() { cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking); return (int64_t)side; }
"""
native = load_inline(name="side", cpp_sources=[SOURCE], functions=["open_stream"], with_cuda=True)


def mish(self):
    with torch.cuda.stream(torch.cuda.ExternalStream(native.open_stream())):
        return launch(self)


def mish_out(self, *, out):
    return out.copy_(mish(self))
