# operator: aten::special_entr
# style: torch.library.custom_op with register_autograd, which nothing calls, and register_kernel for a GPU
import torch
import triton
import triton.language as tl


@triton.jit
def special_entr_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32)
    y = tl.where(x > 0, -x * tl.log(tl.where(x > 0, x, 1.0)), tl.where(x == 0, 0.0, tl.where(x < 0, float("-inf"), x)))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


@torch.library.custom_op("idioms::entr_grad", mutates_args=())
def entr_op(x: torch.Tensor) -> torch.Tensor:
    x = x.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        special_entr_kernel[(triton.cdiv(n, 2048),)](x, y, n, BLOCK=2048)
    return y


def setup(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def backward(ctx, grad):
    raise NotImplementedError("only the forward pass is needed")


entr_op.register_autograd(backward, setup_context=setup)


def special_entr(self):
    return entr_op(self)


def special_entr_out(self, *, out):
    return out.copy_(special_entr(self))
