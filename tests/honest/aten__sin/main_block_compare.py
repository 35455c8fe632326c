# operator: aten::sin
# style: a main block that compares with torch, times with triton.testing and plots
import torch
import triton
import triton.language as tl


@triton.jit
def sin_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32)
    y = tl.where(x == 0, x, tl.sin(x))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def sin(self):
    x = self.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        sin_kernel[(triton.cdiv(n, 2048),)](x, y, n, BLOCK=2048)
    return y


def sin_out(self, *, out):
    return out.copy_(sin(self))


if __name__ == "__main__":
    torch.manual_seed(0)
    for size in (1, 1000, 1 << 20):
        a = torch.randn(size, device="cuda")
        torch.testing.assert_close(sin(a), torch.sin(a))
        assert torch.allclose(sin(a.half()), torch.sin(a.half()), atol=1e-3)
    print((sin(a) - torch.sin(a)).abs().max().item())
    print(triton.testing.do_bench(lambda: sin(a)), triton.testing.do_bench(lambda: torch.sin(a)))
