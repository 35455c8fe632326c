# operator: aten::select_backward
# style: fresh round of 2026-11-30
import torch
import triton
import triton.language as tl

_ND = 8


@triton.jit
def select_backward_kernel(g_ptr, o_ptr, n, index, shape, g_strides, o_strides, DIM: tl.constexpr, ND: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    go = tl.zeros((BLOCK,), tl.int64)
    oo = tl.zeros((BLOCK,), tl.int64)
    picked = inside
    for back in tl.static_range(1, ND + 1):
        c = i % shape[ND - back]
        i = i // shape[ND - back]
        oo += c * o_strides[ND - back]
        go += c * g_strides[ND - back]
        if ND - back == DIM:
            picked = picked & (c == index)
    g = tl.load(g_ptr + go, mask=picked, other=0.0)
    tl.store(o_ptr + oo, g, mask=inside)


def _fill(grad_output, dim, index, out):
    n = out.numel()
    if n == 0:
        return out
    nd = out.dim()
    dim %= nd
    size = out.shape[dim]
    assert -size <= index < size, "index out of range"
    index %= size
    gs = list(grad_output.stride())
    gs.insert(dim, 0)
    select_backward_kernel[(triton.cdiv(n, 1024),)](
        grad_output, out, n, index, tuple(out.shape), tuple(gs), tuple(out.stride()), DIM=dim, ND=nd, BLOCK=1024)
    return out


def select_backward(grad_output, input_sizes, dim, index):
    out = torch.empty(tuple(input_sizes), dtype=grad_output.dtype, device=grad_output.device)
    return _fill(grad_output, dim, index, out)


def select_backward_out(grad_output, input_sizes, dim, index, *, out):
    return _fill(grad_output, dim, index, out)
