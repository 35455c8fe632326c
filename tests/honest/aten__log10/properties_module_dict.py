# operator: aten::log10
# style: device properties in a dict of the module, by device
import torch
import triton
import triton.language as tl

_PROPERTIES = {}


def multiprocessors(device):
    if device not in _PROPERTIES:
        _PROPERTIES[device] = torch.cuda.get_device_properties(device) if torch.cuda.is_available() else None
    properties = _PROPERTIES[device]
    return properties.multi_processor_count if properties else 16


@triton.jit
def log10_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32)
    y = tl.log2(x) * 0.3010299956639812
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def log10(self):
    x = self.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        block = 2048 if n > 64 * multiprocessors(x.device) else 256
        log10_kernel[(triton.cdiv(n, block),)](x, y, n, BLOCK=block)
    return y


def log10_out(self, *, out):
    return out.copy_(log10(self))
