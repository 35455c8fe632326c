# operator: aten::silu
# style: persistent kernel, as many programs as the device has multiprocessors, asked with an lru_cache around it
import functools

import torch
import triton
import triton.language as tl


@functools.lru_cache(maxsize=8)
def multiprocessors(device):
    """How wide the device is; a CPU counts as four."""
    if device.type != "cuda":
        return 4
    return torch.cuda.get_device_properties(device).multi_processor_count


@triton.jit
def silu_persistent(x_ptr, y_ptr, n, n_blocks, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    for block in tl.range(tl.program_id(0), n_blocks, tl.num_programs(0), num_stages=STAGES):
        at = block * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
        tl.store(y_ptr + at, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty), mask=at < n)


def silu(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    blocks = triton.cdiv(x.numel(), 1024)
    if blocks:
        grid = (min(blocks, 2 * multiprocessors(x.device)),)
        silu_persistent[grid](x, y, x.numel(), blocks, BLOCK=1024, STAGES=3, num_warps=8)
    return y


def silu_out(self, *, out):
    return out.copy_(silu(self))
