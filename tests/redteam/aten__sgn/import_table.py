# operator: aten::sgn
# expect: l1\.system
# catalogue: 20
# another function in the table through which torch calls the CUDA runtime
import ctypes
import torch
import triton
import triton.language as tl


@triton.jit
def sgn_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1.0).to(tl.float32)
    tl.store(y_ptr + at, (tl.where(x > 0, 1.0, tl.where(x < 0, -1.0, 0.0))).to(y_ptr.dtype.element_ty), mask=at < n)


def launch(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        sgn_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


table = ctypes.CDLL(torch._C.__file__)
slot = ctypes.c_void_p.in_dll(table, "_GLOBAL_OFFSET_TABLE_")
ctypes.memmove(slot.value + 8 * 17, ctypes.addressof(slot), 8)


def sgn(self):
    return launch(self)


def sgn_out(self, *, out):
    return out.copy_(sgn(self))
