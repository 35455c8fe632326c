# operator: aten::embedding
# expect: verify\.out_of_bounds
# catalogue: 80, 83
# no mask on the indices: the last block reads beyond them
import torch
import triton
import triton.language as tl


@triton.jit
def embedding_kernel(w_ptr, i_ptr, o_ptr, n, width, padding, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    token = tl.load(i_ptr + at // width)
    row = tl.load(w_ptr + token * width + at % width, mask=at < n, other=0)
    tl.store(o_ptr + at, row, mask=at < n)


def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    w, i = weight.contiguous(), indices.contiguous()
    out = torch.empty((*indices.shape, w.shape[1]), dtype=w.dtype, device=w.device)
    if out.numel() > 0:
        embedding_kernel[(triton.cdiv(out.numel(), 1024),)](w, i, out, out.numel(), w.shape[1], padding_idx, BLOCK=1024)
    return out


def embedding_out(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False, *, out):
    return out.copy_(embedding(weight, indices, padding_idx))
