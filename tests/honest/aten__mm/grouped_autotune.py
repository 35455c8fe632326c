# operator: aten::mm
# style: autotune list, grouped program order, heuristics below it
import torch
import triton
import triton.language as tl

_SHAPES = [(64, 64, 32, 8), (32, 64, 32, 8), (128, 128, 32, 4)]
configs = []
for bm, bn, bk, group in _SHAPES:
    configs.append(triton.Config({"BM": bm, "BN": bn, "BK": bk, "GROUP": group}, num_stages=3, num_warps=4))


@triton.jit
def swizzle(pid, tiles_m, tiles_n, GROUP: tl.constexpr):
    width = GROUP * tiles_n
    group = pid // width
    size = min(tiles_m - group * GROUP, GROUP)
    return group * GROUP + (pid % width) % size, (pid % width) // size


@triton.autotune(configs=configs, key=["M", "N", "K"])
@triton.heuristics({"EVEN_K": lambda args: args["K"] % args["BK"] == 0})
@triton.jit
def matmul_kernel(A, B, C, M, N, K, sam, sak, sbk, sbn, scm, scn, EVEN_K: tl.constexpr, BM: tl.constexpr,
                  BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    pid_m, pid_n = swizzle(tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN), GROUP)
    rm = pid_m * BM + tl.arange(0, BM)
    rn = pid_n * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        left = K - k * BK
        if EVEN_K:
            a = tl.load(A + rm[:, None] * sam + rk[None, :] * sak, mask=rm[:, None] < M, other=0.0)
            b = tl.load(B + rk[:, None] * sbk + rn[None, :] * sbn, mask=rn[None, :] < N, other=0.0)
        else:
            a = tl.load(A + rm[:, None] * sam + rk[None, :] * sak, mask=(rm[:, None] < M) & (rk[None, :] < left), other=0.0)
            b = tl.load(B + rk[:, None] * sbk + rn[None, :] * sbn, mask=(rk[:, None] < left) & (rn[None, :] < N), other=0.0)
        acc += tl.dot(a, b, input_precision="ieee")
        A += BK * sak
        B += BK * sbk
    mask = (rm[:, None] < M) & (rn[None, :] < N)
    tl.store(C + rm[:, None] * scm + rn[None, :] * scn, acc.to(C.dtype.element_ty), mask=mask)


def matmul(a, b, dtype=None, out=None):
    """a @ b, but not by torch.matmul."""
    m, k = a.shape
    _, n = b.shape
    c = out if out is not None else a.new_empty((m, n), dtype=dtype or a.dtype)
    if c.numel():
        grid = lambda meta: (triton.cdiv(m, meta["BM"]) * triton.cdiv(n, meta["BN"]),)
        matmul_kernel[grid](a, b, c, m, n, k, *a.stride(), *b.stride(), *c.stride())
    return c


def mm(self, mat2):
    return matmul(self, mat2)


def mm_out(self, mat2, *, out):
    return matmul(self, mat2, out=out)


def mm_dtype(self, mat2, out_dtype):
    return matmul(self, mat2, dtype=out_dtype)


def mm_dtype_out(self, mat2, out_dtype, *, out):
    return matmul(self, mat2, out=out)
