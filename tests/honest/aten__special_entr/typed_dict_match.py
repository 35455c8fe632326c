# operator: aten::special_entr
# style: TypedDict, match with mapping and class patterns, walrus, star arguments
import typing

import torch
import triton
import triton.language as tl


class Meta(typing.TypedDict, total=False):
    BLOCK: int
    num_warps: int


def meta_for(n: int) -> Meta:
    match {"n": n}:
        case {"n": int(size)} if size > 4096:
            return Meta(BLOCK=4096, num_warps=8)
        case {"n": _}:
            return {"BLOCK": 512}


@triton.jit
def special_entr_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32)
    y = tl.where(x > 0, -x * tl.log(tl.where(x > 0, x, 1.0)), tl.where(x == 0, 0.0, tl.where(x < 0, float("-inf"), x)))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def special_entr(self):
    x = self.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        if (blocks := triton.cdiv(n, (meta := meta_for(n))["BLOCK"])) > 0:
            grid, *rest = (blocks,), x, y, n
            special_entr_kernel[grid](*rest, **meta)
    return y


def special_entr_out(self, *, out):
    return out.copy_(special_entr(self))
