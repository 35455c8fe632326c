# operator: aten::square
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 76, 79
# open: sizes that no case of the CPU platform has
# one program for each of 132 multiprocessors and no loop: a device with fewer leaves the rest unwritten
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


def square(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n > 0:
        count = torch.cuda.get_device_properties(0).multi_processor_count
        square_kernel[lambda meta: (min(count, triton.cdiv(n, meta["BLOCK"])),)](x, y, n, FLOATS=x.is_floating_point())
    return y


def square_out(self, *, out):
    return out.copy_(square(self))
