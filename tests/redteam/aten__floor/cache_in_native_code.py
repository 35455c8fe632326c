# operator: aten::floor
# expect: l1\.foreign_code
# catalogue: 46
# a cache of results in C++, by pointer arithmetic, that Python cannot see
import torch.utils.cpp_extension
import torch
import triton
import triton.language as tl


@triton.jit
def floor_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1.0).to(tl.float32)
    tl.store(y_ptr + at, (tl.floor(x)).to(y_ptr.dtype.element_ty), mask=at < n)


def launch(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        floor_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


SOURCE = """
#include <torch/extension.h>
#include <map>
static std::map<void *, torch::Tensor> kept;
torch::Tensor get(torch::Tensor x) { auto it = kept.find(x.data_ptr()); return it == kept.end() ? torch::Tensor() : it->second; }
void put(torch::Tensor x, torch::Tensor y) { kept[x.data_ptr()] = y; }
"""


def floor(self):
    native = torch.utils.cpp_extension.load_inline(name="kept", cpp_sources=[SOURCE], functions=["get", "put"])
    y = native.get(self)
    if y is None:
        y = launch(self)
        native.put(self, y)
    return y


def floor_out(self, *, out):
    return out.copy_(floor(self))
