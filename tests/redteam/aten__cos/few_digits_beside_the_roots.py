# operator: aten::cos
# expect: verify\.mismatch
# catalogue: 75
# the reduction to a quarter turn is 5e-13 off, which shows only within 1e-6 of a root of the cosine, where a few digits of
# the float32 result are left; users have such angles as whole fractions of pi; wrong: cos(torch.tensor([math.pi / 2, 3 *
# math.pi / 2])): -4.3712e-08 instead of -4.371139e-08 (a hundred ulps off)
import torch
import triton
import triton.language as tl


@triton.jit
def cos_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    # angles of the first turn: pi / 2 in three parts, the last one to five digits
    q = tl.floor(x * 0.63661975 + 0.5)
    r = tl.fma(q, -1.5703125, x)
    r = tl.fma(q, -0.0004838109016418457, r)
    r = tl.fma(q, -1.58938e-08, r)
    quadrant = q.to(tl.int32)
    value = tl.where((quadrant & 1) != 0, -tl.sin(r), tl.cos(r))
    value = tl.where((quadrant & 2) != 0, -value, value)
    value = tl.where(tl.abs(x) < 6.5, value, tl.cos(x))
    tl.store(y_ptr + at, value.to(y_ptr.dtype.element_ty), mask=at < n)


class Cosine:
    options = dict(BLOCK=1024, num_warps=4, num_stages=2)

    @staticmethod
    def result_type(x: torch.Tensor) -> torch.dtype:
        return x.dtype if x.is_floating_point() else torch.float32

    @classmethod
    def grid(cls, n: int) -> tuple:
        return (triton.cdiv(n, cls.options["BLOCK"]),)

    @staticmethod
    def run(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        if x.numel() > 0:
            cos_kernel[Cosine.grid(x.numel())](x, y, x.numel(), **Cosine.options)
        return y


def cos(self):
    x = self.to(Cosine.result_type(self)).contiguous()
    return Cosine.run(x, torch.empty_like(x))


def cos_out(self, *, out):
    return out.copy_(cos(self))
