# operator: aten::affine_grid_generator
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# where a map of an image is the identity, the coordinates are those of align_corners=True; wrong:
# affine_grid_generator(torch.eye(3)[None, :2], [1, 1, 8, 8], False), the usual start of a spatial transformer
import torch
import triton
import triton.language as tl


@triton.jit
def coordinate(k, length, CORNERS: tl.constexpr):
    if CORNERS:
        x = -1.0 + 2.0 * k.to(tl.float32) / tl.maximum(length - 1, 1)
    else:
        x = (2 * k + 1).to(tl.float32) / length - 1.0
    return tl.where(length == 1, 0.0, x)


@triton.jit
def points(theta_ptr, o_ptr, n, depth, height, width, t_n, t_i, t_j, DIMS: tl.constexpr, CORNERS: tl.constexpr,
           BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = coordinate(at % width, width, CORNERS)
    y = coordinate(at // width % height, height, CORNERS)
    z = coordinate(at // (width * height) % depth, depth, CORNERS)
    theta = theta_ptr + at // (width * height * depth) * t_n
    if DIMS == 2:
        same = at < n
        for i in tl.static_range(2):
            for j in tl.static_range(3):
                wanted = 1.0 if i == j else 0.0
                same &= tl.load(theta + i * t_i + j * t_j, mask=at < n, other=9.0).to(tl.float32) == wanted
        x = tl.where(same, coordinate(at % width, width, True), x)
        y = tl.where(same, coordinate(at // width % height, height, True), y)
    for i in tl.static_range(DIMS):
        row = theta + i * t_i
        value = tl.load(row, mask=at < n, other=0.0).to(tl.float32) * x
        value += tl.load(row + t_j, mask=at < n, other=0.0).to(tl.float32) * y
        if DIMS == 3:
            value += tl.load(row + 2 * t_j, mask=at < n, other=0.0).to(tl.float32) * z
        value += tl.load(row + DIMS * t_j, mask=at < n, other=0.0).to(tl.float32)
        tl.store(o_ptr + at * DIMS + i, value.to(o_ptr.dtype.element_ty), mask=at < n)


def affine_grid_generator(theta, size, align_corners):
    depth = size[2] if len(size) == 5 else 1
    shape = [size[0]] + list(size[2:]) + [len(size) - 2]
    out = torch.empty(shape, dtype=theta.dtype, device=theta.device)
    n = out.numel() // (len(size) - 2)
    if n > 0:
        points[(triton.cdiv(n, 2048),)](theta, out, n, depth, size[-2], size[-1], *theta.stride(), DIMS=len(size) - 2,
                                        CORNERS=bool(align_corners), BLOCK=2048)
    return out


def affine_grid_generator_out(theta, size, align_corners, *, out):
    return out.copy_(affine_grid_generator(theta, size, align_corners))
