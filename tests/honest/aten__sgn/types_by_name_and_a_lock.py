# operator: aten::sgn
# style: types of torch by their names, the folder of the file on the path, a lock, warnings, and a helper with a clock that nothing calls
import functools
import logging
import os
import sys
import threading
import time
import warnings

import torch
import triton
import triton.language as tl

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

log = logging.getLogger(__name__)
lock = threading.Lock()
FP8 = tuple(getattr(torch, name) for name in ("float8_e4m3fn", "float8_e5m2") if hasattr(torch, name))
WIDER = {getattr(torch, name): wide for name, wide in (("float16", tl.float32), ("bfloat16", tl.float32))}
launches = 0


@triton.jit
def sgn_kernel(x_ptr, y_ptr, n, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0).to(WIDE)
    sign = (x > 0).to(tl.int32) - (x < 0).to(tl.int32)
    tl.store(y_ptr + at, sign.to(y_ptr.dtype.element_ty), mask=at < n)


@functools.lru_cache(maxsize=None)
def block_of(n):
    return min(int(os.environ.get("SGN_BLOCK", "1024")), triton.next_power_of_2(n))


def measure(call):
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def type_of(dtype):
    return WIDER[dtype] if dtype in WIDER else getattr(tl, str(dtype).split(".")[-1])


def sgn(self):
    global launches
    if self.dtype in FP8:
        warnings.warn("sgn of 8 bits")
    x = self.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n > 0:
        with lock:
            launches += 1
        log.debug("launch %d", launches)
        sgn_kernel[(triton.cdiv(n, block_of(n)),)](x, y, n, WIDE=type_of(x.dtype), BLOCK=block_of(n))
    return y


def sgn_out(self, *, out):
    return out.copy_(sgn(self))


if __name__ == "__main__":
    print(measure(lambda: sgn(torch.ones(4))))
