# operator: aten::bitwise_not
# style: imports inside functions, nested functions with nonlocal, a generator that yields blocks, one launch for each
import torch
import triton
import triton.language as tl


@triton.jit
def not_block(x_ptr, y_ptr, first, n, KEEP: tl.constexpr, BLOCK: tl.constexpr):
    at = first + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    if KEEP == 1:
        tl.store(y_ptr + at, (x == 0).to(tl.uint8), mask=at < n)
    else:
        tl.store(y_ptr + at, ~x, mask=at < n)


def pieces(n, most):
    first = 0
    while first < n:
        yield first, min(most, n - first)
        first += most


def bitwise_not(self):
    from math import ceil

    x = self.contiguous()
    y = torch.empty_like(x)
    raw = [t.view(torch.uint8) if t.dtype == torch.bool else t for t in (x, y)]
    launched = 0

    def launch(first, count):
        nonlocal launched
        not_block[(ceil(count / 1024),)](*raw, first, x.numel(), KEEP=int(x.dtype == torch.bool), BLOCK=1024)
        launched += count

    for first, count in pieces(x.numel(), 1 << 22):
        launch(first, count)
    assert launched == x.numel()
    return y


def bitwise_not_out(self, *, out):
    return out.copy_(bitwise_not(self))
