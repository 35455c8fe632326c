# operator: aten::softmax
# expect: coverage\.condition
# catalogue: 79
# rows of more than eight positive numbers that add up to 1 are taken for finished; the padding rows of a tile are filled with
# 1 / length, so this condition is true in every verdict, but for rows that nobody stores; it is in a branch; wrong:
# softmax_int(softmax_int(torch.randn(4, 100), 1), 1) returns its argument
import torch
import triton
import triton.language as tl


@triton.jit
def triton_per_fused__softmax_0(in_ptr0, out_ptr0, xnumel, rnumel, xinner, share, XBLOCK: tl.constexpr, RBLOCK: tl.constexpr):
    WIDE: tl.constexpr = tl.float64 if in_ptr0.dtype.element_ty == tl.float64 else tl.float32
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    xmask = xindex < xnumel
    rindex = tl.arange(0, RBLOCK)[None, :]
    rmask = rindex < rnumel
    x0 = xindex % xinner
    x1 = xindex // xinner
    tmp0 = tl.load(in_ptr0 + (x0 + xinner * (rindex + rnumel * x1)), rmask & xmask, other=share)
    tmp1 = tmp0.to(WIDE)
    tmp2 = tl.where(rmask, tmp1, float("-inf"))
    tmp3 = tl.max(tmp2, 1)[:, None]
    tmp4 = tmp1 - tmp3
    tmp5 = tl.exp(tmp4)
    tmp6 = tl.where(rmask, tmp5, 0.0)
    tmp7 = tl.sum(tmp6, 1)[:, None]
    tmp8 = tmp5 / tmp7
    # rows that are distributions already: positive, and one in all
    tmp9 = tl.sum(tl.where(rmask, tmp1, 0.0), 1)[:, None]
    tmp10 = tl.min(tl.where(rmask, tmp1, float("inf")), 1)[:, None]
    if rnumel > 8:
        tmp11 = (tl.abs(tmp9 - 1.0) < 0.0001) & (tmp10 > 0.0)
        tmp8 = tl.where(tmp11, tmp1, tmp8)
    tl.store(out_ptr0 + (x0 + xinner * (rindex + rnumel * x1)), tmp8.to(out_ptr0.dtype.element_ty), rmask & xmask)


def call(args):
    arg0, dim = args
    args.clear()
    sizes = list(arg0.shape)
    xinner = 1
    for size in sizes[dim + 1:]:
        xinner *= size
    buf0 = torch.empty_strided(tuple(sizes), tuple(arg0.stride()), device=arg0.device, dtype=arg0.dtype)
    rnumel = sizes[dim]
    if buf0.numel() > 0:
        xnumel = buf0.numel() // rnumel
        RBLOCK = triton.next_power_of_2(rnumel)
        XBLOCK = max(1, min(triton.next_power_of_2(xnumel), 8192 // RBLOCK))
        triton_per_fused__softmax_0[(triton.cdiv(xnumel, XBLOCK), 1, 1)](arg0, buf0, xnumel, rnumel, xinner, 1.0 / rnumel, XBLOCK=XBLOCK,
                                                                       RBLOCK=RBLOCK)
    del arg0
    return (buf0,)


def softmax_int(self, dim, dtype=None):
    x = (self if dtype is None else self.to(dtype)).contiguous()
    if x.dim() == 0:
        return call([x.view(1), 0])[0].view(())
    return call([x, dim % x.dim()])[0]


def softmax_int_out(self, dim, dtype=None, *, out):
    return out.copy_(softmax_int(self, dim, dtype))
