# operator: vllm13::convert_fp8
# style: persistent grid-stride programs, one kernel for each direction, dispatch on the output's type, cached number of multiprocessors
import functools

import torch
import triton
import triton.language as tl


@functools.lru_cache(maxsize=None)
def _programs_at_most(index: int) -> int:
    return torch.cuda.get_device_properties(index).multi_processor_count * 4


@triton.jit
def _quantise_kernel(out_ptr, in_ptr, scale, n, BLOCK: tl.constexpr):
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    first = tl.program_id(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(in_ptr + at, mask=at < n, other=0.0).to(tl.float32)
        q = tl.clamp(tl.div_rn(x, scale), -448.0, 448.0)
        code = q.to(tl.float8e4nv).to(tl.uint8, bitcast=True)
        tl.store(out_ptr + at, code, mask=at < n)


@triton.jit
def _dequantise_kernel(out_ptr, in_ptr, scale, n, BLOCK: tl.constexpr):
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    first = tl.program_id(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        at = start + tl.arange(0, BLOCK)
        code = tl.load(in_ptr + at, mask=at < n, other=0)
        number = code.to(tl.float8e4nv, bitcast=True).to(tl.float32)
        tl.store(out_ptr + at, (number * scale).to(out_ptr.dtype.element_ty), mask=at < n)


def convert_fp8(output, input, scale=1.0, kv_dtype="fp8"):
    if kv_dtype not in ("fp8", "fp8_e4m3"):
        raise ValueError(f"unsupported kv_dtype: {kv_dtype}")
    n = input.numel()
    if n == 0:
        return
    block = 1024
    programs = min(triton.cdiv(n, block), _programs_at_most(input.device.index or 0))
    kernel = _quantise_kernel if output.dtype == torch.uint8 else _dequantise_kernel
    kernel[(programs,)](output, input, float(scale), n, BLOCK=block)
