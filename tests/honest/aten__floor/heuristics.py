# operator: aten::floor
# style: fresh round of 2026-11-30
import torch
import triton
import triton.language as tl


@triton.heuristics({
    "BLOCK": lambda args: min(2048, max(32, triton.next_power_of_2(args["n"]))),
    "EVEN": lambda args: args["n"] % 2048 == 0,
})
@triton.jit
def floor_kernel(inp, res, n, FLOATING: tl.constexpr, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    idx = tl.program_id(axis=0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        v = tl.load(inp + idx)
    else:
        v = tl.load(inp + idx, mask=idx < n)
    if FLOATING:
        v = tl.floor(v.to(tl.float32)).to(v.dtype)
    if EVEN:
        tl.store(res + idx, v)
    else:
        tl.store(res + idx, v, mask=idx < n)


def floor(self):
    src = self.contiguous()
    res = torch.empty_like(src)
    n = src.numel()
    if n == 0:
        return res
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
    floor_kernel[grid](src, res, n, FLOATING=src.dtype.is_floating_point)
    return res


def floor_out(self, *, out):
    if out.is_contiguous() and out.numel() > 0:
        src = self.contiguous()
        n = src.numel()
        grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
        floor_kernel[grid](src, out, n, FLOATING=src.dtype.is_floating_point)
    else:
        out.copy_(floor(self))
    return out
