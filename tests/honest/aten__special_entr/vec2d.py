# operator: aten::special_entr
# style: fresh round of 2026-11-30
import torch
import triton
import triton.language as tl

ROWS: tl.constexpr = tl.constexpr(8)
LANES: tl.constexpr = tl.constexpr(128)
TILE = 8 * 128


@triton.jit
def entr(x):
    y = -x * tl.log(x)
    y = tl.where(x == 0.0, 0.0, y)
    return tl.where(x < 0.0, -float("inf"), y)


@triton.jit
def entr_kernel(x, y, size):
    first = tl.program_id(0).to(tl.int64) * (ROWS * LANES)
    at = first + tl.arange(0, ROWS)[:, None] * LANES + tl.arange(0, LANES)[None, :]
    inside = at < size
    v = tl.load(x + at, mask=inside, other=0).to(tl.float32)
    tl.store(y + at, entr(v).to(y.dtype.element_ty), mask=inside)


def special_entr(self):
    kind = self.dtype if self.is_floating_point() else torch.float32
    y = torch.empty(self.size(), dtype=kind, device=self.device)
    if self.nelement():
        entr_kernel[(triton.cdiv(self.nelement(), TILE),)](self.contiguous(), y, self.nelement())
    return y


def special_entr_out(self, *, out):
    return out.copy_(special_entr(self))
