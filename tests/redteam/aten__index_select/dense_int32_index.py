# operator: aten::index_select
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# a layout and a type of the index that no template draws together
# an index of int32 is read as if its elements lay one behind the other, int64 is read by its stride; wrong:
# index_select(x, 0, pairs[:, 0]) with an int32 tensor pairs of shape (n, 2)
import math

import torch
import triton
import triton.language as tl


@triton.jit
def copy_words(x_ptr, i_ptr, o_ptr, n, size, count, inner, step, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    j = at // inner % count
    source = tl.load(i_ptr + j * step, mask=at < n, other=0).to(tl.int64)
    word = tl.load(x_ptr + (at // inner // count * size + source) * inner + at % inner, mask=at < n)
    tl.store(o_ptr + at, word, mask=at < n)


def words_of(x):
    return x.view({1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[x.element_size()])


def index_select(self, dim, index):
    x = self.detach().contiguous()
    dim = dim % x.dim() if x.dim() > 0 else 0
    count = index.numel()
    shape = x.shape if x.dim() == 0 else (*x.shape[:dim], count, *x.shape[dim + 1:])
    y = torch.empty(shape, dtype=x.dtype, device=x.device)
    n = y.numel()
    if n > 0:
        wide = index.dtype == torch.int64 and index.dim() > 0
        size, inner = (x.shape[dim], math.prod(x.shape[dim + 1:])) if x.dim() > 0 else (1, 1)
        copy_words[(triton.cdiv(n, 1024),)](words_of(x), index, words_of(y), n, size, count, inner,
                                            index.stride(0) if wide else 1, BLOCK=1024)
    return y


def index_select_out(self, dim, index, *, out):
    return out.copy_(index_select(self, dim, index.contiguous()))
