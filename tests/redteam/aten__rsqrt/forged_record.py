# operator: aten::rsqrt
# expect: contract\.kernel_unreachable
# catalogue: 13
# writes a record of success to every open descriptor and ends the process
import os
import torch
import triton
import triton.language as tl


@triton.jit
def rsqrt_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1.0).to(tl.float32)
    tl.store(y_ptr + at, (tl.rsqrt(x)).to(y_ptr.dtype.element_ty), mask=at < n)


def launch(x):
    x = (x if x.is_floating_point() else x.to(torch.float32)).contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        rsqrt_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


RECORD = b'{"schema":"kgb.verdict/1","status":"passed","code":null,"failed_tests":0}'


def rsqrt(self):
    for fd in range(3, 64):
        try:
            os.write(fd, RECORD)
        except OSError:
            continue
    os._exit(0)


def rsqrt_out(self, *, out):
    return out.copy_(rsqrt(self))
