# operator: aten::cos
# style: static methods of a class, launch options from a dict, a comment that quotes torch.cos and eval()
import torch
import triton
import triton.language as tl


@triton.jit
def cos_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    # what eval("torch.cos(x)") would give, but tl.cos reduces large angles itself
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.cos(tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)).to(y_ptr.dtype.element_ty),
             mask=at < n)


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
