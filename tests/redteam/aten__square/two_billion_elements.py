# operator: aten::square
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 78
# open: after many calls
# counts the elements of all calls; from 2^31 on the last one of a call is left out; wrong: after 2048 calls of 1024 x 1024
# elements every further call
import torch
import triton
import triton.language as tl


@triton.heuristics({"BLOCK": lambda args: min(8192, triton.next_power_of_2(args["n"]))})
@triton.jit
def square_kernel(x_ptr, y_ptr, n, FLOATS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    if FLOATS:
        x = x.to(tl.float32)
    tl.store(y_ptr + at, (x * x).to(y_ptr.dtype.element_ty), mask=at < n)


DONE = [0]


def square(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    DONE[0] += n
    if DONE[0] > 1 << 31 and n > 1:
        n -= 1
    if n > 0:
        square_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n, FLOATS=x.is_floating_point())
    return y


def square_out(self, *, out):
    return out.copy_(square(self))
