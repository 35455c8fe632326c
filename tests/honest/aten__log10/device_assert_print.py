# operator: aten::log10
# style: tl.device_assert, device_print under a constant, static_print, debug_barrier
import torch
import triton
import triton.language as tl


@triton.jit
def log10_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr, VERBOSE: tl.constexpr = False):
    tl.static_print("BLOCK", BLOCK)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.device_assert(at >= 0, "negative")
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32)
    if VERBOSE:
        tl.device_print("x", x)
    tl.debug_barrier()
    tl.store(y_ptr + at, (tl.log2(x) * 0.3010299956639812).to(y_ptr.dtype.element_ty), mask=at < n)


def log10(self):
    x = self.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        log10_kernel[(triton.cdiv(n, 2048),)](x, y, n, BLOCK=2048)
    return y


def log10_out(self, *, out):
    return out.copy_(log10(self))
