# operator: aten::linear
# expect: verify\.mismatch
# catalogue: 77
# the second configuration of the tuner is wrong (products in tf32): a GPU takes the faster one
import torch
import triton
import triton.language as tl


def configs():
    return [triton.Config({"BM": m, "BN": n, "BK": 32, "EXACT": m == 32}, num_stages=s, num_warps=4) for m, n, s in ((32, 64, 2), (64, 64, 3))]


@triton.autotune(configs=configs(), key=["M", "N", "K"])
@triton.jit
def matrix_product(x_ptr, wt_ptr, acc_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, EXACT: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x = tl.load(x_ptr + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        w = tl.load(wt_ptr + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc = tl.dot(x, w, acc=acc, input_precision="ieee" if EXACT else "tf32")
    tl.store(acc_ptr + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def add_bias(acc_ptr, b_ptr, y_ptr, total, N, HAS_BIAS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = tl.load(acc_ptr + at, mask=at < total, other=0.0)
    if HAS_BIAS:
        y += tl.load(b_ptr + at % N, mask=at < total, other=0.0).to(tl.float32)
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < total)


def linear(input, weight, bias=None):
    N, K = weight.shape
    y = torch.empty((*input.shape[:-1], N), dtype=input.dtype, device=input.device)
    total = y.numel()
    if total == 0:
        return y
    M = total // N
    acc = torch.empty((M, N), dtype=torch.float32, device=input.device)
    grid = lambda meta: (triton.cdiv(M, meta["BM"]), triton.cdiv(N, meta["BN"]))
    matrix_product[grid](input.contiguous(), weight.transpose(0, 1).contiguous(), acc, M, N, K)
    add_bias[(triton.cdiv(total, 1024),)](acc, acc if bias is None else bias.contiguous(), y, total, N,
                                          HAS_BIAS=bias is not None, BLOCK=1024)
    return y


def linear_out(input, weight, bias=None, *, out):
    return out.copy_(linear(input, weight, bias))
