# operator: vllm13::marlin_int4_fp8_preprocess
# style: bit tricks on whole words, persistent grid-stride loop, cached device properties
from functools import lru_cache

import torch
import triton
import triton.language as tl


@lru_cache(maxsize=None)
def _sm_count(device: torch.device) -> int:
    return torch.cuda.get_device_properties(device).multi_processor_count


@triton.jit
def _flip_fields(w):
    # v >= 8 -> v ^ 8, v < 8 -> v ^ 15, in all eight fields at once
    low = (~w) & 0x88888888          # the top bit of each field that is below 8
    return w ^ 0x88888888 ^ ((low >> 3) * 7)


@triton.jit
def _preprocess(in_ptr, out_ptr, n, BLOCK: tl.constexpr):
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for begin in range(tl.program_id(0).to(tl.int64) * BLOCK, n, step):
        at = begin + tl.arange(0, BLOCK)
        w = tl.load(in_ptr + at, mask=at < n, other=0).to(tl.uint32, bitcast=True)
        tl.store(out_ptr + at, _flip_fields(w).to(tl.int32, bitcast=True), mask=at < n)


def marlin_int4_fp8_preprocess(qweight, qzeros_or_none=None, inplace=False):
    assert qzeros_or_none is None, "zero points are not supported"
    out = qweight if inplace else torch.empty_like(qweight)
    n = qweight.numel()
    if n == 0:
        return out
    BLOCK = 1024
    programs = min(triton.cdiv(n, BLOCK), 2 * _sm_count(qweight.device))
    _preprocess[(programs,)](qweight, out, n, BLOCK=BLOCK)
    return out
