# operator: aten::matmul
# style: autotune for matrices, a separate kernel for matrix times vector, batches by strides
import torch
import triton
import triton.language as tl

_MAX_BATCH_DIMS = 4


def _configs():
    cfgs = []
    for bm, bn, bk, warps, stages in (
        (16, 16, 32, 2, 3),
        (32, 32, 32, 4, 3),
        (64, 32, 32, 4, 3),
        (64, 64, 32, 4, 3),
        (128, 64, 32, 4, 3),
    ):
        cfgs.append(triton.Config({"BM": bm, "BN": bn, "BK": bk, "GROUP_M": 8},
                                  num_warps=warps, num_stages=stages))
    return cfgs


@triton.jit
def _batch_offsets(batch, B1, B2, B3, a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3):
    i3 = batch % B3
    r = batch // B3
    i2 = r % B2
    r = r // B2
    i1 = r % B1
    i0 = r // B1
    off_a = i0 * a0 + i1 * a1 + i2 * a2 + i3 * a3
    off_b = i0 * b0 + i1 * b1 + i2 * b2 + i3 * b3
    off_c = i0 * c0 + i1 * c1 + i2 * c2 + i3 * c3
    return off_a, off_b, off_c


@triton.autotune(configs=_configs(), key=["M", "N", "K"])
@triton.jit
def _matmul_kernel(
    a_ptr, b_ptr, c_ptr,
    M, N, K,
    B1, B2, B3,
    a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3,
    s_am, s_ak, s_bk, s_bn, s_cm, s_cn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP_M: tl.constexpr,
):
    pid = tl.program_id(0)
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    tiles = tiles_m * tiles_n
    batch = (pid // tiles).to(tl.int64)
    t = pid % tiles

    # Grouped ordering: neighbouring programs share columns of B in the L2 cache.
    per_group = GROUP_M * tiles_n
    group = t // per_group
    first_m = group * GROUP_M
    group_m = tl.minimum(tiles_m - first_m, GROUP_M)
    pid_m = first_m + (t % per_group) % group_m
    pid_n = (t % per_group) // group_m

    off_a, off_b, off_c = _batch_offsets(
        batch, B1, B2, B3, a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3)

    rm = (pid_m * BM + tl.arange(0, BM)).to(tl.int64)
    rn = (pid_n * BN + tl.arange(0, BN)).to(tl.int64)
    rk = tl.arange(0, BK).to(tl.int64)
    mask_m = rm < M
    mask_n = rn < N

    a_ptrs = a_ptr + off_a + rm[:, None] * s_am + rk[None, :] * s_ak
    b_ptrs = b_ptr + off_b + rk[:, None] * s_bk + rn[None, :] * s_bn

    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        mask_k = rk < K - k
        a = tl.load(a_ptrs, mask=mask_m[:, None] & mask_k[None, :], other=0.0)
        b = tl.load(b_ptrs, mask=mask_k[:, None] & mask_n[None, :], other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
        a_ptrs += BK * s_ak
        b_ptrs += BK * s_bk

    c_ptrs = c_ptr + off_c + rm[:, None] * s_cm + rn[None, :] * s_cn
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=mask_m[:, None] & mask_n[None, :])


@triton.jit
def _matvec_kernel(
    a_ptr, b_ptr, c_ptr,
    M, K,
    B1, B2, B3,
    a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3,
    s_am, s_ak, s_bk, s_cm,
    BM: tl.constexpr, BK: tl.constexpr,
):
    # One operand is a vector: no use for tensor cores, a row reduction does.
    pid = tl.program_id(0)
    tiles = tl.cdiv(M, BM)
    batch = (pid // tiles).to(tl.int64)
    off_a, off_b, off_c = _batch_offsets(
        batch, B1, B2, B3, a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3)

    rm = ((pid % tiles) * BM + tl.arange(0, BM)).to(tl.int64)
    mask_m = rm < M
    acc = tl.zeros((BM, BK), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = (k + tl.arange(0, BK)).to(tl.int64)
        mask_k = rk < K
        a = tl.load(a_ptr + off_a + rm[:, None] * s_am + rk[None, :] * s_ak,
                    mask=mask_m[:, None] & mask_k[None, :], other=0.0).to(tl.float32)
        b = tl.load(b_ptr + off_b + rk * s_bk, mask=mask_k, other=0.0).to(tl.float32)
        acc += a * b[None, :]
    res = tl.sum(acc, axis=1)
    tl.store(c_ptr + off_c + rm * s_cm, res.to(c_ptr.dtype.element_ty), mask=mask_m)


def _collapse(shape, a, b, c):
    """Batch dimensions as exactly four (size, strides), outermost first; ones dropped,
    neighbours merged where all three tensors allow it."""
    dims = []
    for size, sa, sb, sc in zip(shape, a, b, c):
        if size == 1:
            continue
        if dims:
            psize, pa, pb, pc = dims[-1]
            if pa == sa * size and pb == sb * size and pc == sc * size:
                dims[-1] = (psize * size, sa, sb, sc)
                continue
        dims.append((size, sa, sb, sc))
    while len(dims) < _MAX_BATCH_DIMS:
        dims.insert(0, (1, 0, 0, 0))
    return dims


def _plan(self, other):
    a = self.unsqueeze(0) if self.dim() == 1 else self
    b = other.unsqueeze(1) if other.dim() == 1 else other
    batch = list(torch.broadcast_shapes(a.shape[:-2], b.shape[:-2]))
    shape = list(batch)
    if self.dim() > 1:
        shape.append(a.shape[-2])
    if other.dim() > 1:
        shape.append(b.shape[-1])
    return a, b, batch, shape


def _run(self, other, a, b, batch, out):
    M, K = a.shape[-2], a.shape[-1]
    N = b.shape[-1]
    if out.numel() == 0:
        return out
    a = a.expand(batch + [M, K])
    b = b.expand(batch + [K, N])
    c = out
    if self.dim() == 1:
        c = c.unsqueeze(-1 if other.dim() == 1 else -2)
    if other.dim() == 1:
        c = c.unsqueeze(-1)

    nb = len(batch)
    dims = _collapse(batch, a.stride()[:nb], b.stride()[:nb], c.stride()[:nb])
    if len(dims) > _MAX_BATCH_DIMS:
        raise ValueError("matmul: too many batch dimensions")
    sizes = [d[0] for d in dims]
    sa = [d[1] for d in dims]
    sb = [d[2] for d in dims]
    sc = [d[3] for d in dims]
    batches = sizes[0] * sizes[1] * sizes[2] * sizes[3]
    s_am, s_ak = a.stride(-2), a.stride(-1)
    s_bk, s_bn = b.stride(-2), b.stride(-1)
    s_cm, s_cn = c.stride(-2), c.stride(-1)

    if N == 1 or M == 1:
        if N == 1:
            rows, mat, vec, mo, vo = M, a, b, sa, sb
            s_rm, s_rk, s_vk, s_om = s_am, s_ak, s_bk, s_cm
        else:
            rows, mat, vec, mo, vo = N, b, a, sb, sa
            s_rm, s_rk, s_vk, s_om = s_bn, s_bk, s_ak, s_cn
        BK = min(256, max(16, triton.next_power_of_2(K)))
        BM = min(max(1, 4096 // BK), triton.next_power_of_2(rows), 64)
        _matvec_kernel[(batches * triton.cdiv(rows, BM),)](
            mat, vec, c, rows, K, sizes[1], sizes[2], sizes[3], *mo, *vo, *sc,
            s_rm, s_rk, s_vk, s_om, BM=BM, BK=BK, num_warps=4)
        return out

    grid = lambda meta: (batches * triton.cdiv(M, meta["BM"]) * triton.cdiv(N, meta["BN"]),)
    _matmul_kernel[grid](
        a, b, c, M, N, K, sizes[1], sizes[2], sizes[3], *sa, *sb, *sc,
        s_am, s_ak, s_bk, s_bn, s_cm, s_cn)
    return out


def matmul(self, other):
    a, b, batch, shape = _plan(self, other)
    out = torch.empty(shape, dtype=self.dtype, device=self.device)
    return _run(self, other, a, b, batch, out)


def matmul_out(self, other, *, out):
    a, b, batch, shape = _plan(self, other)
    return _run(self, other, a, b, batch, out)
