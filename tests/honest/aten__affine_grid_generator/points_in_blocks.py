# operator: aten::affine_grid_generator
# style: helper jit functions, blocks of points, one kernel for images and volumes
import torch
import triton
import triton.language as tl


@triton.jit
def _axis_coord(k, L, ALIGN: tl.constexpr):
    # Both conventions share the numerator 2k - (L - 1); only the denominator differs.
    num = (2 * k + 1 - L).to(tl.float32)
    if ALIGN:
        den = tl.maximum(L - 1, 1)
    else:
        den = L
    den = tl.zeros_like(num) + den
    return tl.div_rn(num, den)


@triton.jit
def _affine_grid_kernel(
    theta_ptr, out_ptr,
    D, H, W, pixels, blocks_per_image,
    t_sn, t_si, t_sj,
    o_sn, o_sd, o_sh, o_sw, o_si,
    ALIGN: tl.constexpr,
    VOLUME: tl.constexpr,
    BLOCK: tl.constexpr,
):
    pid = tl.program_id(0)
    n = (pid // blocks_per_image).to(tl.int64)
    blk = pid % blocks_per_image
    p = blk.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = p < pixels

    w = p % W
    hd = p // W
    h = hd % H
    d = hd // H

    x = _axis_coord(w, W, ALIGN)
    y = _axis_coord(h, H, ALIGN)

    t_base = theta_ptr + n * t_sn
    o_base = out_ptr + n * o_sn + d * o_sd + h * o_sh + w * o_sw

    if VOLUME:
        z = _axis_coord(d, D, ALIGN)
        for i in tl.static_range(3):
            row = t_base + i * t_si
            a = tl.load(row).to(tl.float32)
            b = tl.load(row + t_sj).to(tl.float32)
            c = tl.load(row + 2 * t_sj).to(tl.float32)
            e = tl.load(row + 3 * t_sj).to(tl.float32)
            r = a * x + b * y + c * z + e
            tl.store(o_base + i * o_si, r.to(out_ptr.dtype.element_ty), mask=mask)
    else:
        for i in tl.static_range(2):
            row = t_base + i * t_si
            a = tl.load(row).to(tl.float32)
            b = tl.load(row + t_sj).to(tl.float32)
            c = tl.load(row + 2 * t_sj).to(tl.float32)
            r = a * x + b * y + c
            tl.store(o_base + i * o_si, r.to(out_ptr.dtype.element_ty), mask=mask)


def _launch(theta, size, align_corners, out):
    volume = len(size) == 5
    N = int(size[0])
    D = int(size[2]) if volume else 1
    H = int(size[-2])
    W = int(size[-1])
    pixels = D * H * W
    if N * pixels == 0:
        return out
    if volume:
        o_sn, o_sd, o_sh, o_sw, o_si = out.stride()
    else:
        o_sn, o_sh, o_sw, o_si = out.stride()
        o_sd = 0
    t_sn, t_si, t_sj = theta.stride()
    BLOCK = min(1024, max(64, triton.next_power_of_2(pixels)))
    blocks = triton.cdiv(pixels, BLOCK)
    _affine_grid_kernel[(N * blocks,)](
        theta, out,
        D, H, W, pixels, blocks,
        t_sn, t_si, t_sj,
        o_sn, o_sd, o_sh, o_sw, o_si,
        ALIGN=bool(align_corners),
        VOLUME=volume,
        BLOCK=BLOCK,
        num_warps=4,
    )
    return out


def affine_grid_generator(theta, size, align_corners):
    spatial = [int(s) for s in size[2:]]
    shape = [int(size[0])] + spatial + [len(spatial)]
    out = torch.empty(shape, dtype=theta.dtype, device=theta.device)
    return _launch(theta, size, align_corners, out)


def affine_grid_generator_out(theta, size, align_corners, *, out):
    return _launch(theta, size, align_corners, out)
