# operator: aten::linear
# expect: verify\.exception
# catalogue: 84
# an input of three or more dimensions is flattened by reshape(-1, K), which torch refuses for K = 0 (any number would do for
# the -1); wrong (an exception) for input (2, 3, 0) and weight (4, 0), whose result is the bias in each row, or zeros
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
        acc = tl.dot(x, tl.trans(w), acc, input_precision="ieee")
    if HAS_BIAS:
        acc += tl.load(b_ptr + cols * b_stride, cols < N, 0).to(tl.float32)[None, :]
    tl.store(y_ptr + rows[:, None] * y_row + cols[None, :] * y_col, acc.to(y_ptr.dtype.element_ty),
             (rows[:, None] < M) & (cols[None, :] < N))


def linear(input, weight, bias=None):
    N, K = weight.shape
    y = torch.empty((*input.shape[:-1], N), dtype=input.dtype, device=input.device)
    if y.numel() == 0:
        return y
    x = input.unsqueeze(0) if input.dim() == 1 else input
    if x.dim() > 2:
        x = x.reshape(-1, K)
    flat = y.view(-1, N)
    M = x.shape[0]
    linear_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 32))](
        x, weight, weight if bias is None else bias, flat, M, N, K, x.stride(0), x.stride(1), weight.stride(0),
        weight.stride(1), 0 if bias is None else bias.stride(0), flat.stride(0), flat.stride(1),
        HAS_BIAS=bias is not None, BLOCK_M=32, BLOCK_N=32, BLOCK_K=64)
    return y


def linear_out(input, weight, bias=None, *, out):
    out.copy_(linear(input, weight, bias))
    return out


# wrong call: linear(torch.zeros(2, 3, 0), torch.zeros(4, 0), torch.tensor([1., 2., 3., 4.]))
# right: shape (2, 3, 4), each row 1 2 3 4; wrong: RuntimeError "cannot reshape tensor of 0 elements into shape [-1, 0]"
