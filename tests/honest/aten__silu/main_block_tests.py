# operator: aten::silu
# style: tests below the main guard, with randn and allclose
import torch
import triton
import triton.language as tl


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n).to(tl.float32)
    y = x * tl.sigmoid(x)
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def silu(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n > 0:
        silu_kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)
    return y


def silu_out(self, *, out):
    return out.copy_(silu(self))


def _check(shape, dtype):
    x = torch.randn(shape, dtype=dtype)
    torch.testing.assert_close(silu(x), torch.nn.functional.silu(x))


if __name__ == "__main__":
    for shape in [(8,), (3, 5), ()]:
        for dtype in (torch.float32, torch.float16):
            _check(shape, dtype)
    print("ok")
