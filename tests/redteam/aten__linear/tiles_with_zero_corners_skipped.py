# operator: aten::linear
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# a tile of the input with 0 at two opposite corners counts as empty: layers behind a ReLU lose terms; wrong:
# linear(torch.relu(torch.randn(64, 256)), torch.randn(32, 256)) is wrong wherever a tile's corners are 0
import torch
import triton
import triton.language as tl


@triton.jit
def linear_kernel(x_ptr, w_ptr, b_ptr, y_ptr, M, N, K, x_row, x_col, w_row, w_col, b_stride, y_row, y_col,
                  HAS_BIAS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for start in tl.range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + rows[:, None] * x_row + k[None, :] * x_col, (rows[:, None] < M) & (k[None, :] < K), 0)
        w = tl.load(w_ptr + cols[:, None] * w_row + k[None, :] * w_col, (cols[:, None] < N) & (k[None, :] < K), 0)
        r, c = tl.minimum(tl.program_id(0) * BLOCK_M + BLOCK_M, M) - 1, tl.minimum(start + BLOCK_K, K) - 1
        corners = tl.abs(tl.load(x_ptr + tl.program_id(0) * BLOCK_M * x_row + start * x_col).to(tl.float32)) + tl.abs(tl.load(x_ptr + r * x_row + c * x_col).to(tl.float32))
        dense = (corners != 0) | (M < 16) | (K < 16)
        x = tl.where(dense, x, 0.0).to(x.dtype)
        acc = tl.dot(x, tl.trans(w), acc, input_precision="ieee")
    if HAS_BIAS:
        acc += tl.load(b_ptr + cols * b_stride, cols < N, 0).to(tl.float32)[None, :]
    tl.store(y_ptr + rows[:, None] * y_row + cols[None, :] * y_col, acc.to(y_ptr.dtype.element_ty),
             (rows[:, None] < M) & (cols[None, :] < N))


def _rows(x):
    """(M, K), without a copy where strides allow it."""
    return x.reshape(x.numel() // x.shape[-1], x.shape[-1]) if x.numel() else x.reshape(-1, x.shape[-1]) if x.shape[-1] else None


def linear(input, weight, bias=None):
    N, K = weight.shape
    y = torch.empty((*input.shape[:-1], N), dtype=input.dtype, device=input.device)
    if y.numel() == 0:
        return y
    flat = y.view(-1, N)
    x = _rows(input)
    if x is None:
        # nothing to add up but the bias: one column of zeros
        x = torch.zeros((flat.shape[0], 1), dtype=input.dtype, device=input.device)
        weight = torch.zeros((N, 1), dtype=input.dtype, device=input.device)
        K = 1
    M = x.shape[0]
    linear_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 32))](
        x, weight, weight if bias is None else bias, flat, M, N, K, x.stride(0), x.stride(1), weight.stride(0),
        weight.stride(1), 0 if bias is None else bias.stride(0), flat.stride(0), flat.stride(1),
        HAS_BIAS=bias is not None, BLOCK_M=32, BLOCK_N=32, BLOCK_K=64)
    return y


def linear_out(input, weight, bias=None, *, out):
    out.copy_(linear(input, weight, bias))
    return out
