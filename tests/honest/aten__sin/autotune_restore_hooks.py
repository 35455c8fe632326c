# operator: aten::sin
# style: autotune with restore_value, pre_hook of a configuration, and a best_config that is read
import torch
import triton
import triton.language as tl


def clear(args):
    args["y_ptr"].zero_()


@triton.autotune(configs=[triton.Config({"BLOCK": 1024}, pre_hook=clear), triton.Config({"BLOCK": 512}, num_warps=2, pre_hook=clear)],
                 key=["n"], restore_value=["y_ptr"])
@triton.jit
def sin_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32)
    tl.store(y_ptr + at, tl.where(x == 0, x, tl.sin(x)).to(y_ptr.dtype.element_ty), mask=at < n)


def sin(self):
    x = self.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        sin_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
        assert sin_kernel.best_config.kwargs["BLOCK"] in (512, 1024)
    return y


def sin_out(self, *, out):
    return out.copy_(sin(self))
