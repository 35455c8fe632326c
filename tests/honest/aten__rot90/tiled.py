# operator: aten::rot90
# style: fresh round of 2026-11-30
import torch
import triton
import triton.language as tl


@triton.jit
def rot90_kernel(x_ptr, origin, y_ptr, H, W, batches,
                 xh, xw, yh, yw,
                 b0, b1, b2, b3, b4, b5,
                 xs0, xs1, xs2, xs3, xs4, xs5,
                 ys0, ys1, ys2, ys3, ys4, ys5,
                 BH: tl.constexpr, BW: tl.constexpr):
    # H, W: sizes of the result in the plane; xh, xw: steps in the source for one step in the result
    th = tl.cdiv(H, BH)
    tw = tl.cdiv(W, BW)
    pid = tl.program_id(0).to(tl.int64)
    b = pid // (th * tw)
    tile = pid % (th * tw)
    i = (tile // tw) * BH + tl.arange(0, BH)
    j = (tile % tw) * BW + tl.arange(0, BW)

    xo = (b % b0) * xs0
    yo = (b % b0) * ys0
    b = b // b0
    xo += (b % b1) * xs1
    yo += (b % b1) * ys1
    b = b // b1
    xo += (b % b2) * xs2
    yo += (b % b2) * ys2
    b = b // b2
    xo += (b % b3) * xs3
    yo += (b % b3) * ys3
    b = b // b3
    xo += (b % b4) * xs4
    yo += (b % b4) * ys4
    b = b // b4
    xo += (b % b5) * xs5
    yo += (b % b5) * ys5

    mask = (i < H)[:, None] & (j < W)[None, :]
    v = tl.load(x_ptr + origin + xo + i[:, None] * xh + j[None, :] * xw, mask=mask)
    tl.store(y_ptr + yo + i[:, None] * yh + j[None, :] * yw, v, mask=mask)


def _turn(x, k, p, q, y):
    """Write x turned k times into y, whose shape is already that of the result."""
    if x.numel() == 0:
        return y
    sp, sq = x.stride(p), x.stride(q)
    n_p, n_q = x.shape[p], x.shape[q]
    if k == 0:
        origin, xh, xw = 0, sp, sq
    elif k == 1:
        origin, xh, xw = (n_q - 1) * sq, -sq, sp
    elif k == 2:
        origin, xh, xw = (n_p - 1) * sp + (n_q - 1) * sq, -sp, -sq
    else:
        origin, xh, xw = (n_p - 1) * sp, sq, -sp
    H, W = y.shape[p], y.shape[q]
    others = [d for d in range(x.dim()) if d not in (p, q)]
    pad = 6 - len(others)
    batches = 1
    for d in others:
        batches *= x.shape[d]
    bs = [x.shape[d] for d in others] + [1] * pad
    xs = [x.stride(d) for d in others] + [0] * pad
    ys = [y.stride(d) for d in others] + [0] * pad
    BH = min(32, triton.next_power_of_2(H))
    BW = min(32, triton.next_power_of_2(W))
    grid = (batches * triton.cdiv(H, BH) * triton.cdiv(W, BW),)
    rot90_kernel[grid](x, origin, y, H, W, batches, xh, xw, y.stride(p), y.stride(q), *bs, *xs, *ys, BH=BH, BW=BW)
    return y


def rot90(self, k=1, dims=(0, 1)):
    p, q = (d % self.dim() for d in dims)
    shape = list(self.shape)
    if k % 2:
        shape[p], shape[q] = shape[q], shape[p]
    return _turn(self, k % 4, p, q, torch.empty(shape, dtype=self.dtype, device=self.device))


def rot90_out(self, k=1, dims=(0, 1), *, out):
    p, q = (d % self.dim() for d in dims)
    return _turn(self, k % 4, p, q, out)
