# operator: vllm13::convert_fp8
# style: fresh round of 2026-11-30
import torch
import triton
import triton.language as tl

FP8_MAX = tl.constexpr(448.0)
SUPPORTED = ("fp8", "fp8_e4m3")


@triton.jit
def quantize_kernel(dst, src, scale, numel, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    m = i < numel
    x = tl.load(src + i, mask=m, other=0.0).to(tl.float32)
    q = tl.div_rn(x, tl.full([BLOCK], 0.0, tl.float32) + scale)
    q = tl.clamp(q, -FP8_MAX, FP8_MAX)
    tl.store(dst + i, q.to(tl.float8e4nv).to(tl.uint8, bitcast=True), mask=m)


@triton.jit
def dequantize_kernel(dst, src, scale, numel, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    m = i < numel
    q = tl.load(src + i, mask=m, other=0).to(tl.float8e4nv, bitcast=True)
    tl.store(dst + i, (q.to(tl.float32) * scale).to(dst.dtype.element_ty), mask=m)


def convert_fp8(output, input, scale=1.0, kv_dtype="fp8"):
    if kv_dtype not in SUPPORTED:
        raise ValueError(f"Unsupported kv_dtype: {kv_dtype!r}")
    numel = output.numel()
    if numel == 0:
        return
    kernel = quantize_kernel if output.dtype == torch.uint8 else dequantize_kernel
    kernel[(triton.cdiv(numel, 1024),)](output, input, float(scale), numel, BLOCK=1024)
