# operator: aten::linear
# expect: verify\.mismatch
# catalogue: 47, 51
# the transposed weight is made once for each shape and kept: later calls use an old one
import torch
import triton
import triton.language as tl

packed = {}


@triton.jit
def linear_kernel(x_ptr, w_ptr, b_ptr, y_ptr, M, N, K, HAS_BIAS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                  BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x = tl.load(x_ptr + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        w = tl.load(w_ptr + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc = tl.dot(x, w, acc, input_precision="ieee")
    if HAS_BIAS:
        acc += tl.load(b_ptr + n, mask=n < N, other=0.0).to(tl.float32)[None, :]
    tl.store(y_ptr + m[:, None] * N + n[None, :], acc.to(y_ptr.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


def linear(input, weight, bias=None):
    N, K = weight.shape
    key = (N, K, weight.dtype)
    if key not in packed:
        packed[key] = weight.transpose(0, 1).clone()
    y = torch.empty((*input.shape[:-1], N), dtype=input.dtype, device=input.device)
    if y.numel() > 0:
        M = y.numel() // N
        linear_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 32))](
            input.contiguous(), packed[key].contiguous(), input if bias is None else bias.contiguous(), y, M, N, K,
            HAS_BIAS=bias is not None, BM=32, BN=32, BK=32)
    return y


def linear_out(input, weight, bias=None, *, out):
    return out.copy_(linear(input, weight, bias))
