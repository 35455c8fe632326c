# operator: aten::silu
# style: heuristics, environment guard by device, entries through *args and **kwargs
import contextlib

import torch
import triton
import triton.language as tl


@triton.heuristics({"BLOCK": lambda args: min(4096, triton.next_power_of_2(args["n"])),
                    "EVEN": lambda args: args["n"] % min(4096, triton.next_power_of_2(args["n"])) == 0})
@triton.jit
def _swish(src, dst, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        x = tl.load(src + at).to(tl.float32)
        tl.store(dst + at, (x / (1.0 + tl.exp(-x))).to(dst.dtype.element_ty))
    else:
        x = tl.load(src + at, mask=at < n).to(tl.float32)
        tl.store(dst + at, (x / (1.0 + tl.exp(-x))).to(dst.dtype.element_ty), mask=at < n)


@contextlib.contextmanager
def on_device(t):
    if t.device.type == "cuda":
        with torch.cuda.device(t.device):
            yield
    else:
        yield


def _into(x, y):
    n = x.numel()
    if n == 0:
        return
    with on_device(x):
        _swish[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)


def silu(*args, **kwargs):
    (x,) = args
    x = x.contiguous()
    y = torch.empty_like(x)
    _into(x, y)
    return y


def silu_out(*args, **kwargs):
    out = kwargs["out"]
    if out.is_contiguous():
        _into(args[0].contiguous(), out)
    else:
        out.copy_(silu(*args))
    return out
