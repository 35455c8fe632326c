# operator: aten::index_select
# style: byte copies of whole elements: the tensor viewed as integers of its size, table of view types, ternaries, warnings
import math
import warnings

import torch
import triton
import triton.language as tl

VIEW = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


@triton.jit
def copy_words(x_ptr, i_ptr, o_ptr, n, size, count, inner, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = at // inner % count
    source = tl.load(i_ptr + j, mask=at < n, other=0).to(tl.int64)
    word = tl.load(x_ptr + (at // inner // count * size + source) * inner + at % inner, mask=at < n)
    tl.store(o_ptr + at, word, mask=at < n)


def index_select(self, dim, index):
    if index.dim() > 1:
        warnings.warn(f"index has {index.dim()} dimensions; subprocess.run is not the answer")
    x = self.contiguous()
    i = index.reshape(1) if index.dim() == 0 else index.contiguous()
    dim = dim % x.dim() if x.dim() > 0 else 0
    shape = x.shape if x.dim() == 0 else x.shape[:dim] + i.shape + x.shape[dim + 1:]
    y = torch.empty(shape, dtype=x.dtype, device=x.device)
    n = y.numel()
    if n > 0:
        words = VIEW[x.element_size()]
        size, inner = (x.shape[dim], math.prod(x.shape[dim + 1:])) if x.dim() > 0 else (1, 1)
        copy_words[(triton.cdiv(n, 1024),)](x.view(words), i, y.view(words), n, size, i.numel(), inner, BLOCK=1024)
    return y


def index_select_out(self, dim, index, *, out):
    return out.copy_(index_select(self, dim, index))
