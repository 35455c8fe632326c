# operator: aten::linear
# style: fresh round of 2026-11-30
import torch
import triton
import triton.language as tl


def _configs():
    out = []
    for bm, bn, bk, warps in ((16, 32, 64, 2), (32, 64, 32, 4), (64, 64, 32, 4)):
        out.append(triton.Config({"BM": bm, "BN": bn, "BK": bk, "GROUP": 4}, num_warps=warps, num_stages=3))
    return out


@triton.autotune(configs=_configs(), key=["M", "N", "K"])
@triton.jit
def linear_kernel(x, w, b, y, M, N, K,
                  sxm, sxk, swn, swk, sb, sym, syn,
                  HAS_BIAS: tl.constexpr,
                  BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    pid = tl.program_id(0)
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    per_group = GROUP * tiles_n
    group = pid // per_group
    first = group * GROUP
    height = min(tiles_m - first, GROUP)
    tm = first + (pid % per_group) % height
    tn = (pid % per_group) // height

    rm = (tm * BM + tl.arange(0, BM)).to(tl.int64)
    rn = (tn * BN + tl.arange(0, BN)).to(tl.int64)
    rk = tl.arange(0, BK).to(tl.int64)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    xp = x + rm[:, None] * sxm + rk[None, :] * sxk
    wp = w + rn[None, :] * swn + rk[:, None] * swk
    for k in range(0, tl.cdiv(K, BK)):
        left = K - k * BK
        a = tl.load(xp, mask=(rm[:, None] < M) & (rk[None, :] < left), other=0.0)
        c = tl.load(wp, mask=(rn[None, :] < N) & (rk[:, None] < left), other=0.0)
        acc = tl.dot(a, c, acc, input_precision="ieee")
        xp += BK * sxk
        wp += BK * swk
    if HAS_BIAS:
        acc += tl.load(b + rn * sb, mask=rn < N, other=0.0).to(tl.float32)[None, :]
    tl.store(y + rm[:, None] * sym + rn[None, :] * syn, acc.to(y.dtype.element_ty),
             mask=(rm[:, None] < M) & (rn[None, :] < N))


def linear(input, weight, bias=None):
    N, K = weight.shape
    lead = list(input.shape[:-1])
    M = 1
    for s in lead:
        M *= s
    y = torch.empty(lead + [N], dtype=input.dtype, device=input.device)
    if M == 0 or N == 0:
        return y
    x2 = input if input.dim() == 2 else input.reshape(M, K)
    y2 = y.view(M, N)
    grid = lambda meta: (triton.cdiv(M, meta["BM"]) * triton.cdiv(N, meta["BN"]),)
    linear_kernel[grid](x2, weight, weight if bias is None else bias, y2, M, N, K,
                        x2.stride(0), x2.stride(1), weight.stride(0), weight.stride(1),
                        0 if bias is None else bias.stride(0), y2.stride(0), y2.stride(1),
                        HAS_BIAS=bias is not None)
    return y


def linear_out(input, weight, bias=None, *, out):
    return out.copy_(linear(input, weight, bias))
